package mirror

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/vector/chroma"
)

// batchRecords is how many records are gathered before they are sent: several small
// partitions share a request.
const batchRecords = chroma.MaxBatch

// item is a part of a batch: changes of one partition.
type item struct {
	delivery
	changes []change
	drop    []string // ids of records that are to go
	check   bool     // other records of the changed memories are to go
	last    bool     // with it the partition is complete
}

// batch is what is sent together, into one collection.
type batch struct {
	col   chroma.Collection
	items []item
	size  int // in records
}

// maxPasses bounds the passes of a session that does not linger: under steady writes
// there would always be another one.
const maxPasses = 5

// deliverAll sends what there is to send. With linger it goes on for a while, so that a
// burst of writes is one session.
func (s *session) deliverAll(ctx context.Context, linger bool) error {
	begun := time.Now()
	for passes := 1; s.o.Space != 0; passes++ {
		n, err := s.pass(ctx)
		switch {
		case err != nil:
			return err
		case !linger && (n == 0 || passes >= maxPasses), linger && time.Since(begun) > maxHold:
			return nil
		case n > 0:
		case !s.m.sleep(ctx, s.m.opts.Linger, true):
			return ctx.Err()
		}
	}
	return nil
}

// pass sends what is due now and returns how many partitions that were.
func (s *session) pass(ctx context.Context) (n int, err error) {
	o, err := s.m.look(ctx)
	if err != nil {
		return 0, err
	}
	if o.Serving != s.o.Serving || o.generation != o.Generation {
		return 0, errAgain
	}
	s.o, s.failed = o, map[string]bool{}
	if len(o.todo) == 0 {
		return 0, s.cleanUp(ctx)
	}
	at := func(d delivery) int { return bucketOf(d.part, s.buckets) }
	slices.SortFunc(o.todo, func(a, b delivery) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), strings.Compare(a.part, b.part))
	})
	var b batch
	for _, d := range o.todo {
		if s.m.aside.waits(d.part) {
			continue
		}
		n++
		col, err := s.open(ctx, at(d))
		if err != nil {
			return n, err
		}
		if col.ID != b.col.ID {
			if err := s.flush(ctx, &b); err != nil {
				return n, err
			}
			b.col = col
		}
		if err := s.deliver(ctx, &b, d); err != nil {
			return n, err
		}
	}
	return n, s.flush(ctx, &b)
}

// deliver adds what is to be sent of a partition to the batch, which is sent when it is
// full.
func (s *session) deliver(ctx context.Context, b *batch, d delivery) error {
	empty := false
	if d.since == unsent {
		var err error
		if empty, err = s.empty(ctx, bucketOf(d.part, s.buckets), b.col); err != nil {
			return err
		}
	}
	var there map[string]bool // what the server may have and must not keep
	if d.gone || d.since < 0 && !empty {
		// What was moved to this partition from one before it in the batch is there first.
		err := s.flush(ctx, b)
		if err == nil {
			there, err = s.there(ctx, b.col, d.part)
		}
		if err != nil {
			return err
		}
	}
	var from place
	for more := !d.gone; more && !s.failed[d.part]; {
		var changes []change
		var err error
		changes, more, err = s.m.changes(ctx, s.o, d.part, d.since, &from)
		if errors.Is(err, store.ErrDamaged) {
			s.refuse(d.part, err)
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range changes {
			for i := range c.passages {
				delete(there, recordID(c.id, i))
			}
		}
		it := item{delivery: d, changes: changes, check: d.since >= 0, last: !more}
		if it.last {
			it.drop = keys(there)
		}
		if err := s.add(ctx, b, it); err != nil {
			return err
		}
	}
	if d.gone {
		return s.add(ctx, b, item{delivery: d, drop: keys(there), last: true})
	}
	return nil
}

// there lists the records that the server has of a partition.
func (s *session) there(ctx context.Context, col chroma.Collection, part string) (map[string]bool, error) {
	out := map[string]bool{}
	err := s.m.call(func() error {
		for page, err := range s.m.chroma.Pages(ctx, col.ID, chroma.GetQuery{Where: chroma.Equal("part", part), Limit: 10 * chroma.MaxBatch}) {
			if err != nil {
				return err
			}
			for _, r := range page {
				out[r.ID] = true
			}
		}
		return nil
	})
	if chroma.IsNotFound(err) {
		return nil, errAgain
	}
	return out, err
}

func keys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (s *session) add(ctx context.Context, b *batch, it item) error {
	b.items = append(b.items, it)
	b.size += len(it.drop)
	for _, c := range it.changes {
		b.size += max(1, len(c.passages))
	}
	if b.size < batchRecords {
		return nil
	}
	return s.flush(ctx, b)
}

// flush sends the batch and empties it.
func (s *session) flush(ctx context.Context, b *batch) error {
	items := b.items
	b.items, b.size = nil, 0
	if len(items) == 0 {
		return nil
	}
	return s.send(ctx, b.col, items)
}

// send sends items and records what they complete. What the server refuses is narrowed
// down to the partition that it refuses.
func (s *session) send(ctx context.Context, col chroma.Collection, items []item) error {
	err := s.m.call(func() error { return s.request(ctx, col, items) })
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
