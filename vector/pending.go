package vector

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
	"reverie/vector/index"
)

// fillBatch is how many pending memories are embedded between two looks at whether to stop.
const fillBatch = 16

// fillGiveUp is how many failures in a row end a round: fewer may be single texts that
// the model refuses, which must not keep the others waiting.
const fillGiveUp = 3

// pack quantises the passages of one memory into the stored form, nil for none.
func pack(p embedding.Passages) ([]byte, []index.Vec, error) {
	if len(p) == 0 {
		return nil, nil, nil
	}
	vecs := make([]index.Vec, len(p))
	for i, v := range p {
		q, err := index.Quantize(v)
		if err != nil {
			return nil, nil, err
		}
		vecs[i] = q
	}
	b, err := index.EncodeVecs(vecs)
	return b, vecs, err
}

// noMeaning is stored for a text in which the model finds nothing to embed (only
// punctuation, say), so that it is not taken for pending for ever.
var noMeaning = []byte{0}

// unpack reads what pack stored.
func unpack(b []byte) ([]index.Vec, error) {
	if bytes.Equal(b, noMeaning) {
		return nil, nil
	}
	return index.DecodeVecs(b)
}

// embedOne returns the stored form and the vectors of a content.
func (s *Service) embedOne(ctx context.Context, content string) ([]byte, []index.Vec, error) {
	if s.emb == nil {
		return nil, nil, nil
	}
	docs, err := s.emb.EmbedDocuments(ctx, []string{content})
	if err != nil {
		return nil, nil, err
	}
	if len(docs) != 1 {
		return nil, nil, fmt.Errorf("embedder returned %d results for 1 text", len(docs))
	}
	b, vecs, err := pack(docs[0])
	if err == nil && b == nil {
		b = noMeaning
	}
	return b, vecs, err
}

// background fills in pending vectors, writes times of last use, until Close.
func (s *Service) background() {
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	wait := s.newBackoff()
	retry := time.NewTimer(2 * time.Second) // what an earlier run or another process left pending
	defer retry.Stop()
	for {
		select {
		case <-s.done.Done():
			return
		case <-tick.C:
			if err := s.flushUsage(s.done); err != nil && s.done.Err() == nil {
				s.log.Warn("usage", "error", err)
			}
			continue
		case <-s.fill:
		case <-retry.C:
		}
		if err := s.fillPending(s.done); err != nil && s.done.Err() == nil {
			d := wait.NextBackOff()
			s.log.Warn("pending vectors not filled in yet", "error", err, "retry_in", d.Round(time.Second))
			retry.Reset(d)
		} else {
			wait.Reset()
		}
	}
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

// fillPending embeds the memories that wait for a vector in the active space, oldest
// first, and returns the first failure. Another process may do the same at the same time; the
// results are equal.
func (s *Service) fillPending(ctx context.Context) error {
	if s.emb == nil {
		return nil
	}
	var after int64
	failures := 0
	var firstErr error
	for {
		var batch []record
		err := s.db.Read(ctx, func(g *gorm.DB) error {
			var err error
			batch, err = query(g, s.space, `JOIN pending p ON p.rid = m.rid WHERE p.space = ? AND p.rid > ? ORDER BY p.rid LIMIT ?`, s.space, after, fillBatch)
			return err
		})
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			return firstErr
		}
		for _, r := range batch {
			after = r.rid
			switch err := s.fillOne(ctx, r); {
			case err == nil:
				failures = 0
			case failures+1 >= fillGiveUp || ctx.Err() != nil:
				return fmt.Errorf("memory %s: %w", r.ID, err)
			default:
				failures++
				firstErr = cmp.Or(firstErr, fmt.Errorf("memory %s: %w", r.ID, err))
			}
		}
	}
}

func (s *Service) fillOne(ctx context.Context, r record) error {
	emb, _, err := s.embedOne(ctx, r.Content)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, r.Partition, func(tx *store.Tx) error {
		now, err := byID(tx.DB, s.space, r.Partition, r.ID)
		if err != nil {
			return err
		}
		if now.Content != r.Content {
			return store.ErrUnchanged // changed while it was being embedded: its new content waits in turn
		}
		if err := setVector(tx, r.rid, s.space, emb); err != nil {
			return err
		}
		return tx.Exec("UPDATE memories SET rev = ? WHERE rid = ? AND part = ?", tx.Version, r.rid, r.Partition).Error
	})
}
