package mirror_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reverie/embedding"
	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/vector"
	"reverie/vector/chroma"
	"reverie/vector/chroma/chromatest"
	"reverie/vector/mirror"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		child(path, os.Getenv(childURL))
	}
	storetest.Main(m)
}

// hashed embeds each line of a text as a passage of its own; equal lines have equal
// vectors, others have nothing to do with one another.
type hashed struct {
	model string
	dim   int
	deaf  atomic.Bool // fails
}

func (h *hashed) Space() embedding.Space {
	return embedding.Space{Protocol: "test", Model: h.model, Dim: h.dim, Version: "1"}
}

func (h *hashed) vector(text string) []float32 {
	sum := sha256.Sum256([]byte(h.model + "|" + text))
	r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	v := make([]float32, h.dim)
	var n float64
	for i := range v {
		v[i] = float32(r.NormFloat64())
		n += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(n))
	}
	return v
}

func (h *hashed) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	if h.deaf.Load() {
		return nil, fmt.Errorf("no model today")
	}
	return h.vector(text), nil
}

func (h *hashed) EmbedDocuments(_ context.Context, texts []string) ([]embedding.Passages, error) {
	if h.deaf.Load() {
		return nil, fmt.Errorf("no model today")
	}
	out := make([]embedding.Passages, len(texts))
	for i, t := range texts {
		for line := range strings.Lines(t) {
			out[i] = append(out[i], h.vector(strings.TrimSpace(line)))
		}
	}
	return out, nil
}

// world is a home whose vectors are mirrored to a real server.
type world struct {
	t        *testing.T
	home     storetest.Home
	db       *store.DB
	emb      *hashed
	memories *vector.Service
	url      string // of the server, or of what stands before it
	opts     mirror.Options
}

// quick are options under which a test does not wait.
func quick(t *testing.T) mirror.Options {
	return mirror.Options{
		Name: "test", Buckets: 4, Poll: 20 * time.Millisecond, Linger: 10 * time.Millisecond, Check: 100 * time.Millisecond,
		Refused: 50 * time.Millisecond, Pause: 50 * time.Millisecond, LeaseTTL: 2 * time.Second, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func newWorld(t *testing.T, e storetest.Engine, serverURL string) *world {
	t.Helper()
	w := &world{t: t, home: e.New(t), emb: &hashed{model: "one", dim: 24}, url: serverURL, opts: quick(t)}
	w.db = w.home.Open(t)
	w.memories = w.service(w.db, w.emb)
	return w
}

func sqlite() storetest.Engine { return storetest.Engine{Name: store.SQLite} }

func (w *world) service(db *store.DB, emb *hashed) *vector.Service {
	w.t.Helper()
	s, err := vector.New(w.t.Context(), db, emb, vector.Options{Limit: 100_000})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// serviceOn is a service whose spaces are managed by another hand.
func (w *world) serviceOn(m *spaces.Manager) *vector.Service {
	w.t.Helper()
	s, err := vector.New(w.t.Context(), w.db, w.emb, vector.Options{Limit: 100_000, Spaces: m})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// mirror returns a mirror that does not run.
func (w *world) mirror() *mirror.Mirror {
	w.t.Helper()
	c, err := chroma.New(chroma.Options{URL: w.url, Timeout: 10 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	m := mirror.New(w.db, c, w.opts)
	w.t.Cleanup(func() { m.Close(); c.Close() })
	return m
}

// run returns a mirror that runs until the test ends.
func (w *world) run() *mirror.Mirror {
	w.t.Helper()
	m := w.mirror()
	go m.Run(w.t.Context())
	return m
}

func person(name string) caller.Caller { return caller.Caller{User: name, Platform: "Local"} }

func part(name string) string { return "Local_Private_" + name }

// write stores memories of a person and returns their ids.
func (w *world) write(name string, texts ...string) []string {
	w.t.Helper()
	var drafts []vector.Draft
	for _, text := range texts {
		drafts = append(drafts, vector.Draft{Content: text})
	}
	out, err := w.memories.WriteAll(w.t.Context(), person(name), caller.ScopeUser, drafts)
	if err != nil {
		w.t.Fatal(err)
	}
	ids := make([]string, len(out))
	for i := range out {
		ids[i] = out[i].Memory.ID
	}
	return ids
}

func texts(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s %d", prefix, i)
	}
	return out
}

// await waits until the mirror has everything, and checks that it is right.
func (w *world) await(m *mirror.Mirror) mirror.Verified {
	w.t.Helper()
	w.awaitState(m, mirror.StateOK)
	return w.verify(m)
}

func (w *world) awaitState(m *mirror.Mirror, want mirror.State) mirror.Status {
	w.t.Helper()
	var st mirror.Status
	var err error
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if st, err = m.Status(w.t.Context()); err == nil && st.State == want {
			return st
		}
	}
	w.t.Fatalf("the mirror is not %q: %+v, %v", want, st, err)
	return st
}

// verify holds the server to SQL by the mirror's own means and by those of the test.
func (w *world) verify(m *mirror.Mirror) mirror.Verified {
	w.t.Helper()
	v, err := m.Verify(w.t.Context(), mirror.VerifyOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if !v.Equal() || v.Pending > 0 {
		w.t.Fatalf("the server differs: %+v", v)
	}
	if have := w.ids(); len(have) != v.Records {
		w.t.Fatalf("the server has %d records, verified were %d", len(have), v.Records)
	}
	return v
}

// client speaks to the server.
func (w *world) client() *chroma.Client {
	w.t.Helper()
	c, err := chroma.New(chroma.Options{URL: w.url})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

// collections lists those of the world.
func (w *world) collections() []chroma.Collection {
	w.t.Helper()
	cols, err := w.client().List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(cols, func(c chroma.Collection) bool { return !strings.HasPrefix(c.Name, w.opts.Name+"_s") })
}

// ids lists all records on the server.
func (w *world) ids() []string {
	w.t.Helper()
	var out []string
	c := w.client()
	for _, col := range w.collections() {
		for page, err := range c.Pages(w.t.Context(), col.ID, chroma.GetQuery{}) {
			if err != nil {
				w.t.Fatal(err)
			}
			for _, r := range page {
				out = append(out, r.ID)
			}
		}
	}
	slices.Sort(out)
	return out
}

// gate stands before a server and refuses what it is told to. What it lets through runs to
// its end even if who sent it is gone, as a server may do.
type gate struct {
	URL string

	under atomic.Int32 // requests under way

	mu     sync.Mutex
	refuse func(r *http.Request) int // status, 0 to let pass
}

func newGate(t *testing.T, srv *chromatest.Server) *gate {
	t.Helper()
	to, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(t.Output(), nil), slog.LevelDebug)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.under.Add(1)
		defer g.under.Add(-1)
		r = r.WithContext(context.WithoutCancel(r.Context()))
		g.mu.Lock()
		refuse := g.refuse
		g.mu.Unlock()
		if refuse != nil {
			if status := refuse(r); status != 0 {
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":"InvalidArgumentError","message":"not today"}`)
				return
			}
		}
		proxy.ServeHTTP(struct{ http.ResponseWriter }{w}, r) // which cannot tell that the client is gone
	}))
	t.Cleanup(s.Close)
	g.URL = s.URL
	return g
}

// idle waits until nothing is under way.
func (g *gate) idle() {
	for g.under.Load() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
}

func (g *gate) set(refuse func(r *http.Request) int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = refuse
}
