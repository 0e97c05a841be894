package vector

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store"
)

// Update changes a live memory. Fields left nil stay. It needs the right to rewrite the
// scope. The answer carries near duplicates when the content changed.
//
// Errors: as [Service.Write], and [ErrInvalid] when nothing is set or another live
// memory already has the new content.
func (s *Service) Update(ctx context.Context, c caller.Caller, scope caller.Scope, id string, p Patch) (Written, error) {
	_, part, err := s.openToRewrite(c, scope)
	if err != nil {
		return Written{}, err
	}
	if err := checkID(id); err != nil {
		return Written{}, err
	}
	if p.Content == nil && p.Tags == nil && p.Importance == nil {
		return Written{}, fmt.Errorf("%w: nothing to change; give content, tags or importance", ErrInvalid)
	}
	set, err := s.checkPatch(p)
	if err != nil {
		return Written{}, err
	}
	out := Written{Notices: set.notices}
	var emb embedded
	if set.content != "" {
		// Before the transaction, which must be short. A memory that does not exist
		// costs one embedding for nothing, which is rare.
		cur, err := s.serving(ctx, part)
		if err != nil {
			return Written{}, fmt.Errorf("update memory: %w", err)
		}
		if emb, err = s.embedSoon(ctx, cur, set.content); err != nil {
			out.Notices = append(out.Notices, s.withoutVector(err, "updated")...)
		}
		if out.Similar, err = s.similar(ctx, c, part, set.content, emb, id); err != nil {
			return Written{}, err
		}
	}
	err = s.write(ctx, part, func(tx *store.Tx) error {
		old, err := s.find(tx.DB, c, part, id, Live)
		if err != nil {
			return err
		}
		next := set.apply(old)
		if same(old, next) {
			out.Memory = old.Memory
			return store.ErrUnchanged
		}
		next.UpdatedAt = tx.Now
		if next.Content != old.Content {
			if err := s.checkTwin(tx.DB, c, next); err != nil {
				return err
			}
			if err := forgetVectors(tx, old.rid); err != nil {
				return err
			}
			if next.Pending, err = keep(tx, old.rid, emb); err != nil {
				return err
			}
		}
		out.Memory = next.Memory
		return s.change(tx, journal.By(c, s.opts.Source), journal.Update, old, next)
	})
	if err != nil {
		return Written{}, fmt.Errorf("update memory: %w", err)
	}
	if out.Memory.Pending {
		s.wakeFill()
	}
	return out, nil
}

// patch is a checked Patch.
type patch struct {
	content    string // empty: unchanged
	tags       []string
	setTags    bool
	importance Importance // empty: unchanged
	notices    []string
}

func (s *Service) checkPatch(p Patch) (set patch, err error) {
	if p.Content != nil {
		if set.content, set.notices, err = s.checkContent(*p.Content); err != nil {
			return set, err
		}
	}
	if p.Tags != nil {
		set.setTags = true
		if set.tags, err = s.checkTags(*p.Tags); err != nil {
			return set, err
		}
	}
	if p.Importance != nil {
		if set.importance, err = ParseImportance(string(*p.Importance)); err != nil {
			return set, err
		}
		if set.importance == "" {
			return set, fmt.Errorf("%w: importance is empty; allowed: low, medium, high", ErrInvalid)
		}
	}
	return set, nil
}

func (p patch) apply(r record) record {
	if p.content != "" {
		r.Content = p.content
	}
	if p.setTags {
		r.Tags, r.damagedTags = p.tags, false
	}
	if p.importance != "" {
		r.Importance = p.importance
	}
	return r
}

func same(a, b record) bool {
	return a.damagedTags == b.damagedTags && a.Content == b.Content && a.Importance == b.Importance && slices.Equal(a.Tags, b.Tags)
}

// checkTwin refuses a content that another live memory of the partition has.
func (s *Service) checkTwin(g *gorm.DB, c caller.Caller, r record) error {
	have, err := liveTwins(g, r.Partition, contentHash(r.Content))
	twin := have.seen(c)
	if r.Private {
		twin = have.private // the caller sees r, so it sees this one, too
	}
	if err == nil && twin.ID != "" && twin.ID != r.ID {
		return fmt.Errorf("%w: memory %s already says exactly this; delete one of the two instead", ErrInvalid, twin.ID)
	}
	return err
}

// Delete moves a memory to the trash, from where [Service.Restore] brings it back. It
// needs the right to rewrite the scope.
func (s *Service) Delete(ctx context.Context, c caller.Caller, scope caller.Scope, id string) (Memory, error) {
	return s.move(ctx, c, scope, id, journal.Delete, func(tx *store.Tx, r *record) error {
		if r.State == Deleted {
			return fmt.Errorf("%w: memory %s is in the trash already", ErrState, id)
		}
		r.State, r.DeletedAt = Deleted, tx.Now
		return nil
	})
}

// Restore brings a deleted, superseded or archived memory back to life. It needs the
// right to rewrite the scope, and room in the partition.
func (s *Service) Restore(ctx context.Context, c caller.Caller, scope caller.Scope, id string) (Memory, error) {
	m, err := s.move(ctx, c, scope, id, journal.Restore, func(tx *store.Tx, r *record) error {
		if r.State == Live {
			return fmt.Errorf("%w: memory %s is live; there is nothing to restore", ErrState, id)
		}
		if err := s.checkTwin(tx.DB, c, *r); err != nil {
			return err
		}
		n, err := liveCount(tx.DB, tx.Part)
		if err != nil {
			return err
		}
		if n >= s.opts.Limit {
			return &LimitError{Count: n, Limit: s.opts.Limit}
		}
		r.State, r.SupersededBy = Live, ""
		r.DeletedAt, r.ArchivedAt = fromMicro(0), fromMicro(0)
		r.LastUsedAt = tx.Now // or it would expire again at once
		if r.Pending {
			_, err := keep(tx, r.rid, embedded{})
			return err
		}
		return nil
	})
	if err == nil && m.Pending {
		s.wakeFill()
	}
	return m, err
}

// move changes the state of one memory.
func (s *Service) move(ctx context.Context, c caller.Caller, scope caller.Scope, id string, action journal.Action, to func(*store.Tx, *record) error) (Memory, error) {
	_, part, err := s.openToRewrite(c, scope)
	if err != nil {
		return Memory{}, err
	}
	if err := checkID(id); err != nil {
		return Memory{}, err
	}
	var m Memory
	err = s.write(ctx, part, func(tx *store.Tx) error {
		old, err := s.find(tx.DB, c, part, id, "")
		if err != nil {
			return err
		}
		next := old
		if err := to(tx, &next); err != nil {
			return err
		}
		m = next.Memory
		return s.change(tx, journal.By(c, s.opts.Source), action, old, next)
	})
	if err != nil {
		return Memory{}, fmt.Errorf("%s memory: %w", action, s.withCandidates(ctx, c, part, err, m.Content))
	}
	return m, nil
}

// find returns a record that the caller may see, in the given state or any.
func (s *Service) find(g *gorm.DB, c caller.Caller, part, id string, want State) (record, error) {
	r, err := byID(g, part, id)
	if err != nil {
		return r, err
	}
	if !visible(c, &r.Memory) {
		return r, fmt.Errorf("%w: no memory %s here", ErrNotFound, id)
	}
	if want != "" && r.State != want {
		if r.SupersededBy, err = s.successor(g, c, &r.Memory); err != nil {
			return r, err
		}
		return r, stateError(&r.Memory)
	}
	return r, nil
}

// stateError says why a memory that is not live cannot be changed.
func stateError(m *Memory) error {
	switch m.State {
	case Superseded:
		if m.SupersededBy == "" {
			return fmt.Errorf("%w: memory %s was replaced by a newer one", ErrState, m.ID)
		}
		return fmt.Errorf("%w: memory %s was replaced by %s; change that one", ErrState, m.ID, m.SupersededBy)
	case Deleted:
		return fmt.Errorf("%w: memory %s is in the trash; it can be restored with: reverie memory restore %s", ErrState, m.ID, m.ID)
	}
	return fmt.Errorf("%w: memory %s is %s; it can be restored with: reverie memory restore %s", ErrState, m.ID, m.State, m.ID)
}

// Resolve turns an id or a unique prefix of one, of at least one digit, into the id of a
// memory of the scope in the given state (empty: any). Several matches are
// [ErrAmbiguous], and the message lists up to five.
func (s *Service) Resolve(ctx context.Context, c caller.Caller, scope caller.Scope, prefix string, state State) (string, error) {
	_, part, err := s.open(c, scope)
	if err != nil {
		return "", err
	}
	if len(prefix) == 32 {
		return prefix, checkID(prefix)
	}
	if prefix == "" || len(prefix) > 32 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%w: %q is not the beginning of a memory id; ids are 32 lower-case hexadecimal digits", ErrInvalid, prefix)
	}
	ids, err := s.ids(ctx, c, part, prefix, state, 6)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("%w: no memory here has an id that begins with %s", ErrNotFound, prefix)
	case len(ids) > 1:
		more := ""
		if len(ids) > 5 {
			ids, more = ids[:5], ", ..."
		}
		return "", fmt.Errorf("%w: several ids begin with %s: %s%s; give more digits", ErrAmbiguous, prefix, strings.Join(ids, ", "), more)
	}
	return ids[0], nil
}

// IDs lists the ids of live memories of the scope that begin with prefix (hexadecimal
// digits, may be empty), at most limit: for completion.
func (s *Service) IDs(ctx context.Context, c caller.Caller, scope caller.Scope, prefix string, limit int) ([]string, error) {
	_, part, err := s.open(c, scope)
	if err != nil || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, err
	}
	return s.ids(ctx, c, part, prefix, Live, limit)
}

func (s *Service) ids(ctx context.Context, c caller.Caller, part, prefix string, state State, limit int) ([]string, error) {
	var ids []string
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		// A range instead of LIKE: prefix is checked to be hexadecimal, so "g" ends it.
		return g.Raw(`SELECT id FROM memories WHERE part = ? AND id >= ? AND id < ? AND (? = '' OR state = ?) AND (private = 0 OR ?) ORDER BY id LIMIT ?`,
			part, prefix, prefix+"g", string(state), string(state), !c.InGroup(), limit).Scan(&ids).Error
	})
	if err != nil {
		return nil, fmt.Errorf("look up ids: %w", err)
	}
	return ids, nil
}
