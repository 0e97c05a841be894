package spaces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
)

// Embedder turns text into vectors of one space. It must be safe for concurrent use.
//
// One whose model is elsewhere also has Probe, and its Space may be incomplete until a
// call of it has succeeded: then its vectors are compared with a canary before they are
// believed. The space of one without Probe is taken at its word.
type Embedder interface {
	// Space identifies the vectors; those of different spaces are never compared.
	Space() embedding.Space
	// EmbedQuery returns a unit vector, or nil if the text has no meaning to the model.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	// EmbedDocuments returns the passages of each text as unit vectors. With an
	// [*embedding.BatchError] the results of the texts that it does not name are good.
	EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Passages, error)
}

// prober is an [Embedder] that must ask before it knows its space.
type prober interface {
	Probe(ctx context.Context) (embedding.Space, error)
}

// Corpus is a body of texts that have vectors. Its methods may be called concurrently.
type Corpus interface {
	// Missing returns up to limit texts that have no vector in a space, in the order of
	// their numbers, beginning after one of them.
	Missing(ctx context.Context, space, after int64, limit int) ([]Text, error)
	// Store keeps the passages of texts, as far as these have not changed meanwhile.
	Store(ctx context.Context, space int64, texts []Text, docs []embedding.Passages) error
	// Count returns how many texts have a vector in a space, and how many there are.
	Count(g *gorm.DB, space int64) (have, total int, err error)
	// Switch notes inside the switching transaction that a space serves from now on:
	// texts without a vector in it wait for one.
	Switch(g *gorm.DB, space int64) error
	// Drop removes the vectors of a space that no longer serves, in small steps.
	Drop(ctx context.Context, space int64) error
	// Wake asks for the vectors that texts wait for to be filled in.
	Wake()
	// Fill fills them in, as far as the model takes them.
	Fill(ctx context.Context) error
}

// Text is one that is to be embedded.
type Text struct {
	ID      int64
	Content string
	Hash    []byte // tells whether it has changed when its vector is stored
}

// Policy says what a server does when stored vectors do not fit its embedder.
type Policy string

// The policies, as in EMBED_MISMATCH_POLICY.
const (
	Ask   Policy = "ask"   // keeps the data and says what to run, unless someone was asked
	Auto  Policy = "auto"  // embeds anew in the background
	Never Policy = "never" // only warns
)

// Defaults of [Options].
const (
	DefaultBatchSize = 64
	// DefaultPatience is how long a search or a write waits for a server's model to be
	// checked before it goes on without vectors.
	DefaultPatience = 3 * time.Second
)

// Options of [New]; the zero value is the default of every field.
type Options struct {
	// Old returns an embedder for a space of before, which serves until the store is
	// embedded anew. Default: none can be had, and such a store is searched by words.
	Old func(embedding.Space) (Embedder, error)
	// Trust takes the configured embedder at its word, without comparing canaries.
	Trust bool
	// Policy of [Manager.Start]; default [Ask].
	Policy Policy
	// Backup makes a backup before the store is embedded anew; default: none is made.
	Backup func(ctx context.Context, reason string) error
	// BatchSize is how many texts are embedded at once; default [DefaultBatchSize].
	BatchSize int
	// Patience bounds the check of a model within a search or a write; default [DefaultPatience].
	Patience time.Duration
	Logger   *slog.Logger // default: discard
}

// Manager finds the serving space and its embedder. It is safe for concurrent use; Close it.
type Manager struct {
	db     *store.DB
	target Embedder // the configured one; nil: none
	opts   Options
	log    *slog.Logger

	current atomic.Pointer[Current]
	resolve chan struct{} // a lock that can be waited for with a context
	olds    map[int64]Embedder
	sound   map[int64]verdict // what canaries said, by space

	waiting atomic.Pointer[waiting]

	mu      sync.Mutex // guards corpora, and the start of work after which Close waits
	corpora []Corpus

	done context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

// verdict is what comparing canaries said of an embedder for a space.
type verdict struct {
	why       string // why the embedder's vectors do not belong to the space; empty: they do
	unrelated float64
}

// Current is the space that serves, and who embeds for it.
type Current struct {
	store.Serving
	Embedder Embedder // nil if nobody can; then Why says so
	// Why says, for people, why there is no embedder and what to do.
	Why        string
	configured bool // Embedder is the configured one
	// Unrelated is the mean cosine of texts that have nothing to do with one another, 0
	// if it was not measured.
	Unrelated float64
}

// New returns a Manager for db. target is the configured embedder, nil for none. It asks
// no server; [Manager.Start] does, in the background.
func New(db *store.DB, target Embedder, o Options) *Manager {
	if o.Policy == "" {
		o.Policy = Ask
	}
	if o.BatchSize <= 0 {
		o.BatchSize = DefaultBatchSize
	}
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Manager{db: db, target: target, opts: o, log: o.Logger, resolve: make(chan struct{}, 1), olds: map[int64]Embedder{}, sound: map[int64]verdict{}}
	m.done, m.stop = context.WithCancel(context.Background())
	return m
}

// Register adds a body of texts that moves along when the store changes its space.
func (m *Manager) Register(c Corpus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.corpora = append(m.corpora, c)
}

func (m *Manager) registered() []Corpus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.corpora[:len(m.corpora):len(m.corpora)]
}

// Close ends the background work, and closes the embedders of before that [Options].Old
// made. The configured one is its maker's to close. It is idempotent.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.stop()
	m.mu.Unlock()
	m.work.Wait()
	if err := m.lock(context.Background()); err != nil {
		return err
	}
	defer m.unlock()
	var errs []error
	for id, e := range m.olds {
		if c, ok := e.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
		delete(m.olds, id)
	}
	return errors.Join(errs...)
}

// Target is the configured embedder, nil if there is none.
func (m *Manager) Target() Embedder { return m.target }

// For returns who embeds for the space that sv names, which was just read. A store
// without a space gets that of the configured embedder. The first call for a space whose
// model is elsewhere asks the server, for no longer than the patience; while the server
// does not answer there is no embedder, and it is waited for in the background. The error
// is that of the store or the context.
func (m *Manager) For(ctx context.Context, sv store.Serving) (*Current, error) {
	if c := m.current.Load(); c != nil && c.Serving == sv {
		return c, nil
	}
	if m.waitsFor(sv) {
		return m.unanswered(sv), nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.opts.Patience)
	defer cancel()
	c, err := m.find(ctx, sv)
	if errors.Is(err, context.DeadlineExceeded) {
		m.waitOn(sv)
		return m.unanswered(sv), nil
	}
	return c, err
}

func (m *Manager) targetLabel() string {
	if m.target == nil {
		return "(none)"
	}
	return Label(m.target.Space())
}

// Serving reads which space serves, and returns who embeds for it, as [Manager.For].
func (m *Manager) Serving(ctx context.Context) (*Current, error) {
	sv, err := m.readServing(ctx)
	if err != nil {
		return nil, err
	}
	return m.For(ctx, sv)
}

func (m *Manager) readServing(ctx context.Context) (sv store.Serving, err error) {
	err = m.db.Read(ctx, func(g *gorm.DB) error {
		sv, err = store.ReadServing(g)
		return err
	})
	return sv, err
}

// forget makes the next call of For look again.
func (m *Manager) forget() { m.current.Store(nil) }

// lock waits for its turn to resolve: one call asks the server, the others get its answer.
func (m *Manager) lock(ctx context.Context) error {
	select {
	case m.resolve <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Manager) unlock() { <-m.resolve }

// find resolves sv under the lock.
func (m *Manager) find(ctx context.Context, sv store.Serving) (*Current, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.unlock()
	if c := m.current.Load(); c != nil && c.Serving == sv {
		return c, nil
	}
	if sv.Space == 0 {
		return m.first(ctx, sv)
	}
	return m.known(ctx, sv)
}

// first gives a store without a space that of the configured embedder.
func (m *Manager) first(ctx context.Context, sv store.Serving) (*Current, error) {
	if m.target == nil {
		return &Current{Serving: sv, Why: "no embedder is configured: found by words only"}, nil
	}
	sp, canary, err := m.measure(ctx, m.target)
	if err != nil {
		if cerr := context.Cause(ctx); cerr != nil {
			return nil, cerr
		}
		return &Current{Serving: sv, Why: failing(m.target, err)}, nil
	}
	// Of several processes that begin at once, the first registers the space for all.
	err = m.db.Exclusive(ctx, func(g *gorm.DB) error {
		now, err := store.ReadServing(g)
		if err != nil || now.Space != 0 {
			return err
		}
		_, err = m.enter(g, sp, canary)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("register embedding space: %w", err)
	}
	if sv, err = m.readServing(ctx); err != nil || sv.Space == 0 {
		return nil, err
	}
	return m.known(ctx, sv)
}

// enter makes a space the serving one in a transaction that has the store for itself.
func (m *Manager) enter(g *gorm.DB, sp embedding.Space, canary Canary) (int64, error) {
	rows, err := readRows(g)
	if err != nil {
		return 0, err
	}
	var id int64
	for _, r := range rows {
		if r.Fingerprint() == sp.Fingerprint() && r.Dim == sp.Dim && r.Version == sp.Version {
			id = r.id
		}
	}
	if id == 0 {
		if id, err = insertRow(g, sp, active); err != nil {
			return 0, err
		}
	}
	if canary != nil {
		if err := writeCanary(g, id, canary); err != nil {
			return 0, err
		}
	}
	return id, m.switchTo(g, id)
}

// switchTo is the switch itself: from the end of the transaction on, another space serves.
func (m *Manager) switchTo(g *gorm.DB, id int64) error {
	if err := g.Exec("UPDATE spaces SET state = ? WHERE state = ?", old, active).Error; err != nil {
		return err
	}
	if err := setState(g, id, active); err != nil {
		return err
	}
	for _, c := range m.registered() {
		if err := c.Switch(g, id); err != nil {
			return err
		}
	}
	return store.Serve(g, id)
}

// known finds who embeds for a space that the store has.
func (m *Manager) known(ctx context.Context, sv store.Serving) (*Current, error) {
	var r row
	var ok bool
	err := m.db.Read(ctx, func(g *gorm.DB) (err error) {
		r, ok, err = rowByID(g, sv.Space)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, store.NoSpace(sv.Space)
	}
	if m.target != nil && sameName(known(m.target, r.Space), r.Space) {
		return m.judge(ctx, sv, r, m.target, true)
	}
	mismatch := fmt.Sprintf("the stored vectors are of %s, no embedder is configured", Label(r.Space))
	if m.target != nil {
		mismatch = differ(r.Space, m.target.Space())
	}
	e := m.olds[r.id]
	if e == nil && m.opts.Old != nil {
		if e, err = m.opts.Old(r.Space); err != nil {
			m.log.Debug("no embedder for the space of before", "error", err)
			e = nil
		}
	}
	if e != nil && m.olds[r.id] == nil && !sameName(known(e, r.Space), r.Space) {
		if c, ok := e.(io.Closer); ok {
			c.Close()
		}
		e = nil
	}
	if e == nil {
		return m.keep(&Current{Serving: sv, Why: mismatch + ": found by words only until the memories are embedded anew; run: reverie reindex"}), nil
	}
	m.olds[r.id] = e
	return m.judge(ctx, sv, r, e, false)
}

// known is what an embedder's space is for the comparison with a stored one: a name that
// it has yet to ask for is taken to be the stored one, until the canary says otherwise.
func known(e Embedder, stored embedding.Space) embedding.Space {
	sp := e.Space()
	if sp.Model == "" {
		sp.Model, sp.Version = stored.Model, stored.Version
	}
	return sp
}

func (m *Manager) keep(c *Current) *Current {
	m.current.Store(c)
	return c
}
