package transfer

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store"
)

// MigrateOptions of [MigrateKeys]; the zero value is the default of every field.
type MigrateOptions struct {
	// Platform is the first part of the new keys where the old one names none; default
	// [caller.P1Platform].
	Platform string
	// Home is the folder whose files named after partitions move along; empty: none do.
	Home   string
	By     journal.Origin // for the journal; default a source of "migrate-keys"
	DryRun bool           // list everything, change nothing
	// Backup is called once, before the first change; nil: no backup.
	Backup func(ctx context.Context, reason string) error

	step func(moved int) // for tests: after each partition, inside the transaction
}

// Move is a partition under its new key.
type Move struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Memories int    `json:"memories"`       // of every state
	Known    int    `json:"known"`          // of these, those whose content the new one had: superseded by what was there
	Memo     bool   `json:"memo,omitempty"` // the memo moved, too
	Joined   bool   `json:"joined"`         // the new partition had something in it already
}

// Unplaced is what stays under an old key, or a file under its old name, and why.
type Unplaced struct {
	Key      string `json:"key,omitempty"`
	File     string `json:"file,omitempty"` // below the home folder
	Memories int    `json:"memories,omitempty"`
	Memo     bool   `json:"memo,omitempty"`
	Reason   string `json:"reason"`
}

// FileMove is a file or folder under its new name, below the home folder.
type FileMove struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// MigrateReport says what [MigrateKeys] did, or would do.
type MigrateReport struct {
	Moved    []Move     `json:"moved"`
	Files    []FileMove `json:"files"`
	Unplaced []Unplaced `json:"unplaced"` // tried again next time
}

// keySchema is the value of meta's key_schema_version once every key is today's.
const keySchema = "2"

// MigrateKeys gives partitions with keys of an older form, as [caller.ParseKey] knows
// them, the keys of today: memories, memos, the history, and the files named after them.
// Where the new partition exists the two become one; nothing is lost, and what cannot be
// placed stays where it is and is listed. It may be run again at any time.
//
// The database changes in one transaction, while no other one does; files follow, and a
// run that was interrupted between the two is repeated.
func MigrateKeys(ctx context.Context, db *store.DB, o MigrateOptions) (MigrateReport, error) {
	if o.Platform == "" {
		o.Platform = caller.P1Platform
	}
	if o.By.Source == "" {
		o.By.Source = "migrate-keys"
	}
	r := MigrateReport{}
	if err := caller.CheckPlatform(o.Platform); err != nil {
		return r, err
	}
	if !o.DryRun && o.Backup != nil {
		old, err := anyOld(ctx, db, o)
		if err != nil {
			return r, fmt.Errorf("migrate keys: %w", err)
		}
		if old {
			if err := o.Backup(ctx, "before migrate-keys"); err != nil {
				return r, fmt.Errorf("migrate keys: back up first: %w", err)
			}
		}
	}
	err := db.Exclusive(ctx, func(g *gorm.DB) error {
		r = MigrateReport{Moved: []Move{}, Files: []FileMove{}, Unplaced: []Unplaced{}}
		if err := o.partitions(g, &r); err != nil {
			return err
		}
		if o.DryRun {
			return store.ErrUnchanged
		}
		if len(r.Moved) > 0 {
			if err := store.NextGeneration(g); err != nil {
				return err
			}
		}
		return markKeys(g, len(r.Unplaced) == 0)
	})
	if err == nil && o.Home != "" {
		err = o.files(&r)
	}
	if err == nil && !o.DryRun && len(r.Unplaced) > 0 {
		err = db.Maintain(ctx, func(g *gorm.DB) error { return markKeys(g, false) })
	}
	if err != nil {
		return r, fmt.Errorf("migrate keys: %w", err)
	}
	return r, nil
}

// anyOld reports whether some old key can be placed.
func anyOld(ctx context.Context, db *store.DB, o MigrateOptions) (found bool, err error) {
	err = db.Read(ctx, func(g *gorm.DB) error {
		keys, err := partitionKeys(g)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if found {
				break
			}
			if _, ok := caller.CurrentKey(key); ok {
				continue
			}
			held, err := holds(g, key)
			if err != nil {
				return err
			}
			if !held {
				continue
			}
			_, reason, err := place(g, key, o.Platform)
			if err != nil {
				return err
			}
			found = reason == ""
		}
		return nil
	})
	return found, err
}

// markKeys notes whether all keys are of today's form.
func markKeys(g *gorm.DB, done bool) error {
	if !done {
		return g.Exec("DELETE FROM meta WHERE name = 'key_schema_version'").Error
	}
	return g.Exec("INSERT INTO meta (name, value) VALUES ('key_schema_version', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", []byte(keySchema)).Error
}

// partitions moves every partition that has an old key, inside one transaction.
func (o MigrateOptions) partitions(g *gorm.DB, r *MigrateReport) error {
	keys, err := partitionKeys(g)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, ok := caller.CurrentKey(key); ok {
			continue
		}
		held, err := holds(g, key)
		if err != nil {
			return err
		}
		if !held {
			continue // what a move leaves behind
		}
		to, reason, err := place(g, key, o.Platform)
		if err != nil {
			return err
		}
		if reason != "" {
			u, err := stays(g, key, reason)
			if err != nil {
				return err
			}
			r.Unplaced = append(r.Unplaced, u)
			continue
		}
		move, left, err := merge(g, key, to, o.By)
		if err != nil {
			return fmt.Errorf("%s to %s: %w", key, to, err)
		}
		r.Moved = append(r.Moved, move)
		if left != "" {
			r.Unplaced = append(r.Unplaced, Unplaced{Key: key, Memo: true, Reason: left})
		}
		if o.step != nil {
			o.step(len(r.Moved))
		}
	}
	return nil
}

// place says under which key a partition belongs, or why it stays under its own.
func place(g *gorm.DB, key, platform string) (to caller.Key, reason string, err error) {
	hint, err := scopeHint(g, key)
	if err != nil {
		return to, "", err
	}
	to, ok := caller.ParseKey(key, hint, platform)
	if !ok {
		return to, why(key, hint), nil
	}
	var private, others int
	err = g.Raw(`SELECT (SELECT COUNT(*) FROM memories WHERE part = ? AND private = 1), CASE WHEN EXISTS (SELECT 1 FROM memories WHERE part = ?)
		OR EXISTS (SELECT 1 FROM journal WHERE part = ? AND kind <> ?) THEN 1 ELSE 0 END`, key, key, key, string(journal.KindMemo)).Row().Scan(&private, &others)
	switch {
	case err != nil:
		return to, "", err
	case private > 0 && to.Scope() == caller.ScopeGroup:
		return to, fmt.Sprintf("%d of its memories are private, which a group's cannot be", private), nil
	case others > 0:
		return to, "", nil
	}
	// Only a memo: if that has to stay nothing moves, and no backup is made for it.
	differ, err := memosDiffer(g, key, to.String())
	if differ {
		reason = memoStays(key)
	}
	return to, reason, err
}

// why says in what way a key is none that can be placed.
func why(key, hint string) string {
	switch {
	case strings.Contains(key, "Channel_"):
		return "a channel is neither a person nor a group"
	case strings.Trim(key, "0123456789") == "" && hint == "":
		return "only digits, and nothing says whether they are a person's or a group's"
	}
	return "not a form of key that was ever written for a person or a group"
}

// holds reports whether anything is kept under a key, or was and has a history.
func holds(g *gorm.DB, key string) (bool, error) {
	var n int
	err := g.Raw(`SELECT CASE WHEN EXISTS (SELECT 1 FROM memories WHERE part = ?) OR EXISTS (SELECT 1 FROM memos WHERE part = ?)
		OR EXISTS (SELECT 1 FROM journal WHERE part = ?) THEN 1 ELSE 0 END`, key, key, key).Row().Scan(&n)
	return n == 1, err
}

// scopeHint is the scope that all memories of a partition have, empty if there is none.
func scopeHint(g *gorm.DB, key string) (string, error) {
	var scopes []string
	err := g.Raw("SELECT DISTINCT scope FROM memories WHERE part = ?", key).Scan(&scopes).Error
	if err != nil || len(scopes) != 1 {
		return "", err
	}
	return scopes[0], nil
}

// stays counts what is under a key that cannot be placed.
func stays(g *gorm.DB, key, reason string) (Unplaced, error) {
	u := Unplaced{Key: key, Reason: reason}
	m, err := readMemo(g, key)
	if err != nil {
		return u, err
	}
	u.Memo = m.Content != ""
	return u, g.Raw("SELECT COUNT(*) FROM memories WHERE part = ?", key).Row().Scan(&u.Memories)
}
