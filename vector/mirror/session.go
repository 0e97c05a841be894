package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/vector/chroma"
)

// session is the work of one holder of the lease on one serving space. It is for one
// goroutine.
type session struct {
	m     *Mirror
	lease *store.Lease
	owner string
	o     outlook // as last read
	plan
	// fresh says of a bucket that it held nothing when this session came, and nothing
	// went wrong since.
	fresh  map[int]bool
	failed map[string]bool // partitions refused in this pass
	// uncertain says that a request was given up whose outcome is not known.
	uncertain bool
	progress  func(memories int)
}

// errAgain ends a session whose view of the world has become untrue.
var errAgain = errors.New("the collections changed")

// maxAgain bounds how often a session begins again at once.
const maxAgain = 5

// underLease runs fn in a session, which begins again if it must. If another process has
// the lease the error is a [*store.HeldError], unless wait is given: then it is called
// with that and another try follows.
func (m *Mirror) underLease(ctx context.Context, wait func(*store.HeldError), fn func(context.Context, *session) error) error {
	var lease *store.Lease
	for {
		var err error
		lease, err = m.db.Lease(ctx, leaseName, m.opts.LeaseTTL)
		if err == nil {
			break
		}
		var held *store.HeldError
		if wait == nil || !errors.As(err, &held) {
			return err
		}
		wait(held)
		if m.sleep(ctx, leaseRetry, false); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	s := &session{m: m, lease: lease, progress: func(int) {}}
	defer func() {
		// A request that the server may still be working on must not arrive after those of
		// the next process: that one has to wait until the lease runs out.
		if !s.uncertain || ctx.Err() == nil {
			lease.Release()
		}
	}()
	err := fn(lease.Context(), s)
	if err != nil && ctx.Err() == nil && lease.Context().Err() != nil {
		return context.Cause(lease.Context())
	}
	return err
}

// leaseRetry is how often one who waits for the lease asks for it.
const leaseRetry = 200 * time.Millisecond

// run begins a session and calls fn, again if the collections changed under it.
func (s *session) run(ctx context.Context, fn func() error) error {
	var err error
	for range maxAgain {
		if err = s.begin(ctx); err == nil {
			err = fn()
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		s.m.forget()
	}
	return err
}

// begin looks at the server and puts in order what is not as it should be: collections
// that do not fit are deleted, and what was in those, or in lost ones, counts as unsent.
func (s *session) begin(ctx context.Context) error {
	m := s.m
	var err error
	if s.owner, err = m.owner(ctx); err != nil {
		return err
	}
	if s.o, err = m.look(ctx); err != nil {
		return err
	}
	if s.o.Space == 0 {
		return nil
	}
	if err := m.call(func() error { return m.chroma.EnsureDatabase(ctx) }); err != nil {
		return err
	}
	if s.plan, err = m.survey(ctx, s.o); err != nil {
		return err
	}
	s.fresh = map[int]bool{}
	for _, c := range s.bad {
		m.log.Warn("a collection of the mirror is not what it should be and is made anew", "collection", c.Name)
		if err := m.call(func() error { return m.chroma.DeleteCollection(ctx, c.Name) }); err != nil {
			return err
		}
	}
	if len(s.lost) > 0 {
		m.log.Warn("collections of the mirror are not there and are filled anew", "partitions", len(s.lost))
	}
	if s.sound() {
		return nil
	}
	return s.maintain(ctx, func(g *gorm.DB) error {
		for chunk := range slices.Chunk(s.lost, 200) {
			if err := g.Exec("DELETE FROM outbox WHERE space = ? AND part IN ?", s.o.Space, chunk).Error; err != nil {
				return err
			}
		}
		if !s.reset {
			return nil
		}
		if err := g.Exec("UPDATE outbox SET version = ? WHERE space = ? AND part <> ?", unknown, s.o.Space, generationRow).Error; err != nil {
			return err
		}
		return put(g, s.o.Space, generationRow, s.o.Generation)
	})
}

// maintain runs fn in a transaction that changes nothing if the lease was lost.
func (s *session) maintain(ctx context.Context, fn func(*gorm.DB) error) error {
	return s.m.db.Maintain(ctx, func(g *gorm.DB) error {
		switch mine, err := s.lease.Mine(g); {
		case err != nil:
			return err
		case !mine:
			return store.ErrLeaseLost
		}
		return fn(g)
	})
}

func put(g *gorm.DB, space int64, part string, version int64) error {
	return g.Exec(`INSERT INTO outbox (space, part, version) VALUES (?, ?, ?)
		ON CONFLICT (space, part) DO UPDATE SET version = excluded.version`, space, part, version).Error
}

// open returns the collection of a bucket, made if it is missing.
func (s *session) open(ctx context.Context, bucket int) (chroma.Collection, error) {
	if c, ok := s.cols[bucket]; ok {
		return c, nil
	}
	m := s.m
	var c chroma.Collection
	err := m.call(func() (err error) {
		name, meta := m.name(s.o.Space, bucket), m.metadata(s.o, s.owner, bucket, s.buckets)
		c, err = m.chroma.Ensure(ctx, name, meta, s.o.dim)
		return err
	})
	if isMismatch(err) {
		return c, errAgain // made by another hand since the survey
	}
	if err != nil {
		return c, err
	}
	s.cols[bucket], s.fresh[bucket] = c, true
	m.saw(&s.layout)
	return c, nil
}

// cleanUp deletes the collections of spaces that serve no more, once this one is complete.
func (s *session) cleanUp(ctx context.Context) error {
	m := s.m
	for _, name := range s.others {
		if err := m.call(func() error { return m.chroma.DeleteCollection(ctx, name) }); err != nil {
			return fmt.Errorf("clean up after a switch of spaces: %w", err)
		}
	}
	s.others = nil
	if !s.o.others {
		return nil
	}
	s.o.others = false
	return s.maintain(ctx, func(g *gorm.DB) error {
		return g.Exec("DELETE FROM outbox WHERE space <> ?", s.o.Space).Error
	})
}
