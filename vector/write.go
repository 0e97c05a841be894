package vector

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store"
)

// similarShown is how many near duplicates a write reports.
const similarShown = 3

// Write stores a memory.
//
// Content that the partition already has live is not stored again: the answer names the
// memory that has it, whose Seen rises. Supersedes retires the named memory in the same
// transaction. An embedder that fails does not fail the write: the vector follows later.
//
// Errors: [ErrInvalid], [ErrNotFound] (Supersedes), [ErrDenied], [*LimitError], those of
// package caller and of package store. After an error nothing was stored.
func (s *Service) Write(ctx context.Context, c caller.Caller, d Draft) (Written, error) {
	scope, part, err := s.open(c, d.Scope)
	if err != nil {
		return Written{}, err
	}
	m, notices, err := s.draft(c, scope, d)
	if err != nil {
		return Written{}, err
	}
	if d.Supersedes != "" {
		if err := checkID(d.Supersedes); err != nil {
			return Written{}, fmt.Errorf("supersedes: %w", err)
		}
		if err := c.MayRewrite(scope); err != nil {
			return Written{}, err
		}
	}
	out := Written{Notices: notices}
	emb, unembedded, err := s.embedForWrite(ctx, c, part, m.Content)
	if err != nil {
		return Written{}, fmt.Errorf("write memory: %w", err)
	}
	if unembedded != nil {
		out.Notices = append(out.Notices, s.withoutVector(unembedded, "stored")...)
	}
	if out.Similar, err = s.similar(ctx, c, part, m.Content, emb, ""); err != nil {
		return Written{}, err
	}
	err = s.write(ctx, part, func(tx *store.Tx) error {
		out.DuplicateOf, out.Superseded = "", ""
		if err := s.expire(tx, part); err != nil {
			return err
		}
		w, err := s.beginWriting(tx, c)
		if err != nil {
			return err
		}
		if err := w.store(d.Supersedes, m, emb, &out); err != nil {
			return err
		}
		return w.end()
	})
	if err != nil {
		return Written{}, fmt.Errorf("write memory: %w", s.withCandidates(ctx, c, part, err, m.Content))
	}
	if out.Memory.Pending && out.DuplicateOf == "" {
		s.wakeFill()
	}
	out.Similar = slices.DeleteFunc(out.Similar, func(x Similar) bool {
		return x.ID == out.DuplicateOf || x.ID == out.Superseded
	})
	return out, nil
}

// draft checks a draft and makes the memory it asks for.
func (s *Service) draft(c caller.Caller, scope caller.Scope, d Draft) (Memory, []string, error) {
	content, notices, err := s.checkContent(d.Content)
	if err != nil {
		return Memory{}, nil, err
	}
	tags, err := s.checkTags(d.Tags)
	if err != nil {
		return Memory{}, nil, err
	}
	imp, err := ParseImportance(string(d.Importance))
	if err != nil {
		return Memory{}, nil, err
	}
	if d.Private && scope == caller.ScopeGroup {
		return Memory{}, nil, fmt.Errorf("%w: private memories belong to one person; use scope \"user\" with private, or scope \"group\" without", ErrInvalid)
	}
	m := Memory{
		ID: newID(), Scope: scope, Content: content, Tags: tags, Importance: imp, Private: d.Private,
		SaidBy: d.SaidBy, Source: d.Source, Conversation: d.Conversation, EventTime: d.EventTime, State: Live, Seen: 1,
	}
	if m.Importance == "" {
		m.Importance = Medium
	}
	if m.SaidBy == "" {
		m.SaidBy = c.User
	}
	if m.Conversation == "" {
		m.Conversation = c.Conversation
	}
	if m.Source == "" {
		m.Source = FromAssistant
	}
	return m, notices, nil
}

// embedForWrite embeds content unless the partition already has it, which the
// transaction will find out again for certain. unembedded is why there is no vector, which
// is no reason not to write; err is the database's.
func (s *Service) embedForWrite(ctx context.Context, c caller.Caller, part, content string) (e embedded, unembedded, err error) {
	var known twins
	err = s.db.Read(ctx, func(g *gorm.DB) (err error) {
		known, err = liveTwins(g, part, contentHash(content))
		return err
	})
	if err != nil || known.seen(c).ID != "" {
		return embedded{}, nil, err
	}
	cur, err := s.serving(ctx, part)
	if err != nil {
		return embedded{}, nil, err
	}
	e, unembedded = s.embedSoon(ctx, cur, content)
	return e, unembedded, nil
}

// writing is the part of a write inside the transaction; it counts what it adds once
// for all.
type writing struct {
	*Service
	tx    *store.Tx
	c     caller.Caller
	by    journal.Origin
	live  int // memories of the partition as it stands now
	added int // of these, those not yet counted in the partition's row
}

func (s *Service) beginWriting(tx *store.Tx, c caller.Caller) (*writing, error) {
	live, err := liveCount(tx.DB, tx.Part)
	return &writing{Service: s, tx: tx, c: c, by: journal.By(c, s.opts.Source), live: live}, err
}

// end counts what was added.
func (w *writing) end() error {
	if w.added == 0 {
		return nil
	}
	return addLive(w.tx, w.added)
}

// store writes m, or notes that its content is there already, and retires the memory
// that it supersedes.
func (w *writing) store(supersedes string, m Memory, emb embedded, out *Written) error {
	tx := w.tx
	var old record
	if supersedes != "" {
		var err error
		if old, err = w.find(tx.DB, w.c, tx.Part, supersedes, Live); err != nil {
			return err
		}
	}
	have, err := liveTwins(tx.DB, tx.Part, contentHash(m.Content))
	if err != nil {
		return err
	}
	switch seen := have.seen(w.c); {
	case m.Private && have.private.ID != "":
		out.Memory, err = w.keepPrivate(have, m)
		if visible(w.c, &have.private.Memory) {
			out.DuplicateOf = have.private.ID
		}
	case seen.ID != "":
		out.DuplicateOf = seen.ID
		out.Memory, err = w.repeat(seen, m.Private)
	default:
		out.Memory, err = w.add(m, emb, old.ID != "")
	}
	if err != nil || old.ID == "" || old.ID == out.Memory.ID {
		return err
	}
	out.Superseded = old.ID
	next := old
	next.State, next.SupersededBy = Superseded, out.Memory.ID
	w.live--
	return w.change(tx, w.by, journal.Supersede, old, next)
}

// add stores a new memory; replacing says that another one leaves for it.
func (w *writing) add(m Memory, emb embedded, replacing bool) (Memory, error) {
	if w.live >= w.opts.Limit && !(replacing && w.live == w.opts.Limit) {
		return m, &LimitError{Count: w.live, Limit: w.opts.Limit}
	}
	m.CreatedAt, m.UpdatedAt, m.Partition = w.tx.Now, w.tx.Now, w.tx.Part
	emb, space, err := emb.fit(w.tx)
	if err != nil {
		return m, err
	}
	m.Pending = emb.packed == nil
	if err := insert(w.tx, m, space, emb.packed); err != nil {
		return m, err
	}
	w.live++
	w.added++
	return m, journal.Append(w.tx, w.by, journal.Change{Kind: journal.KindMemory, Object: m.ID, Action: journal.Create, After: m})
}

// repeat notes that a live memory was said again. Asking for privacy makes it private;
// not asking never takes privacy away.
func (w *writing) repeat(old record, private bool) (Memory, error) {
	next := old
	next.Seen++
	next.LastUsedAt = w.tx.Now
	next.Private = old.Private || private
	return next.Memory, w.change(w.tx, w.by, journal.Repeat, old, next)
}

// keepPrivate notes that a memory that is private already was said again, to be private.
// A public one beside it, said in a group, goes to the trash. In a group the answer
// tells nothing of what was there before.
func (w *writing) keepPrivate(have twins, m Memory) (Memory, error) {
	if have.public.ID != "" {
		gone := have.public
		gone.State, gone.DeletedAt = Deleted, w.tx.Now
		w.live--
		if err := w.change(w.tx, w.by, journal.Delete, have.public, gone); err != nil {
			return m, err
		}
	}
	kept, err := w.repeat(have.private, true)
	if visible(w.c, &kept) {
		return kept, err
	}
	m.ID, m.CreatedAt, m.UpdatedAt, m.Partition = kept.ID, w.tx.Now, w.tx.Now, w.tx.Part
	return m, err
}

// change saves a record and its journal entry.
func (s *Service) change(tx *store.Tx, by journal.Origin, action journal.Action, old, next record) error {
	if err := save(tx, next, old.State); err != nil {
		return err
	}
	return journal.Append(tx, by, journal.Change{Kind: journal.KindMemory, Object: old.ID, Action: action, Before: old.Memory, After: next.Memory})
}

func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
