package mcp

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	sdk "github.com/mark3labs/mcp-go/mcp"
)

// maxQueue bounds the bytes that wait for a client that reads slowly; beyond it the
// calls wait.
const maxQueue = 64 << 20

// lineWriter writes messages, each as one line in one piece, in the order in which they
// were given. It does so on a goroutine of its own: a client that does not read must not
// keep the server from seeing that its input has ended.
type lineWriter struct {
	w      io.Writer
	broken func() // called when a write fails
	done   chan struct{}

	mu     sync.Mutex
	change *sync.Cond
	queue  []byte
	ending bool // the connection is ending: nobody waits any more
	closed bool
	err    error
}

func newLineWriter(w io.Writer, broken func()) *lineWriter {
	lw := &lineWriter{w: w, broken: broken, done: make(chan struct{})}
	lw.change = sync.NewCond(&lw.mu)
	go lw.run()
	return lw
}

// write queues a message. After a failed write, or close, it does nothing.
func (w *lineWriter) write(m any) {
	data, err := json.Marshal(m)
	if err != nil {
		data = []byte(mustJSON(errorReply(nil, rpcErrorf(sdk.INTERNAL_ERROR, "%s", internalError))))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > maxQueue && w.err == nil && !w.closed && !w.ending {
		w.change.Wait()
	}
	if w.err == nil && !w.closed && len(w.queue) <= maxQueue {
		w.queue = append(append(w.queue, data...), '\n')
		w.change.Broadcast()
	}
}

// end frees those who wait for a client that does not read. What they wanted to say is
// dropped, as it would be by the end of the process.
func (w *lineWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
	w.change.Broadcast()
}

func (w *lineWriter) run() {
	defer close(w.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.queue) == 0 && !w.closed {
			w.change.Wait()
		}
		if len(w.queue) == 0 {
			return
		}
		data := w.queue
		w.queue = nil
		w.change.Broadcast()
		w.mu.Unlock()
		_, err := w.w.Write(data)
		w.mu.Lock()
		if err != nil {
			w.err = err
			w.change.Broadcast()
			w.broken()
			return
		}
	}
}

// close takes no more, and waits up to d for what is queued to be written. It returns
// the error of the first write that failed.
func (w *lineWriter) close(d time.Duration) error {
	w.mu.Lock()
	w.closed = true
	w.change.Broadcast()
	w.mu.Unlock()
	waited(w.done, d)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
