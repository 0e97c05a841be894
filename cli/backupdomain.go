package cli

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"reverie/config"
	"reverie/internal/caller"
	"reverie/journal"
	"reverie/memo"
	"reverie/store"
	"reverie/store/backup"
	"reverie/vector"
)

// restoreSource names, in the journal, what a restore stored.
const restoreSource = "restore"

// anyMemo is the limit for memos of a backup: what could be stored once can be again.
const anyMemo = 1 << 30

const olderKey = "the partition has a key of an older form; see: reverie migrate-keys"

// restorer is how a restore reaches the packages that own the data.
type restorer struct {
	memories *vector.Service
	memos    *memo.Store
	by       caller.Caller
}

func (a *app) restorer(c caller.Caller) *restorer {
	return &restorer{a.memories, memo.New(a.db, memo.Options{MaxChars: anyMemo, Source: restoreSource}), c}
}

// owner is one who may change everything in a partition.
func (r *restorer) owner(part string) (caller.Caller, caller.Scope, bool) {
	k, ok := caller.CurrentKey(part)
	if !ok {
		return caller.Caller{}, "", false
	}
	c := caller.Caller{User: k.ID, Platform: k.Platform}
	if k.Scope() == caller.ScopeGroup {
		c.User, c.Group, c.Role = r.by.User, k.ID, caller.RoleOwner
	}
	return c, k.Scope(), true
}

func (r *restorer) origin(run string) journal.Origin {
	return journal.Origin{Actor: r.by.User, Role: string(r.by.Role), Source: restoreSource, Run: run}
}

// Memories implements [backup.Domain].
func (r *restorer) Memories(ctx context.Context, b backup.Batch) (backup.Merged, error) {
	o := vector.ImportOptions{
		OnConflict: vector.ReplaceOlder, By: r.origin(b.Run), Foreign: b.Foreign, Space: b.Space, Vectors: b.Vectors, DryRun: b.DryRun,
	}
	if b.Replace {
		o.OnConflict = vector.ReplaceAll
	}
	ms := make([]vector.Memory, len(b.Memories))
	for i, m := range b.Memories {
		ms[i] = vector.Memory{
			ID: m.ID, Partition: m.Partition, Scope: caller.Scope(m.Scope), Content: m.Content, Tags: m.Tags, Importance: vector.Importance(m.Importance),
			Private: m.Private, SaidBy: m.SaidBy, Source: vector.Source(m.Source), Conversation: m.Conversation, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
			EventTime: m.EventTime, State: vector.State(m.State), SupersededBy: m.SupersededBy, ArchivedAt: m.ArchivedAt, DeletedAt: m.DeletedAt,
			LastUsedAt: m.LastUsedAt, Seen: m.Seen,
		}
		if _, scope, ok := r.owner(b.Partition); ok && b.Foreign {
			ms[i].Scope = scope
		}
	}
	rep, err := r.memories.Import(ctx, b.Partition, ms, o)
	out := backup.Merged{
		Counts:  backup.Counts{Added: int64(rep.Added), Replaced: int64(rep.Replaced), Kept: int64(rep.Known + rep.Kept)},
		Pending: int64(rep.Pending), KnownAs: rep.KnownAs,
	}
	if len(rep.KnownAs) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d memories are left out: others say the same already", len(rep.KnownAs)))
	}
	if rep.Live > rep.Limit {
		out.Notes = append(out.Notes, fmt.Sprintf("it has %d memories, more than the limit of %d: new ones are refused until some are deleted or per_session_memory_limit is raised", rep.Live, rep.Limit))
	}
	for _, n := range slices.Sorted(maps.Keys(rep.Notices)) {
		out.Notes = append(out.Notes, fmt.Sprintf("%s (%d times)", n, rep.Notices[n]))
	}
	for _, x := range rep.Refused {
		out.Notes = append(out.Notes, fmt.Sprintf("memory %s is left out: %s", clip(x.ID, 40), x.Reason))
	}
	return out, err
}

// Memo implements [backup.Domain].
func (r *restorer) Memo(ctx context.Context, _, part string, m backup.Memo, dryRun bool) (backup.Counts, error) {
	c, _, ok := r.owner(part)
	if !ok {
		return backup.Counts{}, &backup.RefusedError{Reason: olderKey}
	}
	now, err := r.memos.Get(ctx, c)
	if err != nil {
		return backup.Counts{}, err
	}
	if now.Content == m.Content || now.Content != "" && !now.UpdatedAt.Before(m.UpdatedAt) {
		return backup.Counts{Kept: 1}, nil
	}
	n := backup.Counts{Replaced: 1}
	if now.Version == 0 {
		n = backup.Counts{Added: 1}
	}
	if !dryRun {
		_, _, err = r.memos.Set(ctx, c, m.Content, &now.Version)
	}
	return n, err
}

// Trash implements [backup.Domain].
func (r *restorer) Trash(ctx context.Context, _, part string, ids []string, dryRun bool) error {
	c, scope, ok := r.owner(part)
	switch {
	case !ok:
		return &backup.RefusedError{Reason: olderKey}
	case dryRun:
		return nil
	}
	for _, id := range ids {
		if _, err := r.memories.Delete(ctx, c, scope, id); err != nil {
			return err
		}
	}
	return nil
}

// finishRestore completes a restore that a killed process left half done, before anything
// reads the files of the home. What cannot be completed now is tried again at the next
// start; the home is of use meanwhile.
func finishRestore(ctx context.Context, db *store.DB, cfg *config.Config, log *slog.Logger) {
	done, err := backup.Finish(ctx, db, cfg.Home)
	switch {
	case err != nil:
		log.Warn("an interrupted restore is not completed yet", "component", "backup", "error", err)
	case done:
		log.Info("what an interrupted restore left was completed or removed", "component", "backup")
	}
}

// backupBefore makes the automatic backup before work on everything.
func backupBefore(db *store.DB, cfg *config.Config) func(context.Context, string) error {
	return func(ctx context.Context, reason string) error {
		_, err := backup.Create(ctx, db, cfg.Home, backup.Options{Kind: backup.Auto, Reason: reason, Keep: cfg.Backup.Keep, Version: version()})
		return err
	}
}
