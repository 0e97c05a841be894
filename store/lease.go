package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"gorm.io/gorm"
)

// DefaultLeaseTTL is how long a lease outlives a holder that died: long enough for a
// process that the machine has put to sleep for a moment, short enough to wait for.
const DefaultLeaseTTL = 30 * time.Second

// HeldError says that another process does the work already.
type HeldError struct {
	Name   string    // of the lease
	Holder string    // host and process id
	Note   string    // what the holder says of its progress
	Until  time.Time // when the lease ends unless it is renewed
}

func (e *HeldError) Error() string {
	s := fmt.Sprintf("another process (%s) is doing this already", e.Holder)
	if e.Note != "" {
		s += ": " + e.Note
	}
	return s
}

// Lease is the right to do a work that one process at a time may do. It is renewed in
// the background until [Lease.Release], and safe for concurrent use.
type Lease struct {
	db     *DB
	name   string
	holder string
	ttl    time.Duration

	mu   sync.Mutex
	note string

	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
}

// ErrLeaseLost is the cause of a [Lease.Context] whose lease could not be renewed.
var ErrLeaseLost = errors.New("the lease was lost to another process or could not be renewed in time")

// Lease takes the lease of a name, for ttl (0: [DefaultLeaseTTL]) beyond its last
// renewal. If another process has it the error is a [*HeldError].
func (d *DB) Lease(ctx context.Context, name string, ttl time.Duration) (*Lease, error) {
	if ttl <= 0 {
		ttl = DefaultLeaseTTL
	}
	l := &Lease{db: d, name: name, holder: holderName(), ttl: ttl}
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.work.Go(l.renew)
	return l, nil
}

// Held returns who has the lease of a name, nil if nobody.
func (d *DB) Held(ctx context.Context, name string) (*HeldError, error) {
	var h *HeldError
	err := d.Read(ctx, func(g *gorm.DB) error {
		var err error
		h, err = d.holds(g, name)
		return err
	})
	if h != nil && goneHere(h.Holder) {
		return nil, err // its lease ends, or is taken, by itself
	}
	return h, err
}

// holderName names this process, and this lease of it, for people and for comparison.
func holderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	var b [4]byte
	rand.Read(b[:])
	return fmt.Sprintf("process %d on %s, %s", os.Getpid(), host, hex.EncodeToString(b[:]))
}

// holds returns who has a lease that has not ended, nil if nobody.
func (d *DB) holds(g *gorm.DB, name string) (*HeldError, error) {
	h := HeldError{Name: name}
	var until int64
	err := g.Raw("SELECT holder, note, expires_at FROM leases WHERE name = ?", name).Row().Scan(&h.Holder, &h.Note, &until)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now, err := d.eng.clock(g)
	left := time.UnixMicro(until).Sub(now)
	if err != nil || left <= 0 {
		return nil, err
	}
	h.Until = time.Now().Add(left) // by the clock of this host
	return &h, nil
}

func (l *Lease) take(ctx context.Context) error {
	return l.db.Maintain(ctx, func(g *gorm.DB) error {
		now, err := l.db.eng.clock(g)
		if err != nil {
			return err
		}
		if h, err := l.db.holds(g, l.name); err != nil {
			return err
		} else if h != nil && goneHere(h.Holder) {
			if err := g.Exec("DELETE FROM leases WHERE name = ? AND holder = ?", l.name, h.Holder).Error; err != nil {
				return err
			}
		}
		// One statement, for which others wait: what was read before may be past.
		res := g.Exec(`INSERT INTO leases (name, holder, note, expires_at) VALUES (?, ?, '', ?)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, note = '', expires_at = excluded.expires_at
			WHERE leases.expires_at <= ?`, l.name, l.holder, now.Add(l.ttl).UnixMicro(), now.UnixMicro())
		if res.Error != nil || res.RowsAffected == 1 {
			return res.Error
		}
		h, err := l.db.holds(g, l.name)
		switch {
		case err != nil:
			return err
		case h == nil: // it ended in this moment
			h = &HeldError{Name: l.name, Holder: "another process", Until: time.Now()}
		}
		return h
	})
}

// renew prolongs the lease three times in its life, until it is released or lost.
func (l *Lease) renew() {
	tick := time.NewTicker(l.ttl / 3)
	defer tick.Stop()
	until := time.Now().Add(l.ttl)
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		mine, err := l.prolong()
		switch {
		case err == nil && !mine, err != nil && time.Now().After(until):
			l.cancel(ErrLeaseLost)
			return
		case err == nil:
			until = time.Now().Add(l.ttl)
		}
	}
}

func (l *Lease) prolong() (mine bool, err error) {
	l.mu.Lock()
	note := l.note
	l.mu.Unlock()
	err = l.db.Maintain(l.ctx, func(g *gorm.DB) error {
		now, err := l.db.eng.clock(g)
		if err != nil {
			return err
		}
		res := g.Exec("UPDATE leases SET note = ?, expires_at = ? WHERE name = ? AND holder = ?", note, now.Add(l.ttl).UnixMicro(), l.name, l.holder)
		mine = res.RowsAffected == 1
		return res.Error
	})
	return mine, err
}

// Context ends when the lease is lost ([ErrLeaseLost]), released, or when the context of
// [DB.Lease] ends. Work under the lease uses it.
func (l *Lease) Context() context.Context { return l.ctx }

// Note says how far the work is; others read it with the next renewal.
func (l *Lease) Note(note string) {
	l.mu.Lock()
	l.note = note
	l.mu.Unlock()
}

// Mine reports, inside a transaction of change, whether the lease is still held; nobody
// takes it until that transaction ends.
func (l *Lease) Mine(g *gorm.DB) (bool, error) {
	err := g.Raw("SELECT 1 FROM leases WHERE name = ? AND holder = ?"+l.db.eng.hold(), l.name, l.holder).Row().Scan(new(int))
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Release gives the lease back. It is idempotent.
func (l *Lease) Release() error {
	l.cancel(nil)
	l.work.Wait()
	return l.db.Exec(context.WithoutCancel(l.ctx), "DELETE FROM leases WHERE name = ? AND holder = ?", l.name, l.holder)
}
