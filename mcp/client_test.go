package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"hash/fnv"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/mcp"
	"reverie/memo"
	"reverie/store"
	"reverie/vector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words stands for a model: texts that share words are near each other.
type words struct{}

func (words) Space() embedding.Space {
	return embedding.Space{Protocol: "test", Model: "words", Dim: 64, Version: "1"}
}

func (words) embed(text string) []float32 {
	v := make([]float32, 64)
	var sum float64
	for _, w := range strings.Fields(strings.ToLower(text)) {
		f := fnv.New64a()
		f.Write([]byte(w))
		for x, i := f.Sum64(), 0; i < 8; i++ {
			x = x*6364136223846793005 + 1442695040888963407
			v[(x>>33)%64]++
		}
	}
	for _, x := range v {
		sum += float64(x * x)
	}
	if sum == 0 {
		return nil
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (w words) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	return w.embed(text), nil
}

func (w words) EmbedDocuments(_ context.Context, texts []string) ([]embedding.Passages, error) {
	out := make([]embedding.Passages, len(texts))
	for i, t := range texts {
		if v := w.embed(t); v != nil {
			out[i] = embedding.Passages{v}
		}
	}
	return out, nil
}

// plainFence marks recalled text in a way that tests can read.
type plainFence struct{}

func (plainFence) Wrap(kind, body string) string {
	return "<<" + kind + "\n" + strings.TrimSpace(body) + "\n>>"
}

// home is a store with a server on it, as one process has.
type home struct {
	db       *store.DB
	memories *vector.Service
	memos    *memo.Store
	server   *mcp.Server
	log      *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// setup is what a test may want to be otherwise.
type setup struct {
	path     string // default a fresh file
	limit    int
	deny     bool
	clean    func(string) (string, []string, error)
	embedder vector.Embedder // default words
	options  mcp.Options
	memories mcp.Memories // in place of the real ones
	memos    mcp.Memos
}

func newHome(t testing.TB, o setup) *home {
	t.Helper()
	if o.path == "" {
		o.path = filepath.Join(t.TempDir(), "reverie.db")
	}
	db, err := store.Open(t.Context(), o.path, store.Options{Synchronous: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	if o.embedder == nil {
		o.embedder = words{}
	}
	v, err := vector.New(t.Context(), db, o.embedder, vector.Options{Limit: o.limit, DenyGroups: o.deny, Clean: o.clean})
	if err != nil {
		t.Fatal(err)
	}
	h := &home{db: db, memories: v, memos: memo.New(db, memo.Options{Clean: o.clean}), log: &lockedBuffer{}}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	opts := o.options
	if opts.Caller == (caller.Caller{}) {
		opts.Caller = caller.Caller{User: "local", Platform: caller.DefaultPlatform}
	}
	opts.Version = "1.2.3"
	opts.Fence = plainFence{}
	opts.Versions = db
	if opts.Poll == 0 {
		opts.Poll = 20 * time.Millisecond
	}
	opts.Logger = slog.New(slog.NewTextHandler(h.log, nil))
	if o.memories == nil {
		o.memories = v
	}
	if o.memos == nil {
		o.memos = h.memos
	}
	if h.server, err = mcp.New(o.memories, o.memos, opts); err != nil {
		t.Fatal(err)
	}
	return h
}

// client drives a server over pipes, as a host does.
type client struct {
	t     testing.TB
	in    *io.PipeWriter
	lines chan string
	done  chan error
	next  int
	// notifications that came while an answer was awaited.
	notifications []map[string]any
}

func (h *home) serve(t testing.TB) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, lines: make(chan string, 1000), done: make(chan error, 1)}
	go func() {
		err := h.server.ServeStdio(context.Background(), inR, outW)
		outW.Close()
		c.done <- err
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		r := bufio.NewReaderSize(outR, 1<<20)
		for {
			l, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- strings.TrimSuffix(l, "\n")
		}
	}()
	t.Cleanup(func() {
		inW.Close()
		<-read
	})
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// recv returns the next line, of any sort.
func (c *client) recv() map[string]any {
	c.t.Helper()
	select {
	case l, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server closed its output")
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			c.t.Fatalf("not JSON: %q", l)
		}
		if m["jsonrpc"] != "2.0" {
			c.t.Fatalf("not JSON-RPC: %q", l)
		}
		return m
	case <-time.After(10 * time.Second):
		c.t.Fatal("no answer")
	}
	return nil
}

// request sends a request and returns its answer; notifications are kept aside.
func (c *client) request(method string, params any) map[string]any {
	c.t.Helper()
	c.next++
	id := c.next
	m := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	data, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(data))
	for {
		got := c.recv()
		if got["id"] == nil && got["method"] != nil {
			c.notifications = append(c.notifications, got)
			continue
		}
		if got["id"] != float64(id) {
			c.t.Fatalf("answer to %v, want one to %d: %v", got["id"], id, got)
		}
		return got
	}
}

func (c *client) result(method string, params any) map[string]any {
	c.t.Helper()
	got := c.request(method, params)
	r, ok := got["result"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s: %v", method, got["error"])
	}
	return r
}

// fails returns the code and message of the error that a request is answered with.
func (c *client) fails(method string, params any) (int, string) {
	c.t.Helper()
	got := c.request(method, params)
	e, ok := got["error"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s did not fail: %v", method, got)
	}
	return int(e["code"].(float64)), e["message"].(string)
}

type object = map[string]any

func (c *client) initialize() map[string]any {
	c.t.Helper()
	r := c.result("initialize", object{
		"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "test", "version": "1"},
	})
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return r
}

// as makes the _meta of a caller from key, value pairs.
func as(pairs ...string) object {
	m := object{}
	for i := 0; i < len(pairs); i += 2 {
		m["reverie/"+pairs[i]] = pairs[i+1]
	}
	return m
}

// tool calls a tool and returns its structured result and its text.
func (c *client) tool(name string, args any, meta ...object) (map[string]any, string) {
	c.t.Helper()
	r := c.call(name, args, meta...)
	if r["isError"] == true {
		c.t.Fatalf("%s failed: %s", name, textOf(r))
	}
	data, _ := r["structuredContent"].(map[string]any)
	if data == nil {
		c.t.Fatalf("%s: no structured result: %v", name, r)
	}
	return data, textOf(r)
}

// toolError calls a tool that must fail, and returns what it says.
func (c *client) toolError(name string, args any, meta ...object) string {
	c.t.Helper()
	r := c.call(name, args, meta...)
	if r["isError"] != true {
		c.t.Fatalf("%s(%v) did not fail: %s", name, args, textOf(r))
	}
	return textOf(r)
}

func (c *client) call(name string, args any, meta ...object) map[string]any {
	c.t.Helper()
	params := object{"name": name}
	if args != nil {
		params["arguments"] = args
	}
	if len(meta) > 0 {
		params["_meta"] = meta[0]
	}
	return c.result("tools/call", params)
}

func textOf(r map[string]any) string {
	var out []string
	for _, c := range r["content"].([]any) {
		out = append(out, c.(map[string]any)["text"].(string))
	}
	return strings.Join(out, "\n")
}

// write stores a memory and returns its id.
func (c *client) write(content string, meta ...object) string {
	c.t.Helper()
	data, _ := c.tool("write_memory", object{"content": content}, meta...)
	return data["id"].(string)
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

func lacks(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q is in:\n%s", p, text)
		}
	}
}

var local = caller.Caller{User: "local", Platform: caller.DefaultPlatform}
