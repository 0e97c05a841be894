package embedding

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// Defaults of [RemoteOptions].
const (
	DefaultTimeout   = 30 * time.Second // a server may have to load the model first
	DefaultBatchSize = 64               // more gains nothing and makes failures larger

	leastQueryTimeout = 2 * time.Second
	maxDimensions     = 16_384
)

// RemoteOptions configure a [Remote]. The zero value uses a model that the
// server of the protocol's usual address has.
//
// Prefixes are used literally, so "" is none; set them to [Auto] for what is
// known of the model.
type RemoteOptions struct {
	URL            string        // base URL of the server; "" for the protocol's default
	Model          string        // name of the model; "" or Auto to choose one that the server has
	APIKey         string        // sent as bearer token to URL's host only
	Dimensions     int           // numbers a vector, asked of the server; 0 for the model's own
	QueryPrefix    string        // put before queries
	DocumentPrefix string        // put before documents and each of their passages
	Timeout        time.Duration // for one request of documents; 0 for DefaultTimeout
	QueryTimeout   time.Duration // for a query in all; 0 for a tenth of Timeout, at least 2 s
	QueryCache     int           // query vectors kept, 0 for DefaultQueryCache, negative for none
	BatchSize      int           // texts a request; 0 for DefaultBatchSize
	Prefer         string        // with Auto, a model to stay with while the server has it
	Logger         *slog.Logger  // default: discard
}

// Remote embeds through a server. It asks nothing before it is needed, and may
// be used by any number of goroutines at once. Close it.
//
// After three failures in a row that are the server's (not reached, too slow,
// broken) calls fail at once with the last error for 2 seconds, doubled up to a
// minute by each further failure, so that a dead server slows nothing down.
type Remote struct {
	options  RemoteOptions
	protocol string
	asker    protocol
	conn     *conn
	log      *slog.Logger
	breaker  breaker
	query    pace
	document pace

	known   atomic.Pointer[measured] // nil until Probe succeeded
	flight  singleflight.Group
	mu      sync.Mutex // guards forgets, waking and the start of work
	forgets int        // how often Forget was called
	waking  bool
	closed  bool
	base    context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// measured is what Probe found. It is replaced as a whole, so that vectors of
// two models never meet in one cache.
type measured struct {
	space           Space
	query, document string // prefixes
	cache           *lru.Cache[string, []float32]
	passage         atomic.Int64 // the most that a passage costs, see cost; shrinks with experience
	batch           atomic.Int64 // texts a request; shrinks with experience
}

func newRemote(name, standard string, p protocol, o RemoteOptions, describe func(*conn)) (*Remote, error) {
	base, err := baseURL(o.URL, standard)
	if err != nil {
		return nil, err
	}
	if o.Dimensions < 0 || o.Dimensions > maxDimensions {
		return nil, fmt.Errorf("dimensions %d: must be between 0 and %d", o.Dimensions, maxDimensions)
	}
	if o.Model == "" {
		o.Model = Auto
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.QueryTimeout <= 0 {
		o.QueryTimeout = max(o.Timeout/10, leastQueryTimeout)
	}
	if o.QueryCache == 0 {
		o.QueryCache = DefaultQueryCache
	}
	if o.BatchSize <= 0 {
		o.BatchSize = DefaultBatchSize
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := newConn(base, o.APIKey)
	o.APIKey = "" // only conn has it
	describe(c)
	r := &Remote{options: o, protocol: name, asker: p, conn: c, log: o.Logger, query: queryPace, document: documentPace}
	r.base, r.stop = context.WithCancel(context.Background())
	return r, nil
}

// Space returns what is known without asking: before [Remote.Probe] has
// succeeded its Dim is 0, and with [Auto] its Model and Version are "". Vectors
// exist only once Dim is known.
func (r *Remote) Space() Space {
	if m := r.known.Load(); m != nil {
		return m.space
	}
	s := Space{Protocol: r.protocol, BaseURL: r.conn.base}
	if r.options.Model != Auto {
		s.Model = r.options.Model
		query, document := r.options.prefixes(s.Model)
		s.Version = spaceVersion(query, document, r.options.Dimensions)
	}
	return s
}

// prefixes returns what is put before queries and documents of a model.
func (o RemoteOptions) prefixes(model string) (query, document string) {
	query, document = knownPrefixes(model)
	if o.QueryPrefix != Auto {
		query = o.QueryPrefix
	}
	if o.DocumentPrefix != Auto {
		document = o.DocumentPrefix
	}
	return query, document
}

// Warm makes the server load the model, so that the first search does not wait.
func (r *Remote) Warm(ctx context.Context) error {
	_, err := r.Probe(ctx)
	return err
}

// Forget drops what was measured and every kept query vector: the next call asks
// the server anew. Call it when the model behind the name was exchanged.
func (r *Remote) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgets++
	r.known.Store(nil)
	r.flight.Forget("")
}

// Close ends what goes on in the background and drops the connections. Calls after it fail
// with [ErrClosed]. It is idempotent and always returns nil.
func (r *Remote) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.work.Wait()
	r.conn.client.CloseIdleConnections()
	return nil
}

// guarded makes a call through the breaker. A caller's deadline counts against
// the server only if the server had a fair time.
func (r *Remote) guarded(ctx context.Context, call func() error) error {
	if r.base.Err() != nil {
		return ErrClosed
	}
	trial, err := r.breaker.enter()
	if err != nil {
		return err
	}
	began, how := time.Now(), unknownOutcome
	defer func() {
		stopped, resumed := r.breaker.leave(trial, how, err)
		switch {
		case stopped:
			r.log.Warn("embedding server is left alone for a while", "error", err)
		case resumed:
			r.log.Info("embedding server works again", "url", r.conn.base)
		}
	}()
	err = call()
	re := asRemote(err)
	switch {
	case err == nil:
		how = serverUp
	case re == nil: // cancelled
	case re.Kind != KindUnreachable && re.Kind != KindTimeout && re.Kind != KindServer:
		how = serverUp
	case ctx.Err() == nil || time.Since(began) >= leastQueryTimeout/2:
		how = serverDown
	}
	return err
}
