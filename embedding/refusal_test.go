package embedding

import (
	"net/http"
	"testing"
)

// What servers say in their own words, and what is made of it.
func TestRefused(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		kind       Kind
		tooLong    bool
	}{
		{"ollama, too long", `{"error":"the input length exceeds the context length"}`, 400, KindBadInput, true},
		{"openai and vLLM, too long", `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9000 tokens","type":"invalid_request_error"}}`, 400, KindBadInput, true},
		{"llama.cpp, too long", `{"error":{"code":500,"message":"input is too large to process. increase the physical batch size","type":"server_error"}}`, 500, KindBadInput, true},
		{"text-embeddings-inference, too long", "{\"error\":\"Input validation error: `inputs` must have less than 512 tokens. Given: 600\",\"error_type\":\"Validation\"}", 413, KindBadInput, true},
		{"too long is no reason for a missing model", `{"error":"model \"context length\" not found"}`, 404, KindModelMissing, false},
		{"ollama, NaN", `{"error":"failed to encode response: json: unsupported value: NaN"}`, 500, KindBadInput, false},
		{"ollama, bad name", `{"error":"unqualified name: registry.ollama.ai/library/!MISSING!:latest"}`, 500, KindModelMissing, false},
		{"openai, model missing", `{"error":{"message":"The model does not exist or you do not have access to it.","code":"model_not_found"}}`, 404, KindModelMissing, false},
		{"fastapi", `{"detail":"Not Found"}`, 404, KindBadAnswer, false},
		{"fastapi, list", `{"detail":[{"loc":["body","input"],"msg":"field required"}]}`, 422, KindBadInput, false},
		{"message", `{"object":"error","message":"engine is dead","code":50001}`, 500, KindServer, false},
		{"empty", "", 500, KindServer, false},
		{"unknown client error", "teapot", 418, KindBadInput, false},
		{"unknown server error", "busy", 529, KindServer, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &conn{voice: "test", pullHint: func(string) string { return "hint" }}
			e := asRemote(c.refused(&http.Response{StatusCode: tt.status}, []byte(tt.body), exchange{model: "m"}))
			if e == nil || e.Kind != tt.kind || e.tooLong != tt.tooLong || e.Status != tt.status {
				t.Errorf("%+v", e)
			}
		})
	}
}
