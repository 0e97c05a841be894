package memo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"
	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store"
)

// DefaultMaxChars is the limit when none is configured: about 500 tokens, small enough
// to be sent with every turn.
const DefaultMaxChars = 1000

// cacheEntries is how many partitions' memos are kept in memory, empty ones too.
const cacheEntries = 128

// Options of [New]; the zero value is the default of every field.
type Options struct {
	MaxChars int // code points; default DefaultMaxChars
	// Clean prepares text for storage (secrets, control characters, recalled text) and
	// says what it changed. Default: text is stored as it is.
	Clean func(text string) (clean string, notices []string, err error)
	// Source names this program's way of writing in the journal; default "tool".
	Source string
}

// Store reads and replaces memos. It is safe for concurrent use by goroutines and,
// since it compares partition versions, by processes.
type Store struct {
	db    *store.DB
	opts  Options
	cache *lru.Cache[string, cached]
}

type cached struct {
	version int64 // of the partition, when memo was read
	memo    Memo
}

// New returns a Store on db.
func New(db *store.DB, o Options) *Store {
	if o.MaxChars <= 0 {
		o.MaxChars = DefaultMaxChars
	}
	if o.Clean == nil {
		o.Clean = func(s string) (string, []string, error) { return s, nil, nil }
	}
	if o.Source == "" {
		o.Source = "tool"
	}
	c, err := lru.New[string, cached](cacheEntries)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return &Store{db: db, opts: o, cache: c}
}

// Limit is the greatest length of a memo in code points.
func (s *Store) Limit() int { return s.opts.MaxChars }

// Get returns the memo in view: the group's in a group, else the caller's own. A memo
// that was never written is empty with version 0.
func (s *Store) Get(ctx context.Context, c caller.Caller) (Memo, error) {
	part, err := c.Partition(c.MemoScope())
	if err != nil {
		return Memo{}, err
	}
	v, err := s.db.Version(ctx, part)
	if err != nil {
		return Memo{}, fmt.Errorf("read memo: %w", err)
	}
	if e, ok := s.cache.Get(part); ok && e.version == v {
		return e.memo, nil
	}
	// The version was read before the memo: a change in between makes this entry
	// look older than it is, which costs one more read and is never stale.
	var m Memo
	err = s.db.Read(ctx, func(g *gorm.DB) error {
		m, err = load(g, part)
		return err
	})
	if err != nil {
		return Memo{}, fmt.Errorf("read memo: %w", err)
	}
	s.cache.Add(part, cached{v, m})
	return m, nil
}

// Set replaces the memo in view by content; empty content clears it. It returns the
// memo as it now stands and what was changed in content on the way in.
//
// A group's memo may be set only by an admin or owner ([caller.ErrForbidden]). Content
// over the limit is a [*TooLongError]. If expected is not nil and the memo has another
// version, it is a [*ConflictError] that carries the current memo. Setting what already
// stands there changes nothing and keeps the version.
func (s *Store) Set(ctx context.Context, c caller.Caller, content string, expected *int64) (Memo, []string, error) {
	scope := c.MemoScope()
	part, err := c.Partition(scope)
	if err != nil {
		return Memo{}, nil, err
	}
	if err := c.MayRewrite(scope); err != nil {
		return Memo{}, nil, err
	}
	clean, notices, err := s.opts.Clean(content)
	if err != nil {
		return Memo{}, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if clean == "" && content != "" {
		// Only an empty text says that the memo is to go.
		return Memo{}, nil, fmt.Errorf("%w: nothing of the text is left to store%s; give the memo's whole new text, or an empty one to clear it", ErrInvalid, because(notices))
	}
	content = clean
	if n := utf8.RuneCountInString(content); n > s.opts.MaxChars {
		return Memo{}, nil, &TooLongError{Chars: n, Limit: s.opts.MaxChars}
	}
	var m Memo
	err = s.db.Write(ctx, part, func(tx *store.Tx) error {
		old, err := load(tx.DB, part)
		if err != nil {
			return err
		}
		if expected != nil && *expected != old.Version {
			return &ConflictError{Expected: *expected, Current: old}
		}
		if m = old; content == old.Content {
			return store.ErrUnchanged
		}
		m = Memo{Content: content, Version: old.Version + 1, UpdatedAt: tx.Now, UpdatedBy: c.User}
		if err := save(tx, m); err != nil {
			return err
		}
		change := journal.Change{Kind: journal.KindMemo, Object: part, Action: journal.Update, Before: old, After: m}
		if old.Version == 0 {
			change.Action, change.Before = journal.Create, nil
		}
		return journal.Append(tx, journal.By(c, s.opts.Source), change)
	})
	if err != nil {
		return Memo{}, nil, fmt.Errorf("write memo: %w", err)
	}
	return m, notices, nil
}

// because puts notices into brackets, with a blank before.
func because(notices []string) string {
	if len(notices) == 0 {
		return ""
	}
	return " (" + strings.Join(notices, "; ") + ")"
}

// History returns the changes of the memo in view, newest first, at most 100.
func (s *Store) History(ctx context.Context, c caller.Caller) ([]journal.Entry, error) {
	part, err := c.Partition(c.MemoScope())
	if err != nil {
		return nil, err
	}
	return journal.History(ctx, s.db, part, journal.KindMemo, part, 0)
}

// Restore makes the text of an earlier version the memo again, as a new version. It needs
// what [Store.Set] needs; a version that is not among the last 100 is [ErrInvalid].
func (s *Store) Restore(ctx context.Context, c caller.Caller, version int64) (Memo, error) {
	entries, err := s.History(ctx, c)
	if err != nil {
		return Memo{}, err
	}
	for _, e := range entries {
		var m Memo
		if err := json.Unmarshal(e.After, &m); err != nil {
			return Memo{}, fmt.Errorf("memo version of change %d: %w", e.Seq, err)
		}
		if m.Version == version {
			restored, _, err := s.Set(ctx, c, m.Content, nil)
			return restored, err
		}
	}
	return Memo{}, fmt.Errorf("%w: no version %d among the last %d; see its history for the numbers", ErrInvalid, version, len(entries))
}

func load(g *gorm.DB, part string) (Memo, error) {
	var m Memo
	var at int64
	err := g.Raw("SELECT content, version, updated_at, updated_by FROM memos WHERE part = ?", part).Row().
		Scan(&m.Content, &m.Version, &at, &m.UpdatedBy)
	if errors.Is(err, sql.ErrNoRows) {
		return Memo{}, nil
	}
	m.UpdatedAt = time.UnixMicro(at).UTC()
	return m, err
}

func save(tx *store.Tx, m Memo) error {
	return tx.Exec(`INSERT INTO memos (part, content, version, updated_at, updated_by) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (part) DO UPDATE SET content = excluded.content, version = excluded.version,
		updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		tx.Part, m.Content, m.Version, m.UpdatedAt.UnixMicro(), m.UpdatedBy).Error
}
