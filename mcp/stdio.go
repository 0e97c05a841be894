package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	sdk "github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/sync/semaphore"
)

const (
	// running bounds the calls of one client that run at the same time.
	running = 16
	// pending bounds the bytes of the requests that are read but not answered; a client
	// that sends more is not read until some are.
	pending = 64 << 20
	// grace is how long calls may go on after stdin has ended: a client that closes its
	// end without waiting still gets its answers, and is gone within two seconds.
	grace = 1300 * time.Millisecond
	// lastGrace is how long cancelled calls may take to return, and then the last
	// answers to be written.
	lastGrace = 300 * time.Millisecond
)

// ServeStdio serves one client that writes JSON-RPC lines to in and reads them from
// out. It returns nil when in ends or ctx is done, within two seconds, and an error if
// in or out fails. Calls under way are finished, or cancelled when they take too long;
// whatever was answered is stored. Nothing but JSON-RPC is written to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newConn(ctx, s, out)
	if err := s.sdk.RegisterSession(ctx, c.session); err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	defer s.sdk.UnregisterSession(ctx, c.session.SessionID())
	c.pump.Go(c.notify)

	err := c.read(ctx, in)
	if failed := c.shutdown(); failed != nil {
		return fmt.Errorf("serve stdio: write: %w", failed)
	}
	if err != nil {
		return fmt.Errorf("serve stdio: read: %w", err)
	}
	return nil
}

// conn is the state of one stdio connection.
type conn struct {
	server  *Server
	session *session
	out     *lineWriter

	accept  context.Context // of taking new calls
	calls   context.Context // of the calls under way
	cancel  context.CancelFunc
	streams context.Context // of what runs until the client leaves
	stop    context.CancelFunc

	slots  *semaphore.Weighted
	bytes  *semaphore.Weighted
	group  sync.WaitGroup
	pump   sync.WaitGroup
	closed chan struct{} // ends the pump

	mu       sync.Mutex
	inflight map[string]context.CancelCauseFunc // by id, as written
}

// errClient is the cause when the client itself cancels a call, which then gets no answer.
var errClient = errors.New("cancelled by the client")

func newConn(ctx context.Context, s *Server, out io.Writer) *conn {
	c := &conn{
		server: s, session: s.newSession(),
		slots: semaphore.NewWeighted(running), bytes: semaphore.NewWeighted(pending),
		closed: make(chan struct{}), inflight: map[string]context.CancelCauseFunc{},
	}
	c.calls, c.cancel = context.WithCancel(s.sdk.WithContext(context.WithoutCancel(ctx), c.session))
	c.streams, c.stop = context.WithCancel(c.calls)
	c.out = newLineWriter(out, c.cancel)
	c.accept = ctx
	context.AfterFunc(ctx, c.out.end)
	return c
}

// read takes lines until in ends, ctx is done or out fails.
func (c *conn) read(ctx context.Context, in io.Reader) error {
	type item struct {
		line line
		err  error
	}
	lines := make(chan item)
	done := make(chan struct{})
	defer close(done)
	go func() { // outlives this function only while in blocks
		r := newLineReader(in, MaxLine)
		for {
			l, err := r.next()
			if err != nil {
				c.out.end() // whoever has gone is not waited for
			}
			select {
			case lines <- item{l, err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.calls.Done():
			return nil
		case it := <-lines:
			switch {
			case it.err == io.EOF:
				return nil
			case it.err != nil:
				return it.err
			}
			c.take(it.line)
		}
	}
}

// take handles one line. Requests run on their own; what changes the connection itself
// is done in the order in which it came.
func (c *conn) take(l line) {
	if l.long {
		c.refuseLong(l)
		return
	}
	if len(bytes.TrimSpace(l.data)) == 0 {
		return
	}
	m, bad := parseMessage(l.data)
	if bad != nil {
		c.out.write(errorReply(m.id, bad))
		return
	}
	switch sdk.MCPMethod(m.method) {
	case sdk.MethodInitialize, sdk.MethodPing, sdk.MethodResourcesSubscribe, sdk.MethodResourcesUnsubscribe:
		c.answer(c.server.dispatch(c.calls, m))
	case sdk.MethodSubscriptionsListen:
		c.spawn(c.streams, m, false)
	case "notifications/cancelled":
		c.cancelCall(m)
	default:
		if m.id == nil {
			c.answer(c.server.dispatch(c.calls, m))
			return
		}
		c.spawn(c.calls, m, true)
	}
}

// spawn answers m on a goroutine of its own. limited calls wait for one of the slots.
func (c *conn) spawn(ctx context.Context, m message, limited bool) {
	weight := min(int64(len(m.raw)), pending)
	if err := c.bytes.Acquire(c.accept, weight); err != nil {
		return // the connection is ending
	}
	ctx, cancel := context.WithCancelCause(ctx)
	key := string(m.id)
	c.mu.Lock()
	c.inflight[key] = cancel
	c.mu.Unlock()
	c.group.Go(func() {
		defer c.bytes.Release(weight)
		defer cancel(nil)
		defer func() {
			c.mu.Lock()
			delete(c.inflight, key)
			c.mu.Unlock()
		}()
		if limited {
			if c.slots.Acquire(ctx, 1) != nil {
				if context.Cause(ctx) != errClient {
					c.answer(errorReply(m.id, rpcErrorf(sdk.INTERNAL_ERROR, "the server is shutting down; the call was not made")))
				}
				return
			}
			defer c.slots.Release(1)
		}
		reply := c.server.dispatch(ctx, m)
		if context.Cause(ctx) != errClient {
			c.answer(reply)
		}
	})
}

func (c *conn) cancelCall(m message) {
	c.mu.Lock()
	cancel := c.inflight[string(m.params["requestId"])]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errClient)
	}
}

func (c *conn) refuseLong(l line) {
	if l.scan.method && l.scan.id == nil {
		c.server.log.Warn("notification too long", "bytes", l.size, "limit", MaxLine)
		return
	}
	c.out.write(errorReply(l.scan.id, rpcErrorf(sdk.INVALID_REQUEST,
		"the message has %s bytes; the limit is %s (4 MiB); nothing was stored; send less in one call", thousands(l.size), thousands(MaxLine))))
}

func (c *conn) answer(reply sdk.JSONRPCMessage) {
	if reply != nil {
		c.out.write(reply)
	}
}

// notify writes what the server tells on its own.
func (c *conn) notify() {
	for {
		select {
		case n := <-c.session.notifications:
			c.out.write(n)
			c.server.watch.sent(c.session.id, n)
		case <-c.closed:
			return
		}
	}
}

// shutdown ends streams at once, calls when their time is up, and the output last. It
// returns the error of an output that failed.
func (c *conn) shutdown() error {
	c.stop()
	done := make(chan struct{})
	go func() {
		c.group.Wait()
		close(done)
	}()
	if !waited(done, grace) {
		c.cancel()
		if !waited(done, lastGrace) {
			c.server.log.Warn("calls did not end in time")
		}
	}
	c.cancel()
	close(c.closed)
	err := c.out.close(lastGrace) // a client that reads no more must not keep us
	c.pump.Wait()
	return err
}

func waited(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
