package chroma

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// newHTTP is the client for a server that may be anything, as the address is typed by a
// person. It follows no redirects, so that headers reach nobody else.
//
// What speaks first on a connection is no HTTP server. It is not listened to before the
// request is sent: else the standard library writes a line of its own to stderr and makes
// an error that says nothing, now and then.
func newHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = maxIdleConn
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &askFirst{Conn: c, asked: make(chan struct{})}, nil
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// askFirst is a connection that reads nothing before something was written, or it is closed.
type askFirst struct {
	net.Conn
	once  sync.Once
	asked chan struct{}
}

func (c *askFirst) Read(b []byte) (int, error) {
	<-c.asked
	return c.Conn.Read(b)
}

func (c *askFirst) Write(b []byte) (int, error) {
	c.once.Do(func() { close(c.asked) })
	return c.Conn.Write(b)
}

// Close ends a waiting Read, too.
func (c *askFirst) Close() error {
	c.once.Do(func() { close(c.asked) })
	return c.Conn.Close()
}
