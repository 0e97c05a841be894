package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/embedding/spaces"
	"reverie/store"
)

// lookEvery is how often a process looks for vectors that another one left pending. What
// is in use it sees at once, when it loads the partition.
const lookEvery = 30 * time.Minute

// fillBatch is how many pending memories are embedded at once.
const fillBatch = 16

// fillGiveUp is how many failures in a row end a round: fewer may be single texts that
// the model refuses, which must not keep the others waiting.
const fillGiveUp = 3

// background fills in pending vectors, writes times of last use, until Close.
func (s *Service) background() {
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	wait := s.newBackoff()
	retry := time.NewTimer(2 * time.Second) // what an earlier run left pending
	defer retry.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-s.done.Done():
			return
		case <-tick.C:
			if err := s.flushUsage(s.done); err != nil && s.done.Err() == nil {
				s.log.Warn("usage", "error", err)
			}
			continue
		case <-look.C:
			// What another process left, which may have ended, or have no embedder. While the
			// embedder fails, the retries are for that.
			if n, err := s.countPending(s.done); s.failing.Load() || err != nil || n == 0 {
				continue
			}
		case <-s.fill:
		case <-retry.C:
		}
		if err := s.fillPending(s.done); err != nil && !errors.Is(err, errNothing) && s.done.Err() == nil {
			d := wait.NextBackOff()
			s.log.Warn("pending vectors not filled in yet", "error", err, "retry_in", d.Round(time.Second))
			retry.Reset(d)
			s.failing.Store(true)
		} else {
			wait.Reset()
			s.failing.Store(false)
		}
	}
}

// countPending counts what waits in the serving space.
func (s *Service) countPending(ctx context.Context) (n int, err error) {
	err = s.db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT COUNT(*) FROM pending WHERE space = (SELECT space FROM serving WHERE one = 1)").Row().Scan(&n)
	})
	return n, err
}

func (s *Service) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 2*time.Second, 5*time.Minute
	return b
}

// wakeFill asks the worker to look for pending vectors.
func (s *Service) wakeFill() {
	select {
	case s.fill <- struct{}{}:
	default:
	}
}

// fillPending embeds the memories that wait for a vector in the serving space, oldest
// first, and returns the first failure. Single texts that the model refuses do not keep
// the others waiting. Another process may do the same at the same time; the results are
// equal.
func (s *Service) fillPending(ctx context.Context) error {
	var after int64
	var firstErr error
	for {
		var sv store.Serving
		var batch []record
		err := s.db.Read(ctx, func(g *gorm.DB) (err error) {
			if sv, err = store.ReadServing(g); err != nil {
				return err
			}
			batch, err = query(g, `JOIN pending p ON p.rid = m.rid WHERE p.space = ? AND p.rid > ? AND m.state = 'live' ORDER BY p.rid LIMIT ?`, sv.Space, after, fillBatch)
			return err
		})
		if err == nil && sv.Space == 0 {
			if err = s.begin(ctx, sv); err == nil {
				continue
			}
		}
		if err != nil || len(batch) == 0 {
			return errors.Join(firstErr, err)
		}
		cur, err := s.spaces.For(ctx, sv)
		if err != nil {
			return err
		}
		if cur.Embedder == nil {
			return errNoEmbedder{cur.Why}
		}
		after = batch[len(batch)-1].rid
		bad, err := s.fillAll(ctx, cur, batch)
		if err != nil {
			return err
		}
		firstErr = cmp.Or(firstErr, bad)
	}
}

// errNothing says that no space can serve yet, and nothing waits for it.
var errNothing = errors.New("nothing to do")

// begin gives a store that holds memories, and no space yet, that of the embedder.
func (s *Service) begin(ctx context.Context, sv store.Serving) error {
	var live int
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT COALESCE(SUM(live), 0) FROM partitions").Row().Scan(&live)
	})
	if err != nil {
		return err
	}
	if live == 0 || s.opts.WordsOnly {
		return errNothing
	}
	cur, err := s.spaces.For(ctx, sv)
	if err == nil && cur.Space == 0 {
		return errNoEmbedder{cur.Why}
	}
	return err
}

// fillAll embeds a batch. bad is the first error of a single text; err ends the round.
func (s *Service) fillAll(ctx context.Context, cur *spaces.Current, batch []record) (bad, err error) {
	contents := make([]string, len(batch))
	for i, r := range batch {
		contents[i] = r.Content
	}
	es, err := s.embedAll(ctx, cur, contents)
	var some *embedding.BatchError
	whole := err != nil && !errors.As(err, &some)
	failures := 0
	for i, r := range batch {
		err := err
		if whole { // which of them it was shows one by one
			es[i], err = s.embedOne(ctx, cur, r.Content)
		}
		if es[i].packed != nil {
			failures = 0
			if err := s.fillOne(ctx, r, es[i]); err != nil {
				return bad, fmt.Errorf("memory %s: %w", r.ID, err)
			}
			continue
		}
		bad = cmp.Or(bad, fmt.Errorf("memory %s: %w", r.ID, err))
		if failures++; whole && failures >= fillGiveUp || ctx.Err() != nil {
			return bad, bad
		}
	}
	return bad, nil
}

func (s *Service) fillOne(ctx context.Context, r record, e embedded) error {
	return s.write(ctx, r.Partition, func(tx *store.Tx) error {
		now, err := byID(tx.DB, r.Partition, r.ID)
		if err != nil {
			return err
		}
		sv, err := store.ReadServing(tx.DB)
		if err != nil {
			return err
		}
		if now.Content != r.Content || !now.Pending || now.State != Live || sv.Space != e.space {
			return store.ErrUnchanged // changed meanwhile; what it needs now waits in turn
		}
		// By the row as it is now: a restored backup may have given its number to another one.
		if err := setVector(tx, now.rid, e.space, e.packed); err != nil {
			return err
		}
		return tx.Exec("UPDATE memories SET rev = ? WHERE rid = ? AND part = ?", tx.Version, now.rid, r.Partition).Error
	})
}
