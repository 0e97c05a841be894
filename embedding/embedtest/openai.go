package embedtest

import (
	"fmt"
	"net/http"
	"time"
)

func openaiFail(w http.ResponseWriter, status int, message string) {
	sendJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": errorType(status), "param": nil, "code": nil}})
}

func errorType(status int) string {
	switch {
	case status == http.StatusNotFound:
		return "not_found_error"
	case status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

func (s *Server) openaiModels(w http.ResponseWriter, _ query, f *Fault) {
	s.mu.Lock()
	models := make([]map[string]any, 0, len(s.models))
	for _, m := range s.models {
		models = append(models, map[string]any{"id": tagged(m.Name), "object": "model", "created": time.Now().Unix(), "owned_by": "library"})
	}
	s.mu.Unlock()
	f.send(w, map[string]any{"object": "list", "data": models})
}

func (s *Server) openaiEmbed(w http.ResponseWriter, q query, f *Fault) {
	m, ok := s.model(q.Model)
	switch {
	case !ok:
		openaiFail(w, http.StatusNotFound, fmt.Sprintf("model %q not found, try pulling it first", q.Model))
		return
	case len(q.texts) == 0:
		openaiFail(w, http.StatusBadRequest, "invalid input")
		return
	}
	strict := false
	q.Truncate = &strict // services with this protocol do not cut
	vectors, tokens, tooLong := s.answer(m, q)
	if tooLong {
		openaiFail(w, http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens, please reduce the length of the input.", m.Context))
		return
	}
	data := []map[string]any{}
	for i, v := range edited(f, vectors, q) {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	f.send(w, map[string]any{"object": "list", "data": data, "model": q.Model, "usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}})
}
