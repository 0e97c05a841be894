package vector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// usageEvery is how often times of last use are written. They matter for expiry, which
// counts days, so losing the last minute of them in a crash is harmless.
const usageEvery = time.Minute

// usage collects when memories were last returned by a search, so that reads stay reads.
type usage struct {
	mu sync.Mutex
	at map[string]time.Time // by id
}

func (u *usage) mark(hits []Hit, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[string]time.Time{}
	}
	for _, h := range hits {
		u.at[h.ID] = now
	}
}

func (u *usage) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.at
	u.at = nil
	return at
}

// flushUsage writes the collected times, 400 memories a statement.
func (s *Service) flushUsage(ctx context.Context) error {
	at := s.used.take()
	byTime := map[int64][]string{}
	for id, t := range at {
		// To the minute: one statement then serves many memories.
		us := t.Truncate(usageEvery).UnixMicro()
		byTime[us] = append(byTime[us], id)
	}
	for us, ids := range byTime {
		for chunk := range slices.Chunk(ids, 400) {
			if err := s.db.Exec(ctx, "UPDATE memories SET used_at = ? WHERE used_at < ? AND id IN ?", us, us, chunk); err != nil {
				return fmt.Errorf("store times of last use: %w", err)
			}
		}
	}
	return nil
}
