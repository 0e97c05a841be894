package embedtest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Model is one model of a [Server]. Only Name is needed.
type Model struct {
	Name         string   // as a client names it; without a tag it is known as NAME:latest too
	Dim          int      // numbers a vector; default 64
	Seed         uint64   // of the weights; models of the same Dim and Seed give equal vectors
	Context      int      // tokens it reads, a word or a Chinese character each; default 512
	Capabilities []string // default "embedding"; empty but not nil: the server does not say
}

// Server is a running embedding server. All methods are safe for concurrent use.
type Server struct {
	t       testing.TB
	addr    string
	weights *weights

	mu       sync.Mutex
	web      *httptest.Server // nil while stopped
	gone     chan struct{}    // closed by Stop, lets hanging requests go
	models   []Model
	requests []Request
	hook     Hook
	key      string
}

// Request is one request that the server received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         string   // of at most 1 MB
	Model        string   // of embed requests
	Texts        []string // of embed requests
	Dimensions   int
	N            int // how many requests to the same path came before
}

// Embeds reports whether the request asks for vectors.
func (r Request) Embeds() bool { return len(r.Texts) > 0 }

// Start starts a server that ends with the test. Without models it has one, "test-embed".
func Start(t testing.TB, models ...Model) *Server {
	t.Helper()
	if len(models) == 0 {
		models = []Model{{Name: "test-embed"}}
	}
	s := &Server{t: t, weights: shared()}
	for _, m := range models {
		s.Put(m)
	}
	s.start("127.0.0.1:0")
	t.Cleanup(s.Stop)
	return s
}

// Restart starts a stopped server again at its address.
func (s *Server) Restart() {
	s.t.Helper()
	s.start(s.addr)
}

func (s *Server) start(addr string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.web != nil {
		return
	}
	var l net.Listener
	var err error
	for range 50 { // the port may be in its last moments of the use before
		if l, err = net.Listen("tcp", addr); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		s.t.Fatalf("embedtest: listen again: %v", err)
	}
	s.addr, s.gone = l.Addr().String(), make(chan struct{})
	s.web = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.handler(s.gone)}}
	s.web.Start()
}

// Stop breaks all connections off; new ones are refused. It is idempotent.
func (s *Server) Stop() {
	s.mu.Lock()
	web, gone := s.web, s.gone
	s.web = nil
	s.mu.Unlock()
	if web != nil {
		close(gone)
		web.CloseClientConnections()
		web.Close()
	}
}

// URL is the server's address for the Ollama protocol; OpenAI's is URL()+"/v1".
func (s *Server) URL() string { return "http://" + s.addr }

// Requests returns what the server received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Embeds returns the embed requests so far.
func (s *Server) Embeds() (out []Request) {
	for _, r := range s.Requests() {
		if r.Embeds() {
			out = append(out, r)
		}
	}
	return out
}

// ForgetRequests empties the list of requests.
func (s *Server) ForgetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// RequireKey makes the server refuse requests without this bearer token; "" for none.
func (s *Server) RequireKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Put adds a model, or replaces the one of that name.
func (s *Server) Put(m Model) {
	if m.Dim == 0 {
		m.Dim = 64
	}
	if m.Context == 0 {
		m.Context = 512
	}
	if m.Capabilities == nil {
		m.Capabilities = []string{"embedding"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(m.Name)
	s.models = append(s.models, m)
}

// Remove deletes a model.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(name)
}

func (s *Server) remove(name string) {
	for i, m := range s.models {
		if m.Name == name {
			s.models = append(append([]Model(nil), s.models[:i]...), s.models[i+1:]...)
			return
		}
	}
}

// Swap gives a model other weights behind its name.
func (s *Server) Swap(name string, seed uint64) {
	s.t.Helper()
	m, ok := s.model(name)
	if !ok {
		s.t.Fatalf("embedtest: swap of %q, which the server does not have", name)
	}
	m.Seed = seed
	s.Put(m)
}

// Vector is what a model of the server makes of a text, without going through HTTP.
func (s *Server) Vector(model, text string) []float32 {
	s.t.Helper()
	m, ok := s.model(model)
	if !ok {
		s.t.Fatalf("embedtest: vector of %q, which the server does not have", model)
	}
	return s.weights.vector(m, text)
}

func (s *Server) model(name string) (Model, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		if tagged(m.Name) == tagged(name) {
			return m, true
		}
	}
	return Model{}, false
}

func tagged(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return name + ":latest"
}

// record notes a request and returns it with the fault that it meets.
func (s *Server) record(r Request) (Request, *Fault) {
	s.mu.Lock()
	for _, before := range s.requests {
		if before.Path == r.Path {
			r.N++
		}
	}
	s.requests = append(s.requests, r)
	hook := s.hook
	s.mu.Unlock()
	if hook == nil {
		return r, nil
	}
	return r, hook(r)
}

func (s *Server) authorized(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key == "" || r.Header.Get("Authorization") == "Bearer "+s.key
}

func (m Model) digest() string { return fmt.Sprintf("%064x", m.Seed*1_000_003+uint64(m.Dim)) }
