package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/caller"
	"reverie/mcp"
	"reverie/vector"
)

// slow is the real memory layer with searches that take as long as a test wants.
type slow struct {
	*vector.Service
	started  chan struct{}
	release  chan struct{}
	stubborn bool // ignores that it is cancelled
}

func (s *slow) Search(ctx context.Context, c caller.Caller, q vector.Query) (vector.Result, error) {
	s.started <- struct{}{}
	if s.stubborn {
		<-s.release
		return s.Service.Search(context.WithoutCancel(ctx), c, q)
	}
	select {
	case <-s.release:
	case <-ctx.Done():
		return vector.Result{}, ctx.Err()
	}
	return s.Service.Search(ctx, c, q)
}

func newSlow(t *testing.T) (*slow, *home) {
	t.Helper()
	s := &slow{started: make(chan struct{}, 100), release: make(chan struct{})}
	base := newHome(t, setup{})
	s.Service = base.memories
	h := newHome(t, setup{memories: s})
	return s, h
}

// serveAll serves the whole of in and returns what was said.
func serveAll(t *testing.T, s *mcp.Server, in io.Reader) []string {
	t.Helper()
	var out bytes.Buffer
	if err := s.ServeStdio(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestEmptyInput(t *testing.T) {
	h := newHome(t, setup{})
	began := time.Now()
	if out := serveAll(t, h.server, strings.NewReader("")); out[0] != "" {
		t.Errorf("said %q", out)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("took %v", d)
	}
}

// A client that writes all it has and closes still gets every answer, and what was
// answered as stored is stored, on a slow machine too.
func TestInputEndsBeforeAnswers(t *testing.T) {
	h := newHome(t, setup{limit: 1000})
	var in strings.Builder
	for i := range 200 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_memory","arguments":{"content":"fact number %d"}}}`+"\n", i, i)
	}
	in.WriteString(`{"jsonrpc":"2.0","id":"last","method":"ping"}`) // without an end
	out := serveAll(t, h.server, strings.NewReader(in.String()))
	if len(out) != 201 {
		t.Fatalf("%d answers", len(out))
	}
	acknowledged := 0
	for _, l := range out {
		if strings.Contains(l, `"status":"success"`) {
			acknowledged++
		}
	}
	page, err := h.memories.List(t.Context(), local, vector.ListQuery{Limit: 1})
	if err != nil || page.Total != acknowledged || acknowledged == 0 {
		t.Fatalf("%d stored, %d acknowledged, %v", page.Total, acknowledged, err)
	}
}

func TestLongLine(t *testing.T) {
	h := newHome(t, setup{})
	pad := strings.Repeat("x", 20<<20)
	var in strings.Builder
	fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{"arguments":{"content":%q,"id":5}}}`+"\n", pad)
	fmt.Fprintf(&in, `{"jsonrpc":"2.0","params":{"content":%q},"method":"tools/call","id":42}`+"\n", pad)
	fmt.Fprintf(&in, `{"jsonrpc":"2.0","method":"notifications/x","params":{"content":%q}}`+"\n", pad)
	fmt.Fprintf(&in, "%s\n", pad)
	in.WriteString(`{"jsonrpc":"2.0","id":"next","method":"ping"}` + "\n")
	text := in.String()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	out := serveAll(t, h.server, strings.NewReader(text))
	runtime.ReadMemStats(&after)
	want := []string{`"id":"first"`, `"id":42`, `"id":null`, `"id":"next","result"`}
	if len(out) != len(want) {
		t.Fatalf("%d answers: %q", len(out), out)
	}
	for i, w := range want {
		contains(t, out[i], w)
		if i < 3 {
			contains(t, out[i], "the limit is 4,194,304 (4 MiB)")
		}
	}
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 40<<20 {
		t.Errorf("allocated %d MiB for 80 MiB of refused lines", grown>>20)
	}
}

// A line of nearly 4 MiB passes; what is too long in it is the tool's to refuse.
func TestLineAtTheLimit(t *testing.T) {
	h := newHome(t, setup{})
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_memory","arguments":{"content":"`, `"}}}`
	c := h.serve(t)
	c.send(head + strings.Repeat("x", mcp.MaxLine-len(head)-len(tail)) + tail)
	contains(t, <-c.lines, `"isError":true`, "the limit is 8000")
}

// Calls of one client run side by side, and no slower than the slowest.
func TestCallsAreConcurrent(t *testing.T) {
	s, h := newSlow(t)
	c := h.serve(t)
	c.initialize()
	for i := range 8 {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"tools/call","params":{"name":"read_memory","arguments":{"query":"x"}}}`, i))
	}
	for range 8 {
		<-s.started
	}
	// All eight are under way; another call is not held up.
	c.tool("write_memory", object{"content": "meanwhile"})
	close(s.release)
	for range 8 {
		if m := c.recv(); m["result"] == nil {
			t.Errorf("%v", m)
		}
	}
}

// A cancelled call ends and is not answered, as the protocol says.
func TestCancel(t *testing.T) {
	s, h := newSlow(t)
	c := h.serve(t)
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"read_memory","arguments":{"query":"x"}}}`)
	<-s.started
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"77"}}`) // another id
	c.send(`{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"name":"read_memory","arguments":{"query":"y"}}}`)
	<-s.started
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
	time.Sleep(20 * time.Millisecond)
	close(s.release)
	if m := c.recv(); m["id"] != 78.0 {
		t.Errorf("answered %v", m)
	}
	if r := c.request("ping", nil); r["result"] == nil {
		t.Error(r)
	}
}

// After the end of input the server is gone within two seconds, whatever its calls do.
func TestSlowCallsAtTheEnd(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		s, h := newSlow(t)
		s.stubborn = stubborn
		c := h.serve(t)
		c.initialize()
		c.send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"read_memory","arguments":{"query":"x"}}}`)
		<-s.started
		began := time.Now()
		c.in.Close()
		err := <-c.done
		if d := time.Since(began); err != nil || d > 2200*time.Millisecond {
			t.Errorf("stubborn %v: %v after %v", stubborn, err, d)
		}
		close(s.release)
		if !stubborn {
			contains(t, <-c.lines, `"id":"slow"`, "cancelled before it was done")
		}
	}
}

func TestContextEndsServing(t *testing.T) {
	h := newHome(t, setup{})
	in, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.server.ServeStdio(ctx, in, io.Discard) }()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(3 * time.Second):
		t.Fatal("still serving")
	}
}

// A client that is gone ends the server, though its input stays open.
func TestOutputFails(t *testing.T) {
	h := newHome(t, setup{})
	in, w := io.Pipe()
	defer w.Close()
	out, outW := io.Pipe()
	out.Close()
	done := make(chan error, 1)
	go func() { done <- h.server.ServeStdio(t.Context(), in, outW) }()
	go io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	select {
	case err := <-done:
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	case <-time.After(3 * time.Second):
		t.Fatal("still serving")
	}
}

// A client that reads nothing does not keep the server after its input has ended.
func TestClientThatDoesNotRead(t *testing.T) {
	h := newHome(t, setup{})
	in, w := io.Pipe()
	out, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- h.server.ServeStdio(t.Context(), in, outW) }()
	for i := range 100 {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
	}
	began := time.Now()
	w.Close()
	select {
	case err := <-done:
		if err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	case <-time.After(5 * time.Second):
		t.Fatal("still serving")
	}
	out.Close()
}

// Several connections in one process do not know of each other.
func TestSeveralConnections(t *testing.T) {
	h := newHome(t, setup{limit: 1000})
	other := newHome(t, setup{path: filepath.Join(t.TempDir(), "other.db")})
	clients := []*client{h.serve(t), h.serve(t), other.serve(t)}
	var group sync.WaitGroup
	for i, c := range clients {
		c.initialize()
		group.Go(func() {
			for n := range 20 {
				data, err := json.Marshal(object{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": object{
					"name": "write_memory", "arguments": object{"content": fmt.Sprintf("fact %d of client %d", n, i)},
				}})
				if err != nil {
					t.Error(err)
				}
				if _, err := c.in.Write(append(data, '\n')); err != nil {
					t.Error(err)
				}
				<-c.lines
			}
		})
	}
	group.Wait()
	for i, want := range []float64{40, 40, 20} {
		if data, _ := clients[i].tool("list_memory", nil); data["total"] != want {
			t.Errorf("client %d sees %v, want %v", i, data["total"], want)
		}
	}
}

// A client that floods the server and reads nothing can still be left: by a signal, and
// by the end of its input.
func TestFloodingClientThatDoesNotRead(t *testing.T) {
	for _, by := range []string{"signal", "end of input"} {
		t.Run(by, func(t *testing.T) {
			h := newHome(t, setup{})
			in, w := io.Pipe()
			out, outW := io.Pipe()
			defer out.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error, 1)
			go func() { done <- h.server.ServeStdio(ctx, in, outW) }()
			flooded := make(chan struct{})
			go func() {
				defer close(flooded)
				line := `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 1<<20) + `","method":"ping"}` + "\n"
				for range 80 { // MiB: more than may wait
					if _, err := io.WriteString(w, line); err != nil {
						return
					}
				}
				w.Close()
			}()
			if by == "signal" {
				time.Sleep(300 * time.Millisecond)
				stop()
			} else {
				time.AfterFunc(300*time.Millisecond, func() { w.Close() })
			}
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("still serving")
			}
			in.Close()
			<-flooded
		})
	}
}
