package mirror

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"reverie/store"
)

// RebuildOptions of [Mirror.Rebuild]; the zero value is the default of every field.
type RebuildOptions struct {
	// TakeOver deletes collections of these names even if another home made them.
	TakeOver bool
	// Progress is called now and then with the memories sent and to be sent.
	Progress func(done, total int)
	// Waiting is called while another process has the lease.
	Waiting func(holder string)
}

// Rebuilt is what a rebuild did.
type Rebuilt struct {
	Deleted  int       `json:"deleted"`  // collections
	Memories int       `json:"memories"` // sent
	Buckets  int       `json:"buckets"`
	Refused  []Refusal `json:"refused"`
}

// Rebuild deletes the collections and fills them from SQL, with the number of buckets of
// the options. It waits for another process that delivers to have a pause. Killed or
// failing in the middle it leaves a mirror that catches up by itself.
func (m *Mirror) Rebuild(ctx context.Context, o RebuildOptions) (Rebuilt, error) {
	r := Rebuilt{Refused: []Refusal{}}
	err := m.underLease(ctx, waiting(o.Waiting), func(ctx context.Context, s *session) error {
		m.aside.clearAll()
		err := s.wipe(ctx, o.TakeOver, &r)
		if err != nil {
			return err
		}
		s.progress = func(n int) {
			r.Memories += n
			s.lease.Note(fmt.Sprintf("%d of %d memories sent", r.Memories, s.o.memories))
			if o.Progress != nil {
				o.Progress(min(r.Memories, s.o.memories), s.o.memories)
			}
		}
		return s.run(ctx, func() error {
			r.Buckets = s.buckets
			return s.deliverAll(ctx, false)
		})
	})
	r.Refused = m.aside.list()
	if err != nil {
		return r, fmt.Errorf("rebuild the mirror: %w", err)
	}
	return r, m.note(nil)
}

func waiting(tell func(string)) func(*store.HeldError) {
	return func(h *store.HeldError) {
		if tell != nil {
			tell(h.Holder)
		}
	}
}

// wipe deletes what was delivered, and the note of it first: where one of the two is left
// over, the mirror mends itself.
func (s *session) wipe(ctx context.Context, takeOver bool, r *Rebuilt) error {
	m := s.m
	owner, err := m.owner(ctx)
	if err != nil {
		return err
	}
	if err := m.call(func() error { return m.chroma.EnsureDatabase(ctx) }); err != nil {
		return err
	}
	cols, err := m.list(ctx)
	if err != nil {
		return err
	}
	if err := foreign(cols, owner); err != nil && !(takeOver && errors.Is(err, ErrForeign)) {
		return err
	}
	if err := s.maintain(ctx, func(g *gorm.DB) error { return g.Exec("DELETE FROM outbox").Error }); err != nil {
		return err
	}
	for _, c := range cols {
		if err := m.call(func() error { return m.chroma.DeleteCollection(ctx, c.Name) }); err != nil {
			return err
		}
		r.Deleted++
	}
	m.forget()
	return nil
}
