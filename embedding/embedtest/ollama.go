package embedtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

func (s *Server) handler(gone <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Ollama is running")
	})
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		(*Fault)(nil).send(w, map[string]string{"version": "0.0.0"})
	})
	handle := func(pattern string, fail failure, h handlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, gone, fail, h) })
	}
	handle("GET /api/tags", nativeFail, s.tags)
	handle("POST /api/show", nativeFail, s.show)
	handle("POST /api/embed", nativeFail, s.embed)
	handle("GET /v1/models", openaiFail, s.openaiModels)
	handle("POST /v1/embeddings", openaiFail, s.openaiEmbed)
	for _, path := range []string{"/api/show", "/api/embed", "/v1/embeddings"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			plain(w, http.StatusMethodNotAllowed, "405 method not allowed")
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusNotFound, "404 page not found") })
	return mux
}

type (
	failure     func(w http.ResponseWriter, status int, message string)
	handlerFunc func(w http.ResponseWriter, q query, f *Fault)
)

// query is a request's body, as far as any path needs it.
type query struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Truncate   *bool           `json:"truncate"`
	Dimensions int             `json:"dimensions"`

	texts   []string
	badness string
	request Request
}

// serve reads, records and checks a request before its handler sees it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, gone <-chan struct{}, fail failure, h handlerFunc) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
	if err != nil {
		return // the client is gone
	}
	var q query
	if r.Method == http.MethodPost {
		switch err := json.Unmarshal(body, &q); {
		case len(body) == 0:
			q.badness = "missing request body"
		case err != nil:
			q.badness = "unexpected EOF"
		default:
			q.texts, q.badness = inputs(q.Input)
		}
	}
	request := Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: string(body[:min(len(body), 1<<20)]),
		Model: q.Model, Texts: q.texts, Dimensions: q.Dimensions}
	request, fault := s.record(request)
	q.request = request
	if fault != nil && fault.meet(w, r, gone, fail) {
		return
	}
	switch {
	case !s.authorized(r):
		fail(w, http.StatusUnauthorized, "unauthorized")
	case q.badness != "":
		fail(w, http.StatusBadRequest, q.badness)
	default:
		h(w, q, fault)
	}
}

// inputs reads a text or a list of texts.
func inputs(raw json.RawMessage) (texts []string, badness string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return nil, ""
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, ""
	}
	if json.Unmarshal(raw, &texts) != nil {
		return nil, "invalid input type"
	}
	return texts, ""
}

func nativeFail(w http.ResponseWriter, status int, message string) {
	sendJSON(w, status, map[string]string{"error": message})
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps of strings come here
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func (s *Server) tags(w http.ResponseWriter, _ query, f *Fault) {
	s.mu.Lock()
	models := make([]map[string]any, 0, len(s.models))
	for _, m := range s.models {
		models = append(models, map[string]any{
			"name": tagged(m.Name), "model": tagged(m.Name), "modified_at": time.Now().Format(time.RFC3339Nano), "size": 1000 * m.Dim,
			"digest": m.digest(), "details": details(),
		})
	}
	s.mu.Unlock()
	f.send(w, map[string]any{"models": models})
}

func details() map[string]any {
	return map[string]any{"parent_model": "", "format": "gguf", "family": "bert", "families": []string{"bert"},
		"parameter_size": "1.0M", "quantization_level": "F32"}
}

func (s *Server) show(w http.ResponseWriter, q query, f *Fault) {
	if q.Model == "" {
		nativeFail(w, http.StatusBadRequest, "model is required")
		return
	}
	m, ok := s.model(q.Model)
	if !ok {
		nativeFail(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", q.Model))
		return
	}
	answer := map[string]any{
		"template": "{{ .Prompt }}", "details": details(), "modified_at": time.Now().Format(time.RFC3339Nano),
		"model_info": map[string]any{
			"general.architecture": "bert", "bert.embedding_length": m.Dim, "bert.context_length": m.Context, "tokenizer.ggml.tokens": nil,
		},
	}
	if len(m.Capabilities) > 0 {
		answer["capabilities"] = m.Capabilities
	}
	f.send(w, answer)
}

func (s *Server) embed(w http.ResponseWriter, q query, f *Fault) {
	if q.Model == "" || strings.HasPrefix(q.Model, "!") {
		nativeFail(w, http.StatusInternalServerError, "unqualified name: registry.ollama.ai/library/!MISSING!:latest")
		return
	}
	m, ok := s.model(q.Model)
	if !ok {
		nativeFail(w, http.StatusNotFound, fmt.Sprintf("model %q not found, try pulling it first", q.Model))
		return
	}
	if len(q.texts) == 0 {
		f.send(w, map[string]any{"model": q.Model, "embeddings": []any{}})
		return
	}
	vectors, tokens, tooLong := s.answer(m, q)
	if tooLong {
		nativeFail(w, http.StatusBadRequest, "the input length exceeds the context length")
		return
	}
	f.send(w, map[string]any{"model": q.Model, "embeddings": edited(f, vectors, q), "total_duration": 1000, "load_duration": 100, "prompt_eval_count": tokens})
}

// answer is the right vectors.
func (s *Server) answer(m Model, q query) (vectors []any, tokens int, tooLong bool) {
	for _, text := range q.texts {
		head, n := headOf(text, m.Context)
		if len(head) < len(text) && q.Truncate != nil && !*q.Truncate {
			return nil, 0, true
		}
		tokens += n
		v := s.weights.vector(m, head)
		if q.Dimensions > 0 && q.Dimensions < m.Dim { // others are passed over silently
			v = normalised(v[:q.Dimensions])
		}
		vectors = append(vectors, v)
	}
	return vectors, tokens, false
}

func edited(f *Fault, vectors []any, q query) []any {
	if f == nil || f.Edit == nil {
		return vectors
	}
	return f.Edit(vectors, q.request)
}

// headOf returns the first tokens of a text, and how many there are: words, and characters
// beyond ASCII.
func headOf(text string, context int) (head string, tokens int) {
	inWord := false
	for i, r := range text {
		start := false
		switch {
		case r == ' ' || r == '\n' || r == '\t':
			inWord = false
		case r >= 0x80:
			start, inWord = true, false
		case !inWord:
			start, inWord = true, true
		}
		if start {
			if tokens == context {
				return text[:i], tokens
			}
			tokens++
		}
	}
	return text, tokens
}
