package embedtest

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"
)

// Hook is asked for every request whether it fails; nil is no.
type Hook func(Request) *Fault

// Fault is how a request fails. The zero value changes nothing.
type Fault struct {
	Delay       time.Duration // waits before all else
	Hang        bool          // never answers; ends with the client or the server
	Reset       bool          // breaks the connection off without an answer
	Status      int           // answers with it and Message, in the shape of errors of that path
	Message     string
	Header      map[string]string
	ContentType string                              // with Body
	Body        string                              // answers with it as it is, with Status or 200
	CutAt       int                                 // bytes of the right answer after which the connection breaks off
	Edit        func(answer []any, r Request) []any // makes other vectors of the right ones, each a []float32
}

// Fail asks the hook for every request from now on; nil ends it.
func (s *Server) Fail(hook Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// Always is a hook that gives every embed request this fault.
func Always(f Fault) Hook {
	return func(r Request) *Fault {
		if !r.Embeds() {
			return nil
		}
		return &f
	}
}

// First is a hook that gives the first n embed requests after it this fault.
func First(n int, f Fault) Hook {
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	return func(r Request) *Fault {
		if !r.Embeds() {
			return nil
		}
		select {
		case <-left:
			return &f
		default:
			return nil
		}
	}
}

// Holding is a hook that gives this fault to every request with a text that holds the marker.
func Holding(marker string, f Fault) Hook {
	return func(r Request) *Fault {
		for _, text := range r.Texts {
			if strings.Contains(text, marker) {
				return &f
			}
		}
		return nil
	}
}

// NaN is what Ollama answers when a model makes no numbers of a text.
func NaN() Fault {
	return Fault{Status: http.StatusInternalServerError, Message: "failed to encode response: json: unsupported value: NaN"}
}

// HTML is the page of a proxy, or of a server that is none for embeddings.
func HTML() Fault {
	return Fault{ContentType: "text/html; charset=utf-8", Body: "<!doctype html><html><body><h1>Welcome</h1></body></html>"}
}

// RateLimited asks to come back later; after is seconds or an HTTP date.
func RateLimited(after string) Fault {
	return Fault{Status: http.StatusTooManyRequests, Message: "rate limit reached", Header: map[string]string{"Retry-After": after}}
}

// WrongCount answers with so many vectors more or, below 0, fewer than texts.
func WrongCount(by int) Fault {
	return Fault{Edit: func(answer []any, _ Request) []any {
		for range by {
			answer = append(answer, answer[0])
		}
		return answer[:max(len(answer)+min(by, 0), 0)]
	}}
}

// WrongDim answers with vectors of dim numbers from the n-th text on, counted from 0.
func WrongDim(n, dim int) Fault {
	return Fault{Edit: func(answer []any, _ Request) []any {
		for i := n; i < len(answer); i++ {
			v := make([]float32, dim)
			v[0] = 1
			answer[i] = v
		}
		return answer
	}}
}

// Spoiled answers with vector, any JSON value, for texts that hold the marker.
func Spoiled(marker string, vector any) Fault {
	return Fault{Edit: func(answer []any, r Request) []any {
		for i := range answer {
			if strings.Contains(r.Texts[i], marker) {
				answer[i] = vector
			}
		}
		return answer
	}}
}

// meet lets a request have its fault, and reports whether it is answered by that.
func (f *Fault) meet(w http.ResponseWriter, r *http.Request, gone <-chan struct{}, fail func(w http.ResponseWriter, status int, message string)) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-gone:
		case <-r.Context().Done():
		}
	}
	if f.Hang {
		select {
		case <-gone:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
	if f.Reset {
		if h, ok := w.(http.Hijacker); ok {
			if c, _, err := h.Hijack(); err == nil {
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0) // the client sees a reset
				}
				_ = c.Close()
				return true
			}
		}
		panic(http.ErrAbortHandler)
	}
	for key, value := range f.Header {
		w.Header().Set(key, value)
	}
	switch {
	case f.Body != "" || f.ContentType != "":
		w.Header().Set("Content-Type", f.ContentType)
		w.WriteHeader(max(f.Status, http.StatusOK))
		_, _ = w.Write([]byte(f.Body))
		return true
	case f.Status != 0:
		fail(w, f.Status, f.Message)
		return true
	}
	return false
}

// send writes a right answer, cut if the fault says so.
func (f *Fault) send(w http.ResponseWriter, answer any) {
	b, err := json.Marshal(answer)
	if err != nil {
		panic(err) // a fault that is no JSON
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if f != nil && f.CutAt > 0 && f.CutAt < len(b) {
		_, _ = w.Write(b[:f.CutAt])
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(b)
}
