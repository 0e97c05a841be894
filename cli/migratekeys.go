package cli

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store/backup"
	"reverie/transfer"
)

// migrateKeysCmd gives old partition keys today's form.
type migrateKeysCmd struct {
	DryRun bool `help:"List everything, change nothing."`
	Yes    bool `help:"Do not ask."`
}

func (migrateKeysCmd) Help() string {
	return "Old keys (user_123, group_456, QQPlatform_user_123) become today's (QQPlatform_Private_123, QQPlatform_Group_456) for memories, memos, the history, profiles and notes. Where the new partition is there already, the two become one. What cannot be placed stays where it is, is listed, and is tried again next time. The platform is the one in the key; for keys without one it is QQPlatform, where all of that data came from, unless --platform or [identity] platform says another. A backup is made first."
}

// Run lists, asks, and moves.
func (x *migrateKeysCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		o := transfer.MigrateOptions{Platform: e.chosenPlatform(), Home: e.cfg.Home, By: journal.By(c, "migrate-keys"), DryRun: true}
		r, err := transfer.MigrateKeys(ctx, a.db, o)
		if err != nil {
			return err
		}
		if x.DryRun {
			return e.printMigration(r, "would move")
		}
		if n := len(r.Moved) + len(r.Files); n > 0 && !x.Yes {
			if !e.json {
				if err := e.printMigration(r, "to be moved"); err != nil {
					return err
				}
			}
			ok, err := e.confirm(ctx, fmt.Sprintf("%d partitions and %d files get another name.", len(r.Moved), len(r.Files)), "--yes")
			if err != nil {
				return err
			}
			if !ok {
				return errors.New("not confirmed; nothing was changed")
			}
		}
		o.DryRun = false
		o.Backup = func(ctx context.Context, reason string) error {
			_, err := backup.Create(ctx, a.db, e.cfg.Home, backup.Options{Kind: backup.Auto, Reason: reason, Keep: e.cfg.Backup.Keep, Version: version()})
			return err
		}
		if r, err = transfer.MigrateKeys(ctx, a.db, o); err != nil {
			return err
		}
		if err := e.printMigration(r, "moved"); err != nil {
			return err
		}
		var parts []string
		for _, m := range r.Moved {
			parts = append(parts, m.To)
		}
		e.hintPlatform(parts)
		return nil
	})
}

func (e *env) printMigration(r transfer.MigrateReport, verb string) error {
	if e.json {
		return e.printJSON(r)
	}
	if len(r.Moved)+len(r.Files)+len(r.Unplaced) == 0 {
		e.printf("all keys are of today's form\n")
		return nil
	}
	for _, m := range r.Moved {
		e.printf("%s %s -> %s: %d memories", verb, m.From, m.To, m.Memories)
		if m.Known > 0 {
			e.printf(", %d of them known there", m.Known)
		}
		if m.Memo {
			e.printf(", the memo")
		}
		e.printf("\n")
	}
	for _, f := range r.Files {
		e.printf("%s %s -> %s\n", verb, f.From, f.To)
	}
	for _, u := range r.Unplaced {
		what := u.File
		if what == "" {
			what = fmt.Sprintf("%s (%d memories", u.Key, u.Memories)
			if u.Memo {
				what += ", a memo"
			}
			what += ")"
		}
		e.printf("left %s: %s\n", what, u.Reason)
	}
	return nil
}

// hintPlatform says what to configure if nobody would look where the data is now. One
// partition stands for all: they are of the same platform as a rule.
func (e *env) hintPlatform(parts []string) {
	for _, part := range parts {
		if k, ok := caller.CurrentKey(part); ok && k.Platform != e.cfg.Identity.Platform {
			e.say("the configured platform is %s: to use what is under %s, the host says that platform with each request, or config.toml has [identity] platform = %q", e.cfg.Identity.Platform, part, k.Platform)
			return
		}
	}
}
