package embedding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The largest answers read, in bytes.
const (
	maxCatalogue = 16 << 20  // a list of models, or one model's description with its licence
	maxVector    = 400 << 10 // one vector: 16,384 numbers of 24 characters
	maxRefusal   = 64 << 10  // what comes with an error status
	maxRedirects = 5
)

// conn speaks JSON over HTTP with one server. It is the only place where the key is.
type conn struct {
	client   *http.Client
	base     string // without a slash at its end
	key      string
	voice    string // begins every message
	startup  string // what to run if nothing listens there
	urlHint  string // what may be wrong with the URL if the server has no such address
	pullHint func(model string) string
}

// newConn returns a conn with connections of its own.
func newConn(base, key string) *conn {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	transport = transport.Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	c := &conn{base: base, key: key}
	c.client = &http.Client{Transport: transport, CheckRedirect: sameOrigin}
	return c
}

// elsewhere is a redirect that is not followed: neither the key nor anybody's
// memories go to a host that was not configured.
type elsewhere struct{ to string }

func (e *elsewhere) Error() string { return "redirects to " + e.to }

func sameOrigin(next *http.Request, via []*http.Request) error {
	first := via[0]
	if next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || next.Method != first.Method || len(via) > maxRedirects {
		return &elsewhere{next.URL.Scheme + "://" + next.URL.Host}
	}
	return nil
}

// exchange is one request and what its answer is read into.
type exchange struct {
	method, path string
	in, out      any
	most         int64    // bytes of an answer
	model        string   // for messages, "" if no model is concerned
	sent         []string // texts that an error message must not repeat
}

// do makes a request that ends with the context or after the timeout. The error
// is a RemoteError unless the caller cancelled.
func (c *conn) do(parent context.Context, timeout time.Duration, x exchange) error {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	var body io.Reader
	if x.in != nil {
		b, err := json.Marshal(x.in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, x.method, c.base+x.path, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "reverie")
	if x.in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	began := time.Now()
	resp, err := c.client.Do(req)
	if err != nil {
		return c.broken(parent, err, time.Since(began))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what arrived is enough for a message
		return c.refused(resp, text, x)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, x.most+1))
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			e := c.fail(KindBadAnswer, "the answer ends early")
			e.Retryable, e.cause = true, err
			return e
		}
		return c.broken(parent, err, time.Since(began))
	}
	return c.decode(resp, b, x)
}

// decode reads a good answer.
func (c *conn) decode(resp *http.Response, b []byte, x exchange) error {
	if int64(len(b)) > x.most {
		return c.fail(KindBadAnswer, "the answer is longer than %d kB", x.most>>10)
	}
	if kind := resp.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil {
			media = "an unreadable content type"
		}
		if media != "application/json" && !strings.HasSuffix(media, "+json") {
			return c.fail(KindBadAnswer, "%s%s answers with %s instead of JSON (is that the right URL?)", c.base, x.path, serverText(media, c.key, nil))
		}
	}
	if err := json.Unmarshal(b, x.out); err != nil {
		e := c.fail(KindBadAnswer, "the answer is not the JSON that belongs there")
		if !json.Valid(b) && endsEarly(b) { // not worth a try if it is whole and wrong
			e.Message = c.voice + ": the answer ends early"
			e.Retryable = true
		}
		e.cause = err
		return e
	}
	return nil
}

// endsEarly reports whether b could go on as JSON.
func endsEarly(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// fail makes an error in the voice of this server.
func (c *conn) fail(kind Kind, format string, args ...any) *RemoteError {
	return &RemoteError{Kind: kind, Message: c.voice + ": " + fmt.Sprintf(format, args...)}
}

// baseURL brings a server's address into the form that spaces are known by:
// scheme and host in lower case, nothing after the path, no slash at the end.
func baseURL(text, standard string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = standard
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("the URL of the embedding server is not a URL") // err would repeat a password in it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("the URL of the embedding server must begin with http:// or https:// and a host")
	case u.User != nil:
		return "", errors.New("the URL of the embedding server must not hold a user or password; a key goes into EMBEDDING_MODEL_API_KEY")
	}
	u.Host = strings.ToLower(u.Host)
	u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = "", "", "", false
	return strings.TrimRight(u.String(), "/"), nil
}
