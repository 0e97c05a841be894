package mirror

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"reverie/store"
	"reverie/vector/chroma"
)

// Defaults of [Options].
const (
	DefaultName    = "reverie"
	DefaultBuckets = 64               // enough for a million memories at 3 ms a query
	DefaultPoll    = 3 * time.Second  // how late the writes of another process may be noticed
	DefaultLinger  = 2 * time.Second  // a lease kept over a burst of writes costs nothing
	DefaultCheck   = time.Minute      // how late a collection deleted by hand may be noticed
	DefaultRefused = 30 * time.Second // a refused write is rarely accepted sooner
	DefaultPause   = 5 * time.Second  // of an absent server; its restart takes less
)

// Bounds of waiting.
const (
	maxRefused = 15 * time.Minute
	maxRetry   = 15 * time.Second
	// maxHold is how long one process delivers under steady writes before another one,
	// such as an operator's command, may have a turn.
	maxHold = 20 * time.Second
)

// leaseName is the lease of whoever delivers.
const leaseName = "mirror"

// Options of [New]; the zero value is the default of every field.
type Options struct {
	Name    string // first part of the names of collections; default [DefaultName]
	Buckets int    // collections for new spaces and after a rebuild; default [DefaultBuckets]
	// Documents sends the texts of memories too. The server then holds them in clear.
	Documents bool
	Poll      time.Duration // between looks for work; default [DefaultPoll]
	Linger    time.Duration // how long the lease is kept after the last work; default [DefaultLinger]
	Check     time.Duration // between looks at the collections; default [DefaultCheck]
	Refused   time.Duration // first wait for a partition that was refused, doubled each time; default [DefaultRefused]
	Pause     time.Duration // how long a server that does not answer is left alone; default [DefaultPause]
	// LeaseTTL is how soon others take over from a process that died, not sooner than the
	// server is done with its last request; default [store.DefaultLeaseTTL].
	LeaseTTL time.Duration
	Logger   *slog.Logger // default: discard
}

func (o *Options) defaults() {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Buckets <= 0 {
		o.Buckets = DefaultBuckets
	}
	for at, def := range map[*time.Duration]time.Duration{
		&o.Poll: DefaultPoll, &o.Linger: DefaultLinger, &o.Check: DefaultCheck, &o.Refused: DefaultRefused, &o.Pause: DefaultPause, &o.LeaseTTL: store.DefaultLeaseTTL,
	} {
		if *at <= 0 {
			*at = def
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

var (
	// ErrDown means that the server does not answer and is left alone for a moment.
	ErrDown = errors.New("the Chroma server does not answer")
	// ErrBehind means that the mirror does not have everything of a partition yet.
	ErrBehind = errors.New("the mirror is not up to date")
	// ErrForeign means that the collections belong to another home.
	ErrForeign = errors.New("collections of another home")
)

// Mirror copies the vectors of a store to a Chroma server. It is safe for concurrent
// use. Close it.
type Mirror struct {
	db      *store.DB
	chroma  *chroma.Client
	opts    Options
	log     *slog.Logger
	breaker *gobreaker.CircuitBreaker[struct{}]
	wake    chan struct{}
	aside   aside

	done context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	work    sync.WaitGroup
	layout  *layout   // as last seen
	checked time.Time // when that was
	down    time.Time // since when the server is away, zero if it is not
	lastErr error     // of the last try to deliver, nil after a success

	published string // what other processes were told last
}

// New returns a mirror of db on the database of a client. It does no I/O; see [Mirror.Run].
func New(db *store.DB, c *chroma.Client, o Options) *Mirror {
	o.defaults()
	m := &Mirror{db: db, chroma: c, opts: o, log: o.Logger, wake: make(chan struct{}, 1)}
	m.aside.first, m.aside.most = o.Refused, maxRefused
	m.done, m.stop = context.WithCancel(context.Background())
	m.breaker = m.newBreaker()
	return m
}

// Wake says that something was written, so that it is delivered at once and not at the
// next look. It never blocks.
func (m *Mirror) Wake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends or the mirror is closed. It is called once; other methods
// work without it.
func (m *Mirror) Run(ctx context.Context) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.work.Add(1)
	m.mu.Unlock()
	defer m.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.done, cancel)()

	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval = m.opts.Pause/10, max(m.opts.Pause, maxRetry)
	for ctx.Err() == nil {
		err := m.turn(ctx)
		if ctx.Err() != nil {
			return
		}
		var held *store.HeldError
		switch {
		case err == nil:
			retry.Reset()
			m.sleep(ctx, m.opts.Poll, true)
		case errors.As(err, &held): // another process does the work
			m.sleep(ctx, m.opts.Poll, false)
		default:
			wait := retry.NextBackOff()
			m.log.Warn("vectors not delivered to the Chroma server yet", "error", err, "retry_in", wait.Round(time.Millisecond))
			m.sleep(ctx, wait, false)
		}
	}
}

// Close ends Run and waits for it. It is idempotent. The database and the client stay open.
func (m *Mirror) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.work.Wait()
	return nil
}

// sleep waits, at most until it is woken if that is allowed.
func (m *Mirror) sleep(ctx context.Context, d time.Duration, mayWake bool) (woken bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	wake := m.wake
	if !mayWake {
		wake = nil
	}
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-wake:
		return true
	}
	return false
}

// turn looks whether there is anything to do, and if so does it under the lease.
func (m *Mirror) turn(ctx context.Context) error {
	o, err := m.look(ctx)
	if err != nil || o.Space == 0 {
		return err
	}
	if !o.due(&m.aside) {
		if time.Since(m.lastCheck()) < m.opts.Check {
			return nil
		}
		p, err := m.survey(ctx, o)
		if err != nil || p.sound() && len(p.others) == 0 {
			return m.note(err)
		}
	}
	err = m.underLease(ctx, nil, func(ctx context.Context, s *session) error {
		return s.run(ctx, func() error { return s.deliverAll(ctx, true) })
	})
	var held *store.HeldError
	if errors.As(err, &held) {
		return err
	}
	return m.note(err)
}

// note remembers how the last try went, for the status, and tells other processes.
func (m *Mirror) note(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	m.mu.Lock()
	m.lastErr = err
	m.mu.Unlock()
	m.publish(m.done)
	return err
}

func (m *Mirror) lastCheck() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.checked
}
