package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/store"
)

// Kind names what sort of object an entry is about.
type Kind string

// The kinds of objects that have a history.
const (
	KindMemory Kind = "memory"
	KindMemo   Kind = "memo"
)

// Action names what happened to the object.
type Action string

// The actions.
const (
	Create    Action = "create"
	Update    Action = "update"
	Delete    Action = "delete"    // to the trash
	Restore   Action = "restore"   // back to life
	Supersede Action = "supersede" // retired by a newer one
	Archive   Action = "archive"   // expired
	Repeat    Action = "repeat"    // the same content was written again
	Repair    Action = "repair"    // found so by a repair of the store, earlier entries being lost
)

// Origin says on whose behalf a change is made.
type Origin struct {
	Actor        string `json:"actor,omitempty"` // user id
	Role         string `json:"role,omitempty"`
	Source       string `json:"source"` // tool, command, consolidation, ...
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"` // id of the consolidation run this change belongs to
}

// By is the origin of a change that a caller makes through source.
func By(c caller.Caller, source string) Origin {
	return Origin{Actor: c.User, Role: string(c.Role), Source: source, Conversation: c.Conversation}
}

// Entry is one change of one object.
type Entry struct {
	Seq       int64     `json:"seq"` // rises by time over the whole store
	Partition string    `json:"partition"`
	Version   int64     `json:"version"` // of the partition, after the change
	At        time.Time `json:"at"`
	Origin    `json:"origin"`
	Kind      Kind            `json:"kind"`
	Object    string          `json:"object"`
	Action    Action          `json:"action"`
	Before    json.RawMessage `json:"before,omitempty"` // absent for a creation
	After     json.RawMessage `json:"after,omitempty"`
}

// Change is what [Append] records. Before and After are stored as JSON; nil means that
// the object did not exist then.
type Change struct {
	Kind          Kind
	Object        string
	Action        Action
	Before, After any
}

// Append records c as part of tx.
func Append(tx *store.Tx, by Origin, c Change) error {
	before, err := encode(c.Before)
	if err != nil {
		return fmt.Errorf("journal %s %s: %w", c.Kind, c.Object, err)
	}
	after, err := encode(c.After)
	if err != nil {
		return fmt.Errorf("journal %s %s: %w", c.Kind, c.Object, err)
	}
	err = tx.Exec(`INSERT INTO journal (part, version, at, actor, role, source, conversation, run, kind, object, action, before, after)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tx.Part, tx.Version, tx.Now.UnixMicro(), by.Actor, by.Role, by.Source, by.Conversation, by.Run,
		string(c.Kind), c.Object, string(c.Action), before, after).Error
	if err != nil {
		return fmt.Errorf("journal %s %s: %w", c.Kind, c.Object, err)
	}
	return nil
}

func encode(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// History returns the newest entries of one object of a partition, newest first, at
// most limit (0 means 100).
func History(ctx context.Context, db *store.DB, part string, kind Kind, object string, limit int) ([]Entry, error) {
	if limit <= 0 {
		limit = 100
	}
	out, err := read(ctx, db, "part = ? AND kind = ? AND object = ? ORDER BY seq DESC LIMIT ?", part, string(kind), object, limit)
	if err != nil {
		return nil, fmt.Errorf("history of %s %s: %w", kind, object, err)
	}
	return out, nil
}

// ErrNotFound means that an object has no entry of that number.
var ErrNotFound = errors.New("no such journal entry")

// At returns the entry numbered seq of one object of a partition, or [ErrNotFound].
func At(ctx context.Context, db *store.DB, part string, kind Kind, object string, seq int64) (Entry, error) {
	out, err := read(ctx, db, "seq = ? AND part = ? AND kind = ? AND object = ?", seq, part, string(kind), object)
	if err == nil && len(out) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Entry{}, fmt.Errorf("change %d of %s %s: %w", seq, kind, object, err)
	}
	return out[0], nil
}

func read(ctx context.Context, db *store.DB, where string, args ...any) ([]Entry, error) {
	var out []Entry
	err := db.Read(ctx, func(g *gorm.DB) error {
		rows, err := g.Raw("SELECT seq, part, version, at, actor, role, source, conversation, run, kind, object, action, before, after FROM journal WHERE "+where, args...).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		out = nil // an earlier run of this function may have been broken off
		for rows.Next() {
			var e Entry
			var at int64
			var before, after *string
			if err := rows.Scan(&e.Seq, &e.Partition, &e.Version, &at, &e.Actor, &e.Role, &e.Source, &e.Conversation, &e.Run,
				&e.Kind, &e.Object, &e.Action, &before, &after); err != nil {
				return err
			}
			e.At = time.UnixMicro(at).UTC()
			e.Before, e.After = raw(before), raw(after)
			out = append(out, e)
		}
		return rows.Err()
	})
	return out, err
}

func raw(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}
