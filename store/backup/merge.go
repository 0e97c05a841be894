package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"gorm.io/gorm"

	"reverie/store"
)

// mergeBatch bounds the memories given to [Domain.Memories] at once.
const mergeBatch = 2000

// merge adds what a backup has and the home has not, or has older.
func (x *restoring) merge(ctx context.Context, a *archive) error {
	dir := x.stage
	if x.dry {
		// A plan spools outside of the home, in which it changes nothing.
		tmp, err := os.MkdirTemp("", "reverie-plan-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		root, err := os.OpenRoot(tmp)
		if err != nil {
			return err
		}
		defer root.Close()
		dir = &stage{home: root, dir: "."}
	}
	if err := x.mergeMemories(ctx, a, dir); err != nil {
		return err
	}
	if err := x.mergeMemos(ctx, a); err != nil {
		return err
	}
	w, err := x.fileChanges(a.m)
	if err != nil || x.dry {
		return err
	}
	for _, p := range w.Put {
		m, _ := a.m.member(filePrefix + p)
		if err := x.stage.put(a, m, p); err != nil {
			return fmt.Errorf("stage %s: %w", p, err)
		}
	}
	return x.stage.swap(ctx, swaps{Put: w.Put})
}

// mergeMemories gives the memories to the package that owns them, by partition, with the
// vectors that fit the space that serves here.
func (x *restoring) mergeMemories(ctx context.Context, a *archive, dir *stage) error {
	rows, err := newSpool(dir.home, dir.dir+"/memories")
	if err != nil {
		return err
	}
	defer rows.close()
	vectors, err := newSpool(dir.home, dir.dir+"/vectors")
	if err != nil {
		return err
	}
	defer vectors.close()
	parts, cols, err := spoolMemories(ctx, a, rows)
	if err != nil {
		return err
	}
	theirs, ours, err := x.commonSpace(ctx, a)
	if err != nil {
		return err
	}
	if ours != 0 {
		if err := spoolVectors(ctx, a, vectors, theirs); err != nil {
			return err
		}
	}
	total := int64(len(rows.at))
	for i := 0; i < len(rows.at); {
		part := rows.at[i].part
		b := Batch{Run: x.id, Partition: parts[part], Space: ours, DryRun: x.dry}
		for ; i < len(rows.at) && rows.at[i].part == part && len(b.Memories) < mergeBatch; i++ {
			line, err := rows.line(rows.at[i])
			if err != nil {
				return err
			}
			m, rid, err := parseMemory(line, cols)
			if err != nil {
				x.r.note("a memory of %s is left out: %v", clip(parts[part]), err)
				continue
			}
			var emb []byte
			if ours != 0 {
				if emb, err = vectors.find(rid); err != nil {
					return err
				}
			}
			b.Memories, b.Vectors = append(b.Memories, m), append(b.Vectors, emb)
		}
		if err := x.mergeBatch(ctx, b); err != nil {
			return fmt.Errorf("memories of %s: %w", b.Partition, err)
		}
		x.progress(int64(i), total)
	}
	return nil
}

func (x *restoring) mergeBatch(ctx context.Context, b Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := x.holdBack(ctx, &b)
	if err != nil || len(b.Memories) == 0 {
		x.r.count("memories", b.Partition, Counts{Kept: n})
		return err
	}
	got, err := x.o.Domain.Memories(ctx, b)
	if err != nil {
		return err
	}
	got.Kept += n
	x.merged(b.Partition, got)
	return nil
}

// merged notes what became of a batch.
func (x *restoring) merged(part string, got Merged) {
	x.r.count("memories", part, got.Counts)
	x.r.Pending += got.Pending
	for i, n := range got.Notes {
		if i == maxNotes {
			x.r.note("%s: and %d more", part, len(got.Notes)-i)
			break
		}
		x.r.note("%s: %s", part, n)
	}
}

// holdBack takes out of a batch what would remove something: a memory that is live here
// and was retired in the backup stays.
func (x *restoring) holdBack(ctx context.Context, b *Batch) (kept int64, err error) {
	var ids []string
	for _, m := range b.Memories {
		if m.State != "live" {
			ids = append(ids, m.ID)
		}
	}
	live := map[string]bool{}
	err = x.db.Read(ctx, func(g *gorm.DB) error {
		for i := 0; i < len(ids); i += planBatch {
			var have []string
			err := g.Raw("SELECT id FROM memories WHERE state = 'live' AND id IN ?", ids[i:min(i+planBatch, len(ids))]).Scan(&have).Error
			if err != nil {
				return err
			}
			for _, id := range have {
				live[id] = true
			}
		}
		return nil
	})
	n := 0
	for i, m := range b.Memories {
		if m.State != "live" && live[m.ID] {
			kept++
			continue
		}
		b.Memories[n], b.Vectors[n] = b.Memories[i], b.Vectors[i]
		n++
	}
	b.Memories, b.Vectors = b.Memories[:n], b.Vectors[:n]
	return kept, err
}

// commonSpace finds the embedding space that serves here in the backup; ours is 0 if it is
// not there.
func (x *restoring) commonSpace(ctx context.Context, a *archive) (theirs, ours int64, err error) {
	err = x.db.Read(ctx, func(g *gorm.DB) error {
		s, err := store.ReadServing(g)
		if err != nil || s.Space == 0 {
			return err
		}
		ids, known, err := mapSpaces(ctx, g, a)
		for their, our := range ids {
			if our == s.Space && known[our] {
				theirs, ours = their, our
			}
		}
		return err
	})
	return theirs, ours, err
}

// parseMemory reads a row of memories, and its number.
func parseMemory(line []byte, cols []column) (m Memory, rid int64, err error) {
	values := make([]any, len(cols))
	if err := parseRow(line, cols, values); err != nil {
		return m, 0, err
	}
	text := func(name string) string { return valueOf[string](cols, values, name) }
	number := func(name string) int64 { return valueOf[int64](cols, values, name) }
	at := func(name string) time.Time {
		if us := number(name); us != 0 {
			return time.UnixMicro(us).UTC()
		}
		return time.Time{}
	}
	m = Memory{
		ID: text("id"), Partition: text("part"), Scope: text("scope"), Content: text("content"), Tags: []string{}, Importance: text("importance"),
		Private: number("private") != 0, SaidBy: text("said_by"), Source: text("source"), Conversation: text("conversation"),
		CreatedAt: at("created_at"), UpdatedAt: at("updated_at"), EventTime: at("event_time"), State: text("state"), SupersededBy: text("superseded_by"),
		ArchivedAt: at("archived_at"), DeletedAt: at("deleted_at"), LastUsedAt: at("used_at"), Seen: int(max(number("seen"), 1)),
	}
	if tags := text("tags"); tags != "" && json.Unmarshal([]byte(tags), &m.Tags) != nil {
		return m, 0, fmt.Errorf("the tags of memory %s cannot be read", clip(m.ID))
	}
	return m, number("rid"), nil
}

// valueOf is a value of a row, the zero value if the column is missing or of another type.
func valueOf[T any](cols []column, values []any, name string) T {
	var v T
	if i := index(cols, name); i >= 0 {
		v, _ = values[i].(T)
	}
	return v
}

func (x *restoring) mergeMemos(ctx context.Context, a *archive) error {
	t, _ := tableNamed("memos")
	var cols []column
	return a.lines(ctx, t, func(cs []column) error { cols = cs; return nil }, func(_ []byte, values []any) error {
		part := valueOf[string](cols, values, "part")
		m := Memo{Content: valueOf[string](cols, values, "content"), Version: valueOf[int64](cols, values, "version"),
			UpdatedAt: time.UnixMicro(valueOf[int64](cols, values, "updated_at")).UTC(), UpdatedBy: valueOf[string](cols, values, "updated_by")}
		if part == "" || m.Content == "" {
			return nil
		}
		n, err := x.o.Domain.Memo(ctx, x.id, part, m, x.dry)
		var refused *RefusedError
		if errors.As(err, &refused) {
			x.r.note("the memo of %s is left out: %s", clip(part), refused.Reason)
			return nil
		}
		if err != nil {
			return fmt.Errorf("memo of %s: %w", part, err)
		}
		x.r.count("memos", part, n)
		return nil
	})
}

// RefusedError is what a [Domain] returns for what its rules do not allow.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "refused: " + e.Reason }
