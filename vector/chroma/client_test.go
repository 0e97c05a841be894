package chroma_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/vector/chroma"
)

// exchange is one request that a test expects, and the answer, as a server gave it.
type exchange struct {
	request string // method and path
	body    string // as JSON, empty for none
	status  int    // default 200
	answer  string
}

const (
	database    = "/api/v2/tenants/t/databases/data"
	preflight   = `{"max_batch_size":5461,"supports_base64_encoding":true}`
	collection1 = `{"id":"c86b1adc","name":"abc","configuration_json":{"hnsw":{"space":"l2","ef_construction":100,"ef_search":100,"max_neighbors":16,"resize_factor":1.2,"sync_threshold":1000},"spann":null,"embedding_function":null},"metadata":{"fingerprint":"f","x":true,"dim":4},"dimension":null,"tenant":"t","database":"data","log_position":0,"version":0}`
)

// talk returns a client whose server gives the answers in order and checks the requests.
func talk(t *testing.T, want ...exchange) *chroma.Client {
	t.Helper()
	at := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at >= len(want) {
			t.Errorf("one request too many: %s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		x := want[at]
		at++
		if got := r.Method + " " + r.URL.RequestURI(); got != x.request {
			t.Errorf("request %d is %s, want %s", at, got, x.request)
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(asJSON(t, x.body), asJSON(t, string(b))); d != "" {
			t.Errorf("body of request %d (-want +got):\n%s", at, d)
		}
		if h := r.Header.Get("X-Chroma-Token"); h != "secret" {
			t.Errorf("header of request %d is %q", at, h)
		}
		if x.status != 0 {
			w.WriteHeader(x.status)
		}
		io.WriteString(w, x.answer)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() {
		if at != len(want) {
			t.Errorf("%d requests, want %d", at, len(want))
		}
	})
	return client(t, chroma.Options{URL: srv.URL, Headers: map[string]string{"X-Chroma-Token": "secret"}, Tenant: "t", Database: "data"})
}

func client(t *testing.T, o chroma.Options) *chroma.Client {
	t.Helper()
	c, err := chroma.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func asJSON(t *testing.T, s string) (v any) {
	t.Helper()
	if s == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Errorf("%q: %v", s, err)
	}
	return v
}

func TestEnsureDatabase(t *testing.T) {
	const exists = `{"error":"ChromaError","message":"Tenant [t] already exists"}`
	missing := func(what string) string {
		return `{"error":"NotFoundError","message":"` + what + ` not found"}`
	}
	for _, tt := range []struct {
		name string
		talk []exchange
		ok   bool
	}{
		{"both there", []exchange{
			{request: "GET /api/v2/tenants/t", answer: `{"name":"t"}`},
			{request: "GET " + database, answer: `{"id":"a1","name":"data","tenant":"t"}`},
		}, true},
		{"both missing", []exchange{
			{request: "GET /api/v2/tenants/t", status: 404, answer: missing("Tenant [t]")},
			{request: "POST /api/v2/tenants", body: `{"name":"t"}`, answer: `{}`},
			{request: "GET " + database, status: 404, answer: missing("Database [data]")},
			{request: "POST /api/v2/tenants/t/databases", body: `{"name":"data"}`, answer: `{}`},
		}, true},
		{"another process is faster", []exchange{
			{request: "GET /api/v2/tenants/t", status: 404, answer: missing("Tenant [t]")},
			{request: "POST /api/v2/tenants", body: `{"name":"t"}`, status: 409, answer: exists},
			{request: "GET " + database, answer: `{}`},
		}, true},
		{"not a chroma server", []exchange{
			{request: "GET /api/v2/tenants/t", status: 404, answer: "404 page not found"},
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := talk(t, tt.talk...).EnsureDatabase(t.Context())
			if (err == nil) != tt.ok {
				t.Errorf("err = %v", err)
			}
			if !tt.ok && (chroma.IsNotFound(err) || !strings.Contains(err.Error(), "is it a Chroma server")) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestEnsure(t *testing.T) {
	meta := map[string]any{"fingerprint": "f", "dim": 4}
	const request = `{"name":"abc","metadata":{"fingerprint":"f","dim":4},"configuration":{"hnsw":{"space":"l2"}},"get_or_create":true}`
	for _, tt := range []struct {
		name, answer string
		mismatch     string // empty if all is well
	}{
		{"new", collection1, ""},
		{"has vectors", strings.Replace(collection1, `"dimension":null`, `"dimension":4`, 1), ""},
		{"other metadata", strings.Replace(collection1, `"fingerprint":"f"`, `"fingerprint":"g"`, 1), "its fingerprint is g, not f"},
		{"other number", strings.Replace(collection1, `"dim":4`, `"dim":5`, 1), "its dim is 5, not 4"},
		{"no metadata", strings.Replace(collection1, `{"fingerprint":"f","x":true,"dim":4}`, `null`, 1), "its "},
		{"other dimension", strings.Replace(collection1, `"dimension":null`, `"dimension":5`, 1), "5 dimensions, not 4"},
		{"other distance", strings.Replace(collection1, `"space":"l2"`, `"space":"cosine"`, 1), `"cosine", not l2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := talk(t, exchange{request: "POST " + database + "/collections", body: request, answer: tt.answer})
			col, err := c.Ensure(t.Context(), "abc", meta, 4)
			if col.ID != "c86b1adc" || col.Name != "abc" {
				t.Errorf("collection %+v", col)
			}
			var m *chroma.MismatchError
			switch {
			case tt.mismatch == "" && err != nil, tt.mismatch != "" && (!errors.As(err, &m) || !strings.Contains(err.Error(), tt.mismatch)):
				t.Errorf("err = %v, want one that says %q", err, tt.mismatch)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	ctx := t.Context()
	const col = database + "/collections/id1"
	t.Run("upsert as base64", func(t *testing.T) {
		c := talk(t,
			exchange{request: "GET /api/v2/pre-flight-checks", answer: preflight},
			exchange{request: "POST " + col + "/upsert", answer: `{}`,
				body: `{"ids":["a","b"],"embeddings":["AACAPwAAAMA=","AACAPwAAAMA="],"metadatas":[{"part":"p","private":false},null],"documents":[null,"hello"]}`})
		err := c.Upsert(ctx, "id1", []chroma.Record{
			{ID: "a", Embedding: []float32{1, -2}, Metadata: map[string]any{"part": "p", "private": false}},
			{ID: "b", Embedding: []float32{1, -2}, Document: "hello"},
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("upsert as numbers, in batches", func(t *testing.T) {
		c := talk(t,
			exchange{request: "GET /api/v2/pre-flight-checks", answer: `{"max_batch_size":2,"supports_base64_encoding":false}`},
			exchange{request: "POST " + col + "/upsert", answer: `{}`, body: `{"ids":["a","b"],"embeddings":[[1,-2],[0.1,1e-7]],"metadatas":[null,null]}`},
			exchange{request: "POST " + col + "/upsert", answer: `{}`, body: `{"ids":["c"],"embeddings":[[3,4]],"metadatas":[null]}`})
		err := c.Upsert(ctx, "id1", []chroma.Record{{ID: "a", Embedding: []float32{1, -2}}, {ID: "b", Embedding: []float32{0.1, 1e-7}}, {ID: "c", Embedding: []float32{3, 4}}})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("not a number", func(t *testing.T) {
		c := talk(t, exchange{request: "GET /api/v2/pre-flight-checks", answer: preflight})
		if err := c.Upsert(ctx, "id1", []chroma.Record{{ID: "a", Embedding: []float32{1, float32(math.NaN())}}}); err == nil {
			t.Error("NaN was sent")
		}
	})
	t.Run("get", func(t *testing.T) {
		c := talk(t, exchange{request: "POST " + col + "/get", body: `{"where":{"part":{"$eq":"p"}},"limit":10,"offset":3,"include":["embeddings","metadatas","documents"]}`,
			answer: `{"ids":["a","c"],"embeddings":[[1.0,0.0],[0.5,0.25]],"documents":[null,"hello"],"uris":null,"metadatas":[{"private":false,"n":2},null],"include":["metadatas","embeddings","documents"]}`})
		got, err := c.Get(ctx, "id1", chroma.GetQuery{Where: chroma.Equal("part", "p"), Limit: 10, Offset: 3, Include: chroma.Include{Embeddings: true, Metadata: true, Documents: true}})
		want := []chroma.Record{{ID: "a", Embedding: []float32{1, 0}, Metadata: map[string]any{"private": false, "n": 2.0}}, {ID: "c", Embedding: []float32{0.5, 0.25}, Document: "hello"}}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	})
	t.Run("get ids alone", func(t *testing.T) {
		c := talk(t, exchange{request: "POST " + col + "/get", body: `{"ids":["a"],"include":[]}`, answer: `{"ids":["a"],"embeddings":null,"documents":null,"uris":null,"metadatas":null,"include":[]}`})
		if got, err := c.Get(ctx, "id1", chroma.GetQuery{IDs: []string{"a"}}); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("query", func(t *testing.T) {
		c := talk(t,
			exchange{request: "POST " + col + "/query", body: `{"query_embeddings":[[1,0]],"n_results":5,"where":{"part":{"$eq":"p"}},"include":["distances","metadatas"]}`,
				answer: `{"ids":[["a","c"]],"embeddings":null,"documents":null,"uris":null,"metadatas":[[{"memory":"m"},null]],"distances":[[0.0,1.5]],"include":["distances","metadatas"]}`},
			exchange{request: "POST " + col + "/query", body: `{"query_embeddings":[[1,0]],"n_results":5,"include":["distances","metadatas"]}`,
				answer: `{"ids":[[]],"embeddings":null,"documents":null,"uris":null,"metadatas":null,"distances":[[]],"include":["distances"]}`})
		got, err := c.Query(ctx, "id1", []float32{1, 0}, 5, chroma.Equal("part", "p"))
		if d := cmp.Diff([]chroma.Near{{ID: "a", Metadata: map[string]any{"memory": "m"}}, {ID: "c", Distance: 1.5}}, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		if got, err := c.Query(ctx, "id1", []float32{1, 0}, 5, nil); err != nil || got != nil {
			t.Errorf("of nothing: %v, %v", got, err)
		}
	})
	t.Run("delete", func(t *testing.T) {
		c := talk(t,
			exchange{request: "POST " + col + "/delete", body: `{"ids":["a","zz"]}`, answer: `{}`},
			exchange{request: "POST " + col + "/delete", body: `{"where":{"$and":[{"part":{"$eq":"q"}},{"memory":{"$in":["x"]}}]}}`, answer: `{"deleted":1}`})
		if err := c.Delete(ctx, "id1", []string{"a", "zz"}); err != nil {
			t.Error(err)
		}
		if err := c.Delete(ctx, "id1", nil); err != nil {
			t.Error(err)
		}
		if err := c.DeleteWhere(ctx, "id1", chroma.All(chroma.Equal("part", "q"), chroma.In("memory", []string{"x"}))); err != nil {
			t.Error(err)
		}
		if err := c.DeleteWhere(ctx, "id1", nil); err == nil {
			t.Error("everything was to be deleted, and nothing stopped it")
		}
	})
	t.Run("collections", func(t *testing.T) {
		c := talk(t,
			exchange{request: "GET " + database + "/collections?limit=200&offset=0", answer: "[" + collection1 + "]"},
			exchange{request: "GET " + database + "/collections/nope", status: 404, answer: `{"error":"NotFoundError","message":"Collection [nope] does not exists"}`},
			exchange{request: "DELETE " + database + "/collections/nope", status: 404, answer: `{"error":"NotFoundError","message":"Collection [nope] does not exists"}`},
			exchange{request: "PUT " + col, body: `{"new_name":"abd","new_metadata":{"k":1}}`, answer: `{}`},
			exchange{request: "GET " + col + "/count", answer: `7`})
		if l, err := c.List(ctx); err != nil || len(l) != 1 || l[0].Space != "l2" {
			t.Errorf("%v, %v", l, err)
		}
		if _, err := c.Collection(ctx, "nope"); !chroma.IsNotFound(err) {
			t.Error(err)
		}
		if err := c.DeleteCollection(ctx, "nope"); err != nil {
			t.Error(err)
		}
		if err := c.Modify(ctx, "id1", "abd", map[string]any{"k": 1}); err != nil {
			t.Error(err)
		}
		if n, err := c.Count(ctx, "id1"); err != nil || n != 7 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// Answers of a server that is not what it should be.
func TestHostileAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, answer, says string
	}{
		{"not json", "<html>", "unusable answer"},
		{"ids without vectors", `{"ids":["a"],"embeddings":[]}`, "1 ids with 0 vectors"},
		{"more than asked for", `{"ids":["a","b"],"embeddings":[[1],[2]]}`, "2 records where at most 1"},
		{"number of the wrong kind", `{"ids":["a"],"embeddings":[["x"]]}`, "unusable answer"},
		{"cut off", `{"ids":["a"],"emb`, "unusable answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := talk(t, exchange{request: "POST " + database + "/collections/id1/get", body: `{"limit":1,"include":["embeddings"]}`, answer: tt.answer})
			for page, err := range c.Pages(t.Context(), "id1", chroma.GetQuery{Limit: 1, Include: chroma.Include{Embeddings: true}}) {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v, %v", page, err)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name      string
		status    int
		answer    string
		retryable bool
		gone      bool
		says      string
	}{
		{"bad argument", 400, `{"error":"InvalidArgumentError","message":"Collection expecting embedding with dimension of 4, got 5"}`, false, false, "dimension of 4, got 5 (400 InvalidArgumentError)"},
		{"too large", 413, "Payload too large", false, false, "Request Entity Too Large (413)"},
		{"too many", 429, "", true, false, "Too Many Requests (429)"},
		{"fault", 500, `{"error":"InternalError","message":"disk\n\u001b[31mfull` + strings.Repeat("x", 5000) + `"}`, true, false, "disk [31mfull"},
		{"proxy without server", 502, "<html>", true, true, "Bad Gateway (502)"},
		{"proxy refuses", 401, "who are you", false, false, "check vector_db.headers"},
		{"redirect", 302, "", false, false, "Found (302)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := talk(t, exchange{request: "GET /api/v2/heartbeat", status: tt.status, answer: tt.answer})
			err := c.Heartbeat(t.Context())
			var e *chroma.Error
			if !errors.As(err, &e) || e.Status != tt.status || e.Retryable != tt.retryable || e.Gone() != tt.gone || !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 300 {
				t.Errorf("err = %#v, says %v", e, err)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q has control characters", err)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		srv := httptest.NewServer(nil)
		srv.Close()
		err := client(t, chroma.Options{URL: srv.URL}).Heartbeat(t.Context())
		var e *chroma.Error
		if !errors.As(err, &e) || !e.Retryable || !e.Gone() || e.Status != 0 {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("no answer in time", func(t *testing.T) {
		quit := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-quit }))
		defer srv.Close()
		defer close(quit)
		err := client(t, chroma.Options{URL: srv.URL, Timeout: 20 * time.Millisecond}).Heartbeat(t.Context())
		var e *chroma.Error
		if !errors.As(err, &e) || !e.Retryable {
			t.Errorf("err = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := client(t, chroma.Options{URL: srv.URL}).Heartbeat(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) {
			t.Errorf("the caller's own deadline: %v", err)
		}
	})
}

func TestNew(t *testing.T) {
	for _, url := range []string{"localhost:8000", "ftp://x", "http://", "http://user:pass@x", "http://x?y=1", "\x00"} {
		if c, err := chroma.New(chroma.Options{URL: url}); err == nil {
			t.Errorf("%q: %v", url, c.Address())
		} else if strings.Contains(err.Error(), "pass@") {
			t.Errorf("%q shows the password", err)
		}
	}
	for _, tt := range []struct {
		host string
		ssl  bool
		want string
	}{{"127.0.0.1", false, "http://127.0.0.1:8000"}, {"::1", false, "http://[::1]:8000"}, {"[::1]", true, "https://[::1]:8000"}, {"chroma.example", true, "https://chroma.example:8000"}} {
		if got := chroma.Address(tt.host, 8000, tt.ssl); got != tt.want {
			t.Errorf("%s: %s", tt.host, got)
		}
		if c := client(t, chroma.Options{URL: tt.want + "/"}); c.Address() != tt.want {
			t.Errorf("%s: %s", tt.want, c.Address())
		}
	}
}

func ExampleAddress() {
	fmt.Println(chroma.Address("127.0.0.1", 8000, false))
	// Output: http://127.0.0.1:8000
}
