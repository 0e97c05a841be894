package embedding_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"reverie/embedding"
	"reverie/embedding/embedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// protocols are the ways to the same fake server.
func protocols() map[string]func(*embedtest.Server, embedding.RemoteOptions) (*embedding.Remote, error) {
	return map[string]func(*embedtest.Server, embedding.RemoteOptions) (*embedding.Remote, error){
		"ollama-embed": func(s *embedtest.Server, o embedding.RemoteOptions) (*embedding.Remote, error) {
			o.URL = s.URL()
			return embedding.NewOllama(o)
		},
		"openai": func(s *embedtest.Server, o embedding.RemoteOptions) (*embedding.Remote, error) {
			o.URL = s.URL() + "/v1"
			return embedding.NewOpenAI(o)
		},
	}
}

// connect returns a hasty Remote on the server that ends with the test.
func connect(t testing.TB, protocol string, s *embedtest.Server, o embedding.RemoteOptions) *embedding.Remote {
	t.Helper()
	r, err := protocols()[protocol](s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.Hasten()
	return r
}

func probe(t testing.TB, r *embedding.Remote) embedding.Space {
	t.Helper()
	space, err := r.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return space
}

func checkUnitOf(t testing.TB, dim int, v []float32) {
	t.Helper()
	if length := dot(v, v); len(v) != dim || math.Abs(length-1) > 1e-5 {
		t.Fatalf("vector of %d numbers and length %v", len(v), length)
	}
}

func TestRemote(t *testing.T) {
	for protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			s := embedtest.Start(t, embedtest.Model{Name: "tiny", Dim: 96})
			r := connect(t, protocol, s, embedding.RemoteOptions{Model: "tiny"})
			if got := r.Space(); got.Dim != 0 || got.Model != "tiny" || len(s.Requests()) > 0 {
				t.Errorf("before asking: %+v after %d requests", got, len(s.Requests()))
			}
			url := map[string]string{"ollama-embed": s.URL(), "openai": s.URL() + "/v1"}[protocol]
			want := embedding.Space{Protocol: protocol, Model: "tiny", BaseURL: url, Dim: 96}
			if diff := cmp.Diff(want, probe(t, r)); diff != "" {
				t.Errorf("space (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, r.Space()); diff != "" {
				t.Errorf("space afterwards (-want +got):\n%s", diff)
			}

			q, err := r.EmbedQuery(t.Context(), "Where does my brother live?")
			if err != nil {
				t.Fatal(err)
			}
			checkUnitOf(t, 96, q)
			texts := []string{"My brother's flat is in the centre of Lisbon.", "", "?! …", "The cake needs forty minutes in the oven."}
			d, err := r.EmbedDocuments(t.Context(), texts)
			if err != nil || len(d) != 4 || len(d[0]) != 1 || len(d[1]) != 0 || len(d[2]) != 0 || len(d[3]) != 1 {
				t.Fatalf("documents %v, error %v", d, err)
			}
			checkUnitOf(t, 96, d[0][0])
			if near, far := dot(q, d[0][0]), dot(q, d[3][0]); near < far+.1 {
				t.Errorf("near %.2f, far %.2f", near, far)
			}
			for _, request := range s.Embeds() {
				for _, text := range request.Texts {
					if strings.TrimSpace(text) == "" {
						t.Error("an empty text was sent")
					}
				}
			}
		})
	}
}

// Nothing is asked for texts without meaning, even before the model is known.
func TestRemoteNothingToRead(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	for _, text := range []string{"", " \n", "?!…", "\x00\x01", "\xff\xfe", "---"} {
		if v, err := r.EmbedQuery(t.Context(), text); v != nil || err != nil {
			t.Errorf("EmbedQuery(%q) = %v, %v", text, v, err)
		}
		if d, err := r.EmbedDocuments(t.Context(), []string{text}); len(d) != 1 || d[0] != nil || err != nil {
			t.Errorf("EmbedDocuments(%q) = %v, %v", text, d, err)
		}
	}
	if d, err := r.EmbedDocuments(t.Context(), nil); d != nil || err != nil {
		t.Errorf("no texts: %v, %v", d, err)
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// The last line of the longest memory is found, and every passage fits the model.
func TestRemoteLongDocuments(t *testing.T) {
	tests := []struct{ name, filler, last, query string }{
		{"English", "The weather was mild and the market was full of people who bought bread. ", "Remember that the spare key lies under the third flower pot.", "Where is the spare key?"},
		{"English without end", "the weather was mild and the market was full of people who bought bread ", "remember that the spare key lies under the third flower pot", "Where is the spare key?"},
		{"Chinese", "今天天气很好，市场里有很多人买面包。", "备用钥匙放在第三个花盆下面。", "备用钥匙在哪里？"},
	}
	for _, context := range []int{2048, 128} {
		s := embedtest.Start(t, embedtest.Model{Name: "m", Dim: 256, Context: context})
		for _, tt := range tests {
			for protocol := range protocols() { // openai does not tell the context: it is learned
				t.Run(tt.name+" "+protocol, func(t *testing.T) {
					s.ForgetRequests()
					r := connect(t, protocol, s, embedding.RemoteOptions{Model: "m"})
					filler, last := []rune(strings.Repeat(tt.filler, 8000/len([]rune(tt.filler))+1)), []rune(tt.last)
					long := string(filler[:8000-len(last)]) + tt.last
					d, err := r.EmbedDocuments(t.Context(), []string{long})
					if err != nil {
						t.Fatal(err)
					}
					q, err := r.EmbedQuery(t.Context(), tt.query)
					if err != nil {
						t.Fatal(err)
					}
					with, without := best(q, d[0]), best(q, d[0][:len(d[0])-1])
					if with < without+.003 {
						t.Errorf("similarity %.3f with the last line, %.3f without, %d passages", with, without, len(d[0]))
					}
					whole := 0
					for _, request := range s.Embeds() {
						for _, text := range request.Texts {
							if strings.Contains(text, tt.last) {
								whole++
							}
						}
					}
					if whole == 0 {
						t.Error("the last line was not sent in one piece")
					}
				})
			}
		}
	}
}

func TestRemotePrefixesAndDimensions(t *testing.T) {
	tests := []struct {
		name            string
		options         embedding.RemoteOptions
		query, document string
		dim             int
		version         string
	}{
		{"none", embedding.RemoteOptions{}, "x y", "x y", 64, ""},
		{"of the family", embedding.RemoteOptions{QueryPrefix: "auto", DocumentPrefix: "auto"}, "search_query: x y", "search_document: x y", 64, "prefix-03aa22a9"},
		{"own", embedding.RemoteOptions{QueryPrefix: "Q ", DocumentPrefix: ""}, "Q x y", "x y", 64, "prefix-"},
		{"dimensions", embedding.RemoteOptions{Dimensions: 32}, "x y", "x y", 32, "dim-32"},
	}
	versions := map[string]string{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := embedtest.Start(t, embedtest.Model{Name: "nomic-embed-text"})
			for protocol := range protocols() {
				s.ForgetRequests()
				r := connect(t, protocol, s, tt.options)
				space := probe(t, r)
				if space.Dim != tt.dim || !strings.HasPrefix(space.Version, tt.version) || (tt.version == "") != (space.Version == "") {
					t.Errorf("%s: space %+v", protocol, space)
				}
				if other, ok := versions[space.Version]; ok && other != tt.name {
					t.Errorf("version %q is that of %q too", space.Version, other)
				}
				versions[space.Version] = tt.name
				if _, err := r.EmbedQuery(t.Context(), "x y"); err != nil {
					t.Fatal(err)
				}
				if _, err := r.EmbedDocuments(t.Context(), []string{"x y"}); err != nil {
					t.Fatal(err)
				}
				sent := s.Embeds()
				if got := sent[1].Texts[0]; got != tt.query {
					t.Errorf("%s: query %q, want %q", protocol, got, tt.query)
				}
				if got := sent[2].Texts[0]; got != tt.document {
					t.Errorf("%s: document %q, want %q", protocol, got, tt.document)
				}
				if sent[0].Dimensions != tt.options.Dimensions {
					t.Errorf("%s: asked for %d dimensions", protocol, sent[0].Dimensions)
				}
			}
		})
	}
}

func kindOf(err error) embedding.Kind {
	var re *embedding.RemoteError
	if errors.As(err, &re) {
		return re.Kind
	}
	return ""
}

func TestRemoteKey(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	s := embedtest.Start(t)
	s.RequireKey(key)
	for protocol := range protocols() {
		r := connect(t, protocol, s, embedding.RemoteOptions{Model: "test-embed", APIKey: key})
		probe(t, r)
		for _, wrong := range []string{"", "another"} {
			r = connect(t, protocol, s, embedding.RemoteOptions{Model: "test-embed", APIKey: wrong})
			_, err := r.Probe(t.Context())
			if kindOf(err) != embedding.KindUnauthorized || !strings.Contains(err.Error(), "EMBEDDING_MODEL_API_KEY") {
				t.Errorf("%s: error %v", protocol, err)
			}
		}
		var log bytes.Buffer
		r = connect(t, protocol, s, embedding.RemoteOptions{Model: "test-embed", APIKey: key, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		s.Fail(embedtest.Always(embedtest.Fault{Status: 500, Message: "your key " + key + " is fine, we are not"}))
		for range 4 {
			_, err := r.Probe(t.Context())
			if err == nil || strings.Contains(err.Error(), key) {
				t.Errorf("%s: error %v", protocol, err)
			}
		}
		if strings.Contains(log.String(), key) || !strings.Contains(log.String(), "left alone") {
			t.Errorf("%s: log %s", protocol, &log)
		}
		s.Fail(nil)
	}
}

func TestRemoteClose(t *testing.T) {
	s := embedtest.Start(t)
	s.Fail(embedtest.Always(embedtest.Fault{Hang: true}))
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	done := make(chan error)
	go func() { _, err := r.Probe(t.Context()); done <- err }()
	for len(s.Embeds()) == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; !errors.Is(err, embedding.ErrClosed) {
		t.Errorf("Probe during Close: %v", err)
	}
	if _, err := r.Probe(t.Context()); !errors.Is(err, embedding.ErrClosed) {
		t.Errorf("Probe: %v", err)
	}
	if _, err := r.EmbedQuery(t.Context(), "words"); !errors.Is(err, embedding.ErrClosed) {
		t.Errorf("EmbedQuery: %v", err)
	}
	if _, err := r.EmbedDocuments(t.Context(), []string{"words"}); !errors.Is(err, embedding.ErrClosed) {
		t.Errorf("EmbedDocuments: %v", err)
	}
}

func TestRemoteOptions(t *testing.T) {
	tests := []struct {
		name    string
		options embedding.RemoteOptions
		want    string // the normalised URL, or "" for an error
	}{
		{"default", embedding.RemoteOptions{}, "http://127.0.0.1:11434"},
		{"slashes and capitals", embedding.RemoteOptions{URL: " HTTP://Example.COM:80/Ollama// "}, "http://example.com:80/Ollama"},
		{"query", embedding.RemoteOptions{URL: "http://h/?a=b#c"}, "http://h"},
		{"no scheme", embedding.RemoteOptions{URL: "localhost:11434"}, ""},
		{"password", embedding.RemoteOptions{URL: "http://user:hunter2@h"}, ""},
		{"broken password", embedding.RemoteOptions{URL: "http://user:hunter2%@h"}, ""},
		{"negative dimensions", embedding.RemoteOptions{Dimensions: -1}, ""},
		{"huge dimensions", embedding.RemoteOptions{Dimensions: 1 << 20}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := embedding.NewOllama(tt.options)
			if tt.want == "" {
				if err == nil || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || r.Space().BaseURL != tt.want {
				t.Errorf("%+v, error %v", r, err)
			}
		})
	}
}

func TestRemoteConcurrentUse(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 10 {
				if i == 0 && j == 5 {
					r.Forget()
				}
				if _, err := r.EmbedQuery(t.Context(), "question "+strings.Repeat("x", j)); err != nil {
					t.Error(err)
				}
				if d, err := r.EmbedDocuments(t.Context(), []string{"a text", "another"}); err != nil || len(d) != 2 {
					t.Error(err)
				}
				r.Space()
			}
		})
	}
	group.Wait()
}
