package mirror

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

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
	fill := d.since == unsent && s.fresh[bucketOf(d.part, s.buckets)]
	var there map[string]bool // what the server may have and must not keep
	if d.gone || d.since < 0 && !fill {
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
