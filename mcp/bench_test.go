package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"reverie/mcp"
)

// What a call costs on the way through pipes, checks and the SDK: read_memo hardly
// does anything itself.
func BenchmarkCall(b *testing.B) {
	c := newHome(b, setup{}).serve(b)
	for b.Loop() {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_memo"}}`)
		<-c.lines
	}
}

// A search without the embedder, for what the rest of the way adds.
func BenchmarkReadMemory(b *testing.B) {
	for _, n := range []int{50, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := newHome(b, setup{limit: n})
			c := h.serve(b)
			for i := range n {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_memory","arguments":{"content":"fact number %d about topic %d and person %d"}}}`, i, i, i%97, i%31))
				<-c.lines
			}
			for b.Loop() {
				c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_memory","arguments":{"query":"person 7 topic 11"}}}`)
				<-c.lines
			}
		})
	}
}

// The longest line that is read, and one that is refused: bytes per second.
func BenchmarkLongLine(b *testing.B) {
	pad := make([]byte, mcp.MaxLine*3/4)
	for i := range pad {
		pad[i] = 'x'
	}
	for name, size := range map[string]int{"accepted": len(pad), "refused": len(pad) * 2} {
		b.Run(name, func(b *testing.B) {
			h := newHome(b, setup{})
			content, err := json.Marshal(string(append(pad, pad...)[:size]))
			if err != nil {
				b.Fatal(err)
			}
			in, w := io.Pipe()
			out, outW := io.Pipe()
			done := make(chan error, 1)
			go func() { done <- h.server.ServeStdio(context.Background(), in, outW) }()
			line := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + string(content) + "}}\n")
			b.SetBytes(int64(len(line)))
			buf := make([]byte, 4096)
			for b.Loop() {
				if _, err := w.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := out.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
			w.Close()
			<-done
		})
	}
}
