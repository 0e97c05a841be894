package vector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/internal/gloss"
	"reverie/internal/lexical"
	"reverie/store"
)

// Embedder turns text into vectors of one space. It must be safe for concurrent use.
type Embedder = spaces.Embedder

// languageJudge is what an [Embedder] may offer besides: whether the model knows the
// language of a text well enough for its vectors to be trusted.
type languageJudge interface{ Understands(text string) bool }

// warmer is what an [Embedder] may offer besides: loading ahead of first use.
type warmer interface {
	Warm(ctx context.Context) error
}

// Defaults of [Options].
const (
	DefaultMaxMemories = 50        // live memories a partition may hold
	DefaultCacheBytes  = 256 << 20 // enough for all partitions in use of a busy server
)

// Options of [New]; the zero value is the default of every field.
type Options struct {
	Limit      int           // live memories a partition may hold; default DefaultMaxMemories
	CacheBytes int64         // budget of the in-memory indexes; default DefaultCacheBytes
	ArchiveLow time.Duration // age since last use after which low importance is archived; 0 never
	ArchiveMid time.Duration // the same for medium importance
	DenyGroups bool          // no user memory is ever returned in a group
	// Clean prepares text for storage (secrets, control characters, recalled text) and
	// says what it changed. Default: text is stored as it is.
	Clean func(text string) (clean string, notices []string, err error)
	// Spaces finds who embeds. Default: one that knows only the embedder given to New; a
	// store whose vectors are of another space is then searched by words.
	Spaces *spaces.Manager
	// WordsOnly says that there is to be no embedder: writes then say nothing of it.
	WordsOnly bool
	// Changed is called after every change that was stored; it must not block. Default: nothing.
	Changed func()
	// Source names this program's way of writing in the journal; default "tool".
	Source string
	Logger *slog.Logger // default: discard
}

// Service reads and writes memories. It is safe for concurrent use; Close it.
type Service struct {
	db     *store.DB
	spaces *spaces.Manager
	own    bool // spaces was made here
	opts   Options
	log    *slog.Logger
	words  *lexical.Analyzer
	parts  *partitions
	used   usage
	swept  sweeps

	stop    context.CancelFunc
	done    context.Context
	work    sync.WaitGroup
	failing atomic.Bool   // the embedder, when vectors were last to be filled in
	fill    chan struct{} // wakes the worker that fills in pending vectors
}

// New returns a Service on db. emb may be nil: then search is by words only and says so,
// unless Options have Spaces, which then counts instead of emb.
// Background work (pending vectors, usage times) ends with Close.
func New(ctx context.Context, db *store.DB, emb Embedder, o Options) (*Service, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultMaxMemories
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.Clean == nil {
		o.Clean = func(s string) (string, []string, error) { return s, nil, nil }
	}
	if o.Source == "" {
		o.Source = "tool"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{db: db, spaces: o.Spaces, opts: o, log: o.Logger, fill: make(chan struct{}, 1)}
	s.words = lexical.New(gloss.Default())
	s.parts = newPartitions(o.CacheBytes)
	if s.spaces == nil {
		s.spaces, s.own = spaces.New(db, emb, spaces.Options{Logger: o.Logger}), true
		s.opts.WordsOnly = emb == nil
	}
	s.spaces.Register(corpus{s})
	if err := s.spaces.Settle(ctx); err != nil {
		return nil, fmt.Errorf("embedding space: %w", err)
	}
	s.done, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.work.Go(s.background)
	return s, nil
}

// Close stops the background work, writes what is still in memory (times of last use),
// and waits. The database stays open. It is idempotent.
func (s *Service) Close() error {
	s.stop()
	s.work.Wait()
	err := s.flushUsage(context.Background())
	if s.own {
		err = errors.Join(err, s.spaces.Close())
	}
	return err
}

// Warm loads the embedder and the partitions of the caller, so that the first search
// finds them ready. It returns at once and works in the background until Close.
func (s *Service) Warm(c caller.Caller) {
	s.work.Go(func() {
		if w, ok := s.spaces.Target().(warmer); ok {
			if err := w.Warm(s.done); err != nil && s.done.Err() == nil {
				s.log.Warn("load the embedder ahead of use", "error", err)
			}
		}
		for _, scope := range []caller.Scope{caller.ScopeUser, caller.ScopeGroup} {
			if part, err := c.Partition(scope); err == nil {
				err := s.inOneSpace(s.done, part, func(cur *spaces.Current) error {
					_, err := s.partition(s.done, part, cur)
					return err
				})
				if err != nil && s.done.Err() == nil {
					s.log.Warn("load partition ahead of use", "error", err)
				}
			}
		}
	})
}

// write is [store.DB.Write], and tells whoever wants to know.
func (s *Service) write(ctx context.Context, part string, fn func(*store.Tx) error) error {
	err := s.db.Write(ctx, part, fn)
	if err == nil && s.opts.Changed != nil {
		s.opts.Changed()
	}
	return err
}

// Limit is how many live memories a partition may hold.
func (s *Service) Limit() int { return s.opts.Limit }

// open resolves a scope to the partition that the caller may use for reading or adding.
func (s *Service) open(c caller.Caller, scope caller.Scope) (caller.Scope, string, error) {
	if scope == "" {
		scope = caller.ScopeUser
	}
	part, err := c.Partition(scope)
	if err != nil {
		return "", "", err
	}
	if s.opts.DenyGroups && c.InGroup() && scope == caller.ScopeUser {
		return "", "", fmt.Errorf("%w: this server keeps personal memories out of groups; use scope \"group\", or ask in a private chat", ErrDenied)
	}
	return scope, part, nil
}

// openToRewrite is open for changing or deleting what stands there.
func (s *Service) openToRewrite(c caller.Caller, scope caller.Scope) (caller.Scope, string, error) {
	scope, part, err := s.open(c, scope)
	if err != nil {
		return "", "", err
	}
	return scope, part, c.MayRewrite(scope)
}
