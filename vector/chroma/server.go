package chroma

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// MaxBatch bounds the records of one request: larger ones gain nothing and keep others
// waiting.
const MaxBatch = 500

// Limits is what a server says of itself.
type Limits struct {
	MaxBatch int  // records a request, at most [MaxBatch]
	Base64   bool // vectors may be written as base64 of little-endian float32
}

// Heartbeat reports whether the server answers.
func (c *Client) Heartbeat(ctx context.Context) error {
	return c.call(ctx, "heartbeat", http.MethodGet, "/heartbeat", nil, nil, maxSmall)
}

// Limits asks the server for its limits, once.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	c.mu.Lock()
	have := c.limits
	c.mu.Unlock()
	if have != nil {
		return *have, nil
	}
	var said struct {
		MaxBatch int  `json:"max_batch_size"`
		Base64   bool `json:"supports_base64_encoding"`
	}
	if err := c.call(ctx, "ask for limits", http.MethodGet, "/pre-flight-checks", nil, &said, maxSmall); err != nil {
		return Limits{}, err
	}
	l := Limits{MaxBatch: MaxBatch, Base64: said.Base64}
	if said.MaxBatch > 0 {
		l.MaxBatch = min(l.MaxBatch, said.MaxBatch)
	}
	c.mu.Lock()
	c.limits = &l
	c.mu.Unlock()
	return l, nil
}

// EnsureDatabase makes the client's tenant and database if they are missing. It is
// idempotent.
func (c *Client) EnsureDatabase(ctx context.Context) error {
	tenant := "/tenants/" + url.PathEscape(c.opts.Tenant)
	if err := c.ensure(ctx, "tenant", tenant, "/tenants", c.opts.Tenant); err != nil {
		return err
	}
	return c.ensure(ctx, "database", c.database(), tenant+"/databases", c.opts.Database)
}

// CheckDatabase is an error for which [IsNotFound] holds if the client's tenant or
// database is not there; the server lists the collections of an unknown one as none.
func (c *Client) CheckDatabase(ctx context.Context) error {
	return c.call(ctx, "look for database "+c.opts.Database, http.MethodGet, c.database(), nil, nil, maxSmall)
}

func (c *Client) ensure(ctx context.Context, what, path, list, name string) error {
	err := c.call(ctx, "look for "+what+" "+name, http.MethodGet, path, nil, nil, maxSmall)
	if !IsNotFound(err) {
		return err
	}
	err = c.post(ctx, "make "+what+" "+name, list, map[string]string{"name": name}, nil, maxSmall)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusConflict {
		return nil // another process was faster
	}
	return err
}
