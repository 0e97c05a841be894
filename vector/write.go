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
	"reverie/vector/index"
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
	emb, vecs, err := s.embedForWrite(ctx, part, m.Content)
	if err != nil {
		s.log.Warn("memory stored without its vector for now", "error", err)
		out.Notices = append(out.Notices, "the embedder failed; the memory is stored and found by its words, its vector follows later")
	}
	if out.Similar, err = s.similar(ctx, c, part, m.Content, vecs, ""); err != nil {
		return Written{}, err
	}
	err = s.db.Write(ctx, part, func(tx *store.Tx) error {
		out.DuplicateOf, out.Superseded = "", ""
		if err := s.expire(tx, part); err != nil {
			return err
		}
		return s.store(tx, c, d, m, emb, &out)
	})
	if err != nil {
		return Written{}, fmt.Errorf("write memory: %w", s.withCandidates(ctx, c, part, err, out.Similar))
	}
	if s.emb != nil && emb == nil && out.DuplicateOf == "" {
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
		SaidBy: d.SaidBy, Source: d.Source, Conversation: c.Conversation, EventTime: d.EventTime, State: Live, Seen: 1,
	}
	if m.Importance == "" {
		m.Importance = Medium
	}
	if m.SaidBy == "" {
		m.SaidBy = c.User
	}
	if m.Source == "" {
		m.Source = FromAssistant
	}
	return m, notices, nil
}

// embedForWrite embeds content unless the partition already has it, which the
// transaction will find out again for certain.
func (s *Service) embedForWrite(ctx context.Context, part, content string) ([]byte, []index.Vec, error) {
	known := false
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		var err error
		_, known, err = liveTwin(g, s.space, part, contentHash(content))
		return err
	})
	if err != nil || known {
		return nil, nil, nil
	}
	return s.embedOne(ctx, content)
}

// store is the part of Write inside the transaction.
func (s *Service) store(tx *store.Tx, c caller.Caller, d Draft, m Memory, emb []byte, out *Written) error {
	by := journal.By(c, s.opts.Source)
	var old record
	if d.Supersedes != "" {
		var err error
		if old, err = byID(tx.DB, s.space, tx.Part, d.Supersedes); err != nil {
			return err
		}
		if !visible(c, &old.Memory) {
			return fmt.Errorf("%w: no memory %s here", ErrNotFound, d.Supersedes)
		}
		if old.State != Live {
			return fmt.Errorf("%w: memory %s is %s already and cannot be superseded again", ErrInvalid, old.ID, old.State)
		}
	}
	twin, dup, err := liveTwin(tx.DB, s.space, tx.Part, contentHash(m.Content))
	if err != nil {
		return err
	}
	if dup {
		out.Memory, err = s.repeat(tx, by, twin, m.Private)
		if err != nil {
			return err
		}
		out.DuplicateOf = twin.ID
	} else {
		if err := s.checkRoom(tx, old.ID != ""); err != nil {
			return err
		}
		m.CreatedAt, m.UpdatedAt, m.Partition = tx.Now, tx.Now, tx.Part
		m.Pending = s.emb != nil && len(emb) == 0
		r, err := insert(tx, m)
		if err != nil {
			return err
		}
		if s.emb != nil {
			if err := setVector(tx, r.rid, s.space, emb); err != nil {
				return err
			}
		}
		if err := journal.Append(tx, by, journal.Change{Kind: journal.KindMemory, Object: m.ID, Action: journal.Create, After: m}); err != nil {
			return err
		}
		out.Memory = m
	}
	if old.ID == "" || old.ID == out.Memory.ID {
		return nil
	}
	out.Superseded = old.ID
	next := old
	next.State, next.SupersededBy = Superseded, out.Memory.ID
	return s.change(tx, by, journal.Supersede, old, next)
}

// repeat notes that a live memory was said again. Asking for privacy makes it private;
// not asking never takes privacy away.
func (s *Service) repeat(tx *store.Tx, by journal.Origin, old record, private bool) (Memory, error) {
	next := old
	next.Seen++
	next.LastUsedAt = tx.Now
	next.Private = old.Private || private && old.Scope == caller.ScopeUser
	return next.Memory, s.change(tx, by, journal.Repeat, old, next)
}

// change saves a record and its journal entry.
func (s *Service) change(tx *store.Tx, by journal.Origin, action journal.Action, old, next record) error {
	if err := save(tx, next, old.State); err != nil {
		return err
	}
	return journal.Append(tx, by, journal.Change{Kind: journal.KindMemory, Object: old.ID, Action: action, Before: old.Memory, After: next.Memory})
}

// checkRoom refuses a new live memory in a full partition; replacing says that another
// one leaves in the same transaction.
func (s *Service) checkRoom(tx *store.Tx, replacing bool) error {
	n, err := liveCount(tx.DB, tx.Part)
	if err != nil {
		return err
	}
	if n >= s.opts.Limit && !(replacing && n == s.opts.Limit) {
		return &LimitError{Count: n, Limit: s.opts.Limit}
	}
	return nil
}

func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
