package embedtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"reverie/embedding"
	"reverie/embedding/embedtest"
)

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// post returns the status and the JSON of an answer, or its text.
func post(t *testing.T, s *embedtest.Server, path, body string) (int, any) {
	t.Helper()
	resp, err := http.Post(s.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		v = string(b)
	}
	return resp.StatusCode, v
}

// The errors and the odd successes are those that were recorded from a real server.
func TestAnswersLikeOllama(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "m", Dim: 8, Context: 4})
	native := func(text string) any { return map[string]any{"error": text} }
	tests := []struct {
		name, path, body string
		status           int
		want             any // nil: not looked at
	}{
		{"unknown model", "/api/embed", `{"model":"nope","input":"a"}`, 404, native(`model "nope" not found, try pulling it first`)},
		{"no model", "/api/embed", `{"input":"a"}`, 500, native("unqualified name: registry.ollama.ai/library/!MISSING!:latest")},
		{"empty list", "/api/embed", `{"model":"m","input":[]}`, 200, map[string]any{"model": "m", "embeddings": []any{}}},
		{"empty text", "/api/embed", `{"model":"m","input":""}`, 200, map[string]any{"model": "m", "embeddings": []any{}}},
		{"no input", "/api/embed", `{"model":"m"}`, 200, map[string]any{"model": "m", "embeddings": []any{}}},
		{"numbers", "/api/embed", `{"model":"m","input":[1]}`, 400, native("invalid input type")},
		{"malformed", "/api/embed", `{"model":`, 400, native("unexpected EOF")},
		{"no body", "/api/embed", ``, 400, native("missing request body")},
		{"too long", "/api/embed", `{"model":"m","input":["a b c d e"],"truncate":false}`, 400, native("the input length exceeds the context length")},
		{"too long but cut", "/api/embed", `{"model":"m","input":["a b c d e"]}`, 200, nil},
		{"show unknown", "/api/show", `{"model":"nope"}`, 404, native("model 'nope' not found")},
		{"show nothing", "/api/show", `{}`, 400, native("model is required")},
		{"unknown route", "/api/nope", `{}`, 404, "404 page not found"},
		{"wrong method", "/api/tags", `{}`, 404, nil},
		{"v1 unknown model", "/v1/embeddings", `{"model":"nope","input":"a"}`, 404,
			map[string]any{"error": map[string]any{"message": `model "nope" not found, try pulling it first`, "type": "not_found_error", "param": nil, "code": nil}}},
		{"v1 empty list", "/v1/embeddings", `{"model":"m","input":[]}`, 400,
			map[string]any{"error": map[string]any{"message": "invalid input", "type": "invalid_request_error", "param": nil, "code": nil}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, got := post(t, s, tt.path, tt.body)
			if status != tt.status {
				t.Errorf("status %d, want %d: %v", status, tt.status, got)
			}
			if tt.want != nil {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestDimensions(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "m", Dim: 16})
	for asked, want := range map[int]int{4: 4, 0: 16, -1: 16, 1000: 16} { // others than smaller ones are passed over
		_, got := post(t, s, "/api/embed", fmt.Sprintf(`{"model":"m","input":"a","dimensions":%d}`, asked))
		vector := got.(map[string]any)["embeddings"].([]any)[0].([]any)
		var square float64
		for _, x := range vector {
			square += x.(float64) * x.(float64)
		}
		if len(vector) != want || math.Abs(square-1) > 1e-5 {
			t.Errorf("dimensions %d: %d numbers, squared length %v", asked, len(vector), square)
		}
	}
}

// Vectors keep about the cosines of the built-in embedder within a model, and say
// nothing to those of another.
func TestVectorsMeanSomething(t *testing.T) {
	const a, b, c = "My brother's flat is in the centre of Lisbon.", "Our cousin lives in an apartment in Porto.", "The cake needs forty minutes in the oven."
	builtin := embedding.NewBuiltin(embedding.BuiltinOptions{})
	d, err := builtin.EmbedDocuments(t.Context(), []string{a, b, c})
	if err != nil {
		t.Fatal(err)
	}
	s := embedtest.Start(t, embedtest.Model{Name: "m", Dim: 768}, embedtest.Model{Name: "other", Dim: 768, Seed: 5})
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
		texts := []string{a, b, c}
		got, want := dot(s.Vector("m", texts[pair[0]]), s.Vector("m", texts[pair[1]])), dot(d[pair[0]][0], d[pair[1]][0])
		if math.Abs(got-want) > .12 {
			t.Errorf("cosine %.2f, of the built-in embedder %.2f", got, want)
		}
	}
	if got := dot(s.Vector("m", a), s.Vector("other", a)); math.Abs(got) > .2 {
		t.Errorf("cosine %.2f between models", got)
	}
	before := s.Vector("m", a)
	s.Swap("m", 5)
	if got := dot(before, s.Vector("m", a)); math.Abs(got) > .2 {
		t.Errorf("cosine %.2f between the weights before and after", got)
	}
	if got := dot(s.Vector("m", a), s.Vector("other", "search_query: "+a)); got < .9999 {
		t.Errorf("a prefix changes the vector: cosine %.4f", got)
	}
	if got := dot(s.Vector("m", "한국어 문장"), s.Vector("m", "另一")); math.Abs(got) > .9 {
		t.Errorf("texts that the built-in embedder cannot read are equal: %.2f", got)
	}
}

func TestStopAndRestart(t *testing.T) {
	s := embedtest.Start(t)
	url := s.URL()
	s.Stop()
	s.Stop()
	if resp, err := http.Get(url); err == nil {
		resp.Body.Close()
		t.Fatal("a stopped server answers")
	}
	s.Restart()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "Ollama is running" || err != nil {
		t.Errorf("%s, %v", b, err)
	}
	if s.URL() != url {
		t.Errorf("address %s, before %s", s.URL(), url)
	}
}

// A client of the protocol that others wrote understands the server, its errors included.
func TestUnderstoodByAnOpenAIClient(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "m", Dim: 24})
	s.RequireKey("key")
	config := openai.DefaultConfig("key")
	config.BaseURL = s.URL() + "/v1"
	client := openai.NewClientWithConfig(config)
	models, err := client.ListModels(t.Context())
	if err != nil || len(models.Models) != 1 || models.Models[0].ID != "m:latest" {
		t.Errorf("models %+v, error %v", models, err)
	}
	got, err := client.CreateEmbeddings(t.Context(), openai.EmbeddingRequestStrings{Input: []string{"first", "second"}, Model: "m"})
	if err != nil || len(got.Data) != 2 || got.Data[1].Index != 1 || dot(got.Data[1].Embedding, s.Vector("m", "second")) < .9999 || got.Usage.TotalTokens != 2 {
		t.Errorf("embeddings %+v, error %v", got, err)
	}
	_, err = client.CreateEmbeddings(t.Context(), openai.EmbeddingRequestStrings{Input: []string{"first"}, Model: "nope"})
	var api *openai.APIError
	if !errors.As(err, &api) || api.HTTPStatusCode != 404 || !strings.Contains(api.Message, "try pulling it first") {
		t.Errorf("error %v", err)
	}
	s.Fail(embedtest.First(1, embedtest.RateLimited("3")))
	if _, err = client.CreateEmbeddings(t.Context(), openai.EmbeddingRequestStrings{Input: []string{"first"}, Model: "m"}); !errors.As(err, &api) || api.HTTPStatusCode != 429 {
		t.Errorf("error %v", err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	s := embedtest.Start(b, embedtest.Model{Name: "m", Dim: 768})
	n := 0
	for b.Loop() {
		n++
		s.Vector("m", fmt.Sprintf("a short memory about the number %d and the garden", n))
	}
}
