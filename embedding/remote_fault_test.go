package embedding_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reverie/embedding"
	"reverie/embedding/embedtest"
)

// TestRemoteFaults is every way of a whole request to fail, for documents.
func TestRemoteFaults(t *testing.T) {
	long := strings.Repeat("the server is very sorry indeed, ", 100)
	tests := []struct {
		name     string
		fault    embedtest.Fault
		kind     embedding.Kind
		message  string // that must be in the error
		requests int    // that were made, 0 for any number
	}{
		{"bad request", embedtest.Fault{Status: 400, Message: "dimensions are not supported"}, embedding.KindBadInput, "dimensions are not supported", 0},
		{"unauthorized", embedtest.Fault{Status: 401, Message: "no key"}, embedding.KindUnauthorized, "EMBEDDING_MODEL_API_KEY", 1},
		{"forbidden without a body", embedtest.Fault{Status: 403, ContentType: "text/plain"}, embedding.KindUnauthorized, "EMBEDDING_MODEL_API_KEY", 1},
		{"model missing", embedtest.Fault{Status: 404, Message: `model "m" not found, try pulling it first`}, embedding.KindModelMissing, `model "m" not found`, 1},
		{"no such route", embedtest.Fault{Status: 404, ContentType: "text/plain", Body: "404 page not found"}, embedding.KindBadAnswer, "/embed", 1},
		{"request timeout", embedtest.Fault{Status: 408, Message: "slow"}, embedding.KindTimeout, "slow", 4},
		{"rate limit", embedtest.RateLimited("0"), embedding.KindRateLimited, "rate limit reached", 4},
		{"quota used up", embedtest.Fault{Status: 429, ContentType: "application/json", Body: `{"error":{"message":"quota used up","code":"insufficient_quota"}}`},
			embedding.KindRateLimited, "quota used up", 1},
		{"rate limit for a day", embedtest.RateLimited("86400"), embedding.KindRateLimited, "rate limit reached", 1},
		{"server error", embedtest.Fault{Status: 500, Message: "out of memory"}, embedding.KindServer, "out of memory", 0},
		{"bad gateway", embedtest.Fault{Status: 502, ContentType: "text/html", Body: "<html>bad gateway</html>"}, embedding.KindServer, "a web page", 4},
		{"overloaded", embedtest.Fault{Status: 503, Message: "loading model"}, embedding.KindServer, "loading model", 4},
		{"gateway timeout", embedtest.Fault{Status: 504, ContentType: "text/plain"}, embedding.KindServer, "status 504", 4},
		{"not HTTP's usual", embedtest.Fault{Status: 299, ContentType: "application/json", Body: "{}"}, embedding.KindBadAnswer, "299", 1},
		{"long message", embedtest.Fault{Status: 500, Message: long}, embedding.KindServer, "…", 0},
		{"control characters", embedtest.Fault{Status: 500, Message: "a\x1b[31m\nb\u202ec"}, embedding.KindServer, "a [31m b c", 0},
		{"input echoed", embedtest.Fault{Status: 500, Message: "cannot embed 'a secret of mine that nobody knows'"}, embedding.KindServer, "repeats the input", 0},
		{"reset", embedtest.Fault{Reset: true}, embedding.KindUnreachable, "broke off", 4},
		{"hang", embedtest.Fault{Hang: true}, embedding.KindTimeout, "no answer", 1},
		{"web page", embedtest.HTML(), embedding.KindBadAnswer, "text/html instead of JSON", 1},
		{"broken content type", embedtest.Fault{ContentType: ";;", Body: "{}"}, embedding.KindBadAnswer, "instead of JSON", 1},
		{"no JSON", embedtest.Fault{ContentType: "application/json", Body: "{]"}, embedding.KindBadAnswer, "not the JSON", 1},
		{"cut JSON", embedtest.Fault{ContentType: "application/json", Body: `{"embeddings":[[1,2`}, embedding.KindBadAnswer, "ends early", 4},
		{"connection cut in the answer", embedtest.Fault{CutAt: 40}, embedding.KindBadAnswer, "ends early", 4},
		{"other JSON", embedtest.Fault{ContentType: "application/json", Body: `[1,2,3]`}, embedding.KindBadAnswer, "not the JSON", 1},
		{"empty object", embedtest.Fault{ContentType: "application/json", Body: `{}`}, embedding.KindBadAnswer, "0 vectors for", 0},
		{"huge", embedtest.Fault{ContentType: "application/json", Body: `{"embeddings":"` + strings.Repeat("x", 2<<20) + `"}`}, embedding.KindBadAnswer, "longer than", 1},
		{"too few", embedtest.WrongCount(-1), embedding.KindBadAnswer, "0 vectors for 1 texts", 0},
		{"too many", embedtest.WrongCount(1), embedding.KindBadAnswer, "2 vectors for 1 texts", 0},
		{"empty vectors", embedtest.Spoiled("", []float32{}), embedding.KindBadAnswer, "no vector for", 0},
		{"no vectors", embedtest.Spoiled("", "AAAA"), embedding.KindBadAnswer, "no vector for", 0},
		{"zeros", embedtest.Spoiled("", make([]float32, 64)), embedding.KindBadInput, "all zeros", 0},
		{"null", embedtest.Spoiled("", []any{1, nil, 2}), embedding.KindBadInput, "no finite number", 0},
		{"NaN in words", embedtest.Spoiled("", []any{1, "NaN"}), embedding.KindBadInput, "no finite number", 0},
		{"beyond float32", embedtest.Spoiled("", []any{1e300, 1}), embedding.KindBadInput, "no finite number", 0},
		{"dimension of some", embedtest.WrongDim(1, 63), embedding.KindDimension, "63 numbers a vector, before it were 64", 1},
	}
	texts := []string{"a secret of mine that nobody knows", "another text"}
	for _, tt := range tests {
		for protocol := range protocols() {
			t.Run(protocol+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				s := embedtest.Start(t, embedtest.Model{Name: "m"})
				o := embedding.RemoteOptions{Model: "m"}
				if tt.fault.Hang {
					o.Timeout = time.Second
				}
				r := connect(t, protocol, s, o)
				probe(t, r)
				s.ForgetRequests()
				s.Fail(embedtest.Always(tt.fault))
				d, err := r.EmbedDocuments(t.Context(), texts)
				var re *embedding.RemoteError
				if d != nil || !errors.As(err, &re) {
					t.Fatalf("%v, error %v", d, err)
				}
				if re.Kind != tt.kind || !strings.Contains(re.Message, tt.message) {
					t.Errorf("%s: %v", re.Kind, err)
				}
				if strings.ContainsAny(re.Message, "\n\x1b") || len([]rune(re.Message)) > 350 || strings.Contains(re.Message, "secret of mine") {
					t.Errorf("message %q", re.Message)
				}
				if n := len(s.Embeds()); tt.requests > 0 && n != tt.requests || n > 12 {
					t.Errorf("%d requests, want %d", n, tt.requests)
				}
				s.Fail(nil)
				if d, err = r.EmbedDocuments(t.Context(), texts); err != nil || len(d) != 2 {
					t.Errorf("afterwards: %v", err)
				}
			})
		}
	}
}

// A short trouble is not seen by callers.
func TestRemoteRetries(t *testing.T) {
	for name, fault := range map[string]embedtest.Fault{
		"rate limit": embedtest.RateLimited("0"), "date": embedtest.RateLimited(time.Now().UTC().Format(http.TimeFormat)),
		"overloaded": {Status: 503}, "bad gateway": {Status: 502}, "timeout of a proxy": {Status: 504}, "reset": {Reset: true}, "cut": {CutAt: 40},
	} {
		for protocol := range protocols() {
			t.Run(protocol+" "+name, func(t *testing.T) {
				s := embedtest.Start(t)
				r := connect(t, protocol, s, embedding.RemoteOptions{})
				probe(t, r)
				s.Fail(embedtest.First(2, fault))
				if _, err := r.EmbedDocuments(t.Context(), []string{"a text"}); err != nil {
					t.Errorf("documents: %v", err)
				}
				s.Fail(embedtest.First(1, fault))
				if _, err := r.EmbedQuery(t.Context(), "a query"); err != nil {
					t.Errorf("query: %v", err)
				}
				s.ForgetRequests()
				s.Fail(embedtest.Always(fault))
				if _, err := r.EmbedQuery(t.Context(), "another query"); err == nil || len(s.Embeds()) != 2 {
					t.Errorf("query: %d requests, error %v", len(s.Embeds()), err)
				}
			})
		}
	}
}

func TestRemoteRetryAfterIsHonoured(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "openai", s, embedding.RemoteOptions{})
	probe(t, r)
	s.Fail(embedtest.First(1, embedtest.RateLimited("0.2")))
	began := time.Now()
	if _, err := r.EmbedDocuments(t.Context(), []string{"a text"}); err != nil || time.Since(began) < 200*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	s.Fail(embedtest.Always(embedtest.RateLimited("20")))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	began = time.Now()
	_, err := r.EmbedDocuments(ctx, []string{"a text"})
	var re *embedding.RemoteError
	if !errors.As(err, &re) || re.RetryAfter != 20*time.Second || time.Since(began) > time.Second {
		t.Errorf("a wait beyond the deadline was begun: after %v %v", time.Since(began), err)
	}
}

func TestRemoteQuerySlow(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{QueryTimeout: 50 * time.Millisecond})
	probe(t, r)
	s.Fail(embedtest.Always(embedtest.Fault{Hang: true}))
	began := time.Now()
	_, err := r.EmbedQuery(t.Context(), "words")
	if kindOf(err) != embedding.KindTimeout || time.Since(began) > time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err = r.EmbedQuery(ctx, "words"); !errors.Is(err, context.Canceled) || kindOf(err) != "" {
		t.Errorf("cancelled: %v", err)
	}
}

// A model that takes longer to load than a query waits is there soon all the same: queries
// that give up do not stop its loading.
func TestRemoteLoadsAfterTimeout(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{QueryTimeout: 30 * time.Millisecond})
	probe(t, r)
	var loaded atomic.Bool
	s.Fail(func(request embedtest.Request) *embedtest.Fault {
		switch {
		case loaded.Load():
			return nil
		case strings.HasPrefix(request.Texts[0], "words"):
			return &embedtest.Fault{Hang: true}
		}
		return &embedtest.Fault{Delay: 200 * time.Millisecond, Edit: func(answer []any, _ embedtest.Request) []any {
			loaded.Store(true)
			return answer
		}}
	})
	for i := range 5 { // enough for the breaker
		if _, err := r.EmbedQuery(t.Context(), fmt.Sprint("words ", i)); kindOf(err) != embedding.KindTimeout {
			t.Fatalf("error %v", err)
		}
	}
	for !loaded.Load() {
		time.Sleep(5 * time.Millisecond)
	}
	for range 100 {
		if _, err := r.EmbedQuery(t.Context(), "words again"); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("queries still fail a second after the model was loaded")
}

func TestRemoteDocumentsCancelled(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{BatchSize: 1})
	probe(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.Fail(func(request embedtest.Request) *embedtest.Fault {
		if request.Texts[0] == "text number 3" {
			cancel()
			return &embedtest.Fault{Hang: true}
		}
		return nil
	})
	if d, err := r.EmbedDocuments(ctx, manyTexts(10)); !errors.Is(err, context.Canceled) || d != nil || kindOf(err) != "" {
		t.Errorf("error %v", err)
	}
}

// A dead server costs three tries; then searches fail at once until a pause is over.
func TestRemoteDeadServer(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	q, err := r.EmbedQuery(t.Context(), "kept")
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	for i := range 5 {
		_, err := r.EmbedQuery(t.Context(), "words")
		if kindOf(err) != embedding.KindUnreachable || !strings.Contains(err.Error(), "ollama serve") {
			t.Errorf("try %d: %v", i, err)
		}
		if resting := strings.Contains(err.Error(), "not asked again for 2s"); resting != (i >= 3) {
			t.Errorf("try %d: %v", i, err)
		}
	}
	if _, err := r.EmbedDocuments(t.Context(), []string{"words"}); kindOf(err) != embedding.KindUnreachable {
		t.Errorf("documents: %v", err)
	}
	if again, err := r.EmbedQuery(t.Context(), "kept"); err != nil || &again[0] != &q[0] {
		t.Errorf("a kept query: %v", err)
	}
	s.Restart()
	time.Sleep(2100 * time.Millisecond)
	if _, err := r.EmbedQuery(t.Context(), "words"); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

// Neither key nor texts go to another host, whatever the server says.
func TestRemoteRedirects(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := embedtest.Start(t)
		r := connect(t, "openai", s, embedding.RemoteOptions{APIKey: "secret"})
		probe(t, r)
		s.Fail(embedtest.Always(embedtest.Fault{Status: status, Header: map[string]string{"Location": other.URL + "/v1/embeddings"}}))
		_, err := r.EmbedDocuments(t.Context(), []string{"words"})
		if kindOf(err) != embedding.KindBadAnswer || !strings.Contains(err.Error(), "not followed") {
			t.Errorf("status %d: %v", status, err)
		}
		s.Fail(embedtest.First(1, embedtest.Fault{Status: status, Header: map[string]string{"Location": s.URL() + "/v1/embeddings"}}))
		if _, err = r.EmbedDocuments(t.Context(), []string{"words"}); (err == nil) != (status >= 307) {
			t.Errorf("status %d on the same host: %v", status, err)
		}
	}
	if reached {
		t.Error("the other host was asked")
	}
}

func TestRemoteUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	web := httptest.NewUnstartedServer(http.NotFoundHandler())
	web.Config.ErrorLog = log.New(io.Discard, "", 0) // it hears of the refused certificate too
	web.StartTLS()
	defer web.Close()
	for name, tt := range map[string]struct{ url, want string }{
		"refused":     {closed, "ollama serve"},
		"no host":     {"http://no-such-host.invalid", "not found"},
		"certificate": {web.URL, "no trusted connection"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := embedding.NewOllama(embedding.RemoteOptions{URL: tt.url})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := r.Probe(t.Context()); kindOf(err) != embedding.KindUnreachable || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRemoteModelProblems(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "llama3", Capabilities: []string{"completion", "tools"}}, embedtest.Model{Name: "m"})
	tests := []struct {
		name, protocol string
		options        embedding.RemoteOptions
		kind           embedding.Kind
		message        string
	}{
		{"missing", "ollama-embed", embedding.RemoteOptions{Model: "nope"}, embedding.KindModelMissing, "run: ollama pull nope"},
		{"missing", "openai", embedding.RemoteOptions{Model: "nope"}, embedding.KindModelMissing, "check EMBEDDING_MODEL_NAME"},
		{"chat model", "ollama-embed", embedding.RemoteOptions{Model: "llama3"}, embedding.KindModelMissing, "cannot embed, only completion, tools"},
		{"dimensions passed over", "ollama-embed", embedding.RemoteOptions{Model: "m", Dimensions: 128}, embedding.KindDimension, "answers with 64 numbers a vector, EMBEDDING_DIMENSIONS asks for 128"},
	}
	for _, tt := range tests {
		t.Run(tt.protocol+" "+tt.name, func(t *testing.T) {
			r := connect(t, tt.protocol, s, tt.options)
			space, err := r.Probe(t.Context())
			if kindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.message) || space.Dim != 0 {
				t.Errorf("%+v, error %v", space, err)
			}
		})
	}
}
