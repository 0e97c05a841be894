package store_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and its server, and is the bad network.
type proxy struct {
	l      net.Listener
	server string
	// onCommit, if set, is asked for what becomes of the next COMMIT.
	onCommit atomic.Pointer[fate]
	deaf     atomic.Bool // new connections are closed at once

	mu    sync.Mutex
	conns []net.Conn
	work  sync.WaitGroup
}

// fate is what happens to one COMMIT; it is forgotten after that.
type fate struct {
	send     bool // the server gets it
	keep     bool // the server's side stays open, as when a network is cut
	thenDeaf bool // and nobody gets through any more
}

// newProxy returns a proxy and the address of the database dsn through it.
func newProxy(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, server: u.Host}
	p.work.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.closeAll()
		p.work.Wait()
	})
	u.Host = l.Addr().String()
	u.RawQuery = url.Values{"sslmode": {"disable"}}.Encode() // so that it can read along
	return p, u.String()
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) serve() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		if p.deaf.Load() {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.work.Go(func() {
			io.Copy(client, server)
			client.Close()
		})
		p.work.Go(func() { p.upstream(client, server) })
	}
}

// upstream carries what the store says to the server.
func (p *proxy) upstream(client, server net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			server.Close()
			return
		}
		if bytes.Contains(buf[:n], []byte("commit\x00")) {
			if f := p.onCommit.Swap(nil); f != nil {
				if f.thenDeaf {
					p.deaf.Store(true)
				}
				// The client hears nothing of the answer: its side is closed first.
				client.Close()
				if f.send {
					server.Write(buf[:n])
				}
				if f.thenDeaf {
					p.closeAll()
				}
				if !f.keep && !f.send {
					server.Close()
				}
				return
			}
		}
		if _, err := server.Write(buf[:n]); err != nil {
			client.Close()
			return
		}
	}
}
