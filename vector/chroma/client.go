package chroma

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"reverie/internal/cleantext"
)

// Defaults of [Options].
const (
	// DefaultName is the tenant and the database if none is said.
	DefaultName = "default"
	// DefaultTimeout is for one request: an upsert of 500 records takes a loaded server
	// most of a second, the first query after its start as much.
	DefaultTimeout = 30 * time.Second
)

// Bounds of what is sent and read, in bytes.
const (
	// MaxBody bounds a request. The server's own default is 40 MB.
	MaxBody     = 30 << 20
	maxAnswer   = 256 << 20 // a page of vectors
	maxSmall    = 1 << 20   // everything else
	maxIdleConn = 4
)

// Options of [New]; the zero value is the default of every field.
type Options struct {
	// URL is where the server is, such as http://127.0.0.1:8000; default that. See [Address].
	URL string
	// Headers go with every request, for a proxy in front of the server.
	Headers map[string]string
	// Tenant and Database hold the collections; default [DefaultName].
	Tenant, Database string
	// Timeout bounds one request with its answer; default [DefaultTimeout].
	Timeout time.Duration
	// HTTP sends the requests; default a client of its own that follows no redirects, so
	// that headers reach nobody else.
	HTTP *http.Client
}

// Client speaks to one database of one server. It is safe for concurrent use.
type Client struct {
	base    string // up to and with /api/v2
	opts    Options
	http    *http.Client
	ownHTTP bool

	mu     sync.Mutex
	limits *Limits
}

// Address is the URL of a server on a host and port.
func Address(host string, port int, ssl bool) string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port))}
	if ssl {
		u.Scheme = "https"
	}
	return u.String()
}

// New returns a client. It does no I/O; a URL that cannot be one is an error.
func New(o Options) (*Client, error) {
	if o.URL == "" {
		o.URL = Address("127.0.0.1", 8000, false)
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("chroma: the address must be http://host:port or https://host:port; secrets belong into headers")
	}
	if o.Tenant == "" {
		o.Tenant = DefaultName
	}
	if o.Database == "" {
		o.Database = DefaultName
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	c := &Client{base: strings.TrimRight(o.URL, "/") + "/api/v2", opts: o, http: o.HTTP}
	if c.http == nil {
		c.http, c.ownHTTP = newHTTP(), true
	}
	return c, nil
}

// Address is the URL of the server, without secrets.
func (c *Client) Address() string { return strings.TrimSuffix(c.base, "/api/v2") }

// Close closes idle connections. It is idempotent, and the client stays usable.
func (c *Client) Close() error {
	if c.ownHTTP {
		c.http.CloseIdleConnections()
	}
	return nil
}

// call sends a request and reads its answer into out, unless that is nil. body is JSON,
// nil for none. limit bounds the answer in bytes.
func (c *Client) call(ctx context.Context, op, method, path string, body []byte, out any, limit int64) error {
	rctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(rctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("chroma: %s: %w", op, err)
	}
	for k, v := range c.opts.Headers {
		req.Header.Set(k, v)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var ue *url.Error // its text repeats the whole address
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return &Error{Op: op, Retryable: true, Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return refusal(op, resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // cut off: the server died, or took too long
		return &Error{Op: op, Retryable: true, Err: err}
	case int64(len(b)) > limit:
		err = fmt.Errorf("more than %d bytes", limit)
	case out != nil:
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		return &Error{Op: op, Status: resp.StatusCode, Err: err}
	}
	return nil
}

// refusal reads an answer that is an error.
func refusal(op string, resp *http.Response) error {
	e := &Error{Op: op, Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what is missing of it only says less
	var said struct{ Error, Message string }
	if json.Unmarshal(b, &said) == nil && said.Error != "" {
		e.Kind, e.Message = cleantext.OneLine(said.Error, maxMessage), cleantext.OneLine(said.Message, maxMessage)
	}
	switch {
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooEarly, e.Status == http.StatusTooManyRequests:
		e.Retryable = true
	case e.Status >= 500 && e.Status != http.StatusNotImplemented:
		e.Retryable = true
	}
	return e
}

// post sends a value as JSON.
func (c *Client) post(ctx context.Context, op, path string, in, out any, limit int64) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("chroma: %s: %w", op, err)
	}
	return c.call(ctx, op, http.MethodPost, path, body, out, limit)
}

// database is the path of the client's database.
func (c *Client) database() string {
	return "/tenants/" + url.PathEscape(c.opts.Tenant) + "/databases/" + url.PathEscape(c.opts.Database)
}
