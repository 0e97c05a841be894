package mirror

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/vector/chroma"
)

// flush sends the batch and empties it.
func (s *session) flush(ctx context.Context, b *batch) error {
	items := b.items
	b.items, b.size = nil, 0
	if len(items) == 0 {
		return nil
	}
	return s.send(ctx, b.col, items)
}

// gracePeriod is how long a request may take to its end after it was to stop. A server
// that exits has two seconds.
const gracePeriod = time.Second

// grace is a context that ends a moment after ctx.
func grace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(gracePeriod, cancel) })
	return late, func() { stop(); cancel() }
}

// send sends items and records what they complete. What the server refuses is narrowed
// down to the partition that it refuses.
func (s *session) send(ctx context.Context, col chroma.Collection, items []item) error {
	late, cancel := grace(ctx)
	err := s.m.call(func() error { return s.request(late, col, items) })
	if err != nil && late.Err() != nil {
		s.uncertain = true
	}
	cancel()
	if err == nil {
		return s.record(ctx, items)
	}
	for b, c := range s.cols {
		if c.ID == col.ID {
			s.fresh[b] = false
		}
	}
	var e *chroma.Error
	switch {
	case ctx.Err() != nil:
		return s.interrupted(ctx, items, err)
	case chroma.IsNotFound(err):
		return errAgain
	case !errors.As(err, &e), e.Gone(), e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden, e.Status == http.StatusNotFound, e.Status == http.StatusTooManyRequests:
		return err // not about these records
	}
	if items = halve(items); len(items) > 1 {
		half := len(items) / 2
		if err := s.send(ctx, col, items[:half]); err != nil {
			return err
		}
		return s.send(ctx, col, items[half:])
	}
	s.refuse(items[0].part, err)
	return nil
}

// halve splits an item that is alone into two, if it can be: a request may have been
// too large for a proxy.
func halve(items []item) []item {
	if len(items) != 1 || len(items[0].changes) < 2 {
		return items
	}
	a, b := items[0], items[0]
	half := len(a.changes) / 2
	a.changes, a.drop, a.last = a.changes[:half], nil, false
	b.changes = b.changes[half:]
	return []item{a, b}
}

// refuse sets a partition aside.
func (s *session) refuse(part string, err error) {
	s.failed[part] = true
	s.m.aside.put(part, err)
	s.m.log.Warn("the vectors of a partition cannot be mirrored for now", "part", part, "error", err)
}

// request makes the records of the items the only ones of their memories.
func (s *session) request(ctx context.Context, col chroma.Collection, items []item) error {
	var recs []chroma.Record
	var gone, check []string
	seen, want := map[string]bool{}, map[string]bool{}
	// A memory that changed while it was read comes twice; the later one counts.
	for _, it := range slices.Backward(items) {
		gone = append(gone, it.drop...)
		for _, c := range slices.Backward(it.changes) {
			if seen[c.id] {
				continue
			}
			seen[c.id] = true
			if it.check {
				check = append(check, c.id)
			}
			for _, r := range s.m.records(it.part, c) {
				want[r.ID] = true
				recs = append(recs, r)
			}
		}
	}
	for ids := range slices.Chunk(check, chroma.MaxBatch) {
		have, err := s.m.chroma.Get(ctx, col.ID, chroma.GetQuery{Where: chroma.In("memory", ids)})
		if err != nil {
			return err
		}
		for _, r := range have {
			gone = append(gone, r.ID)
		}
	}
	// First out, then in: a record that left one partition may have come to another.
	gone = slices.DeleteFunc(gone, func(id string) bool { return want[id] })
	if err := s.m.chroma.Delete(ctx, col.ID, gone); err != nil {
		return err
	}
	return s.m.chroma.Upsert(ctx, col.ID, recs)
}

// record notes what was delivered.
func (s *session) record(ctx context.Context, items []item) error {
	memories := 0
	for _, it := range items {
		memories += len(it.changes)
	}
	done := slices.DeleteFunc(slices.Clone(items), func(it item) bool { return !it.last || s.failed[it.part] })
	if len(done) > 0 {
		err := s.maintain(ctx, func(g *gorm.DB) error {
			for _, it := range done {
				var err error
				if it.gone {
					err = g.Exec("DELETE FROM outbox WHERE space = ? AND part = ?", s.o.Space, it.part).Error
				} else {
					err = put(g, s.o.Space, it.part, it.version)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return s.interrupted(ctx, items, err)
		}
	}
	for _, it := range done {
		s.m.aside.clear(it.part)
	}
	s.progress(memories)
	return nil
}

// interrupted deals with a batch that was perhaps sent after the lease was lost: another
// process may have sent newer records of the same partitions before, so that these have
// to be sent once more.
func (s *session) interrupted(ctx context.Context, items []item, cause error) error {
	ctx = context.WithoutCancel(ctx)
	err := s.m.db.Maintain(ctx, func(g *gorm.DB) error {
		mine, err := s.lease.Mine(g)
		if err != nil || mine {
			return cmp.Or(err, store.ErrUnchanged)
		}
		for _, it := range items {
			if err := g.Exec("UPDATE outbox SET version = ? WHERE space = ? AND part = ?", unknown, s.o.Space, it.part).Error; err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(cause, err)
}
