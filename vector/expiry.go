package vector

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"reverie/journal"
	"reverie/store"
)

const (
	// sweepEvery is how often a partition in use is looked through for what has expired:
	// ages are counted in days.
	sweepEvery = 10 * time.Minute
	// expireAtOnce bounds the memories archived in one transaction, so that writers of
	// other processes do not wait long; the next sweep takes the rest.
	expireAtOnce = 500
)

// sweeps remembers when each partition was last looked through.
type sweeps struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due reports whether key is to be swept at now, and takes note of it.
func (w *sweeps) due(key string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.at[key]; ok && now.Sub(last) < sweepEvery {
		return false
	}
	if w.at == nil || len(w.at) >= 1<<16 {
		w.at = map[string]time.Time{} // forgetting costs a sweep more, growing without end costs memory
	}
	w.at[key] = now
	return true
}

// expires reports whether anything ever expires.
func (s *Service) expires() bool { return s.opts.ArchiveLow > 0 || s.opts.ArchiveMid > 0 }

// sweep archives what has expired in a partition, at most every sweepEvery.
func (s *Service) sweep(ctx context.Context, part string) error {
	if !s.expires() || !s.swept.due(part, time.Now()) {
		return nil
	}
	var n int
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		rs, err := s.expired(g, part, time.Now())
		n = len(rs)
		return err
	})
	if err != nil || n == 0 {
		return err
	}
	err = s.write(ctx, part, func(tx *store.Tx) error { return s.expire(tx, part) })
	if err != nil {
		return fmt.Errorf("archive expired memories: %w", err)
	}
	return nil
}

// expire archives inside a transaction: hidden, never deleted, restorable. A write does
// so before it counts, so that what has expired takes no room.
func (s *Service) expire(tx *store.Tx, part string) error {
	if !s.expires() {
		return nil
	}
	rs, err := s.expired(tx.DB, part, tx.Now)
	if err != nil {
		return err
	}
	for _, old := range rs {
		next := old
		next.State, next.ArchivedAt = Archived, tx.Now
		if err := s.change(tx, journal.Origin{Source: "expiry"}, journal.Archive, old, next); err != nil {
			return err
		}
	}
	return nil
}

// expired returns live memories of low and medium importance that nobody has used or
// changed for their time. High importance never expires.
func (s *Service) expired(g *gorm.DB, part string, now time.Time) ([]record, error) {
	before := func(age time.Duration) int64 {
		if age <= 0 {
			return 0 // no time is before 0
		}
		return now.Add(-age).UnixMicro()
	}
	return query(g, `WHERE m.part = ? AND m.state = 'live'
		AND CASE WHEN m.used_at > m.updated_at THEN m.used_at ELSE m.updated_at END < CASE m.importance WHEN 'low' THEN ? WHEN 'medium' THEN ? ELSE 0 END LIMIT ?`,
		part, before(s.opts.ArchiveLow), before(s.opts.ArchiveMid), expireAtOnce)
}
