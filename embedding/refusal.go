package embedding

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// broken makes an error of a request without an answer. The end of the caller's
// context is told from a timeout of our own.
func (c *conn) broken(parent context.Context, err error, waited time.Duration) error {
	if errors.Is(parent.Err(), context.Canceled) {
		return parent.Err()
	}
	e := c.fail(KindUnreachable, "the connection to %s broke off", c.base)
	e.cause = withoutURL(err)
	var (
		redirect *elsewhere
		dns      *net.DNSError
		op       *net.OpError
		timeout  interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &redirect):
		e.Kind, e.Message = KindBadAnswer, c.voice+": "+c.base+" "+redirect.Error()+", which is not followed (set EMBEDDING_MODEL_URL to the server's own address)"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Kind = KindTimeout
		e.Message = c.voice + ": no answer from " + c.base + " within " + waited.Round(10*time.Millisecond).String()
	case errors.As(err, &dns):
		e.Message = c.voice + ": host of " + c.base + " not found"
	case errors.As(err, &op) && op.Op == "dial":
		e.Message = c.voice + ": cannot connect to " + c.base + " (" + c.startup + ")"
	case strings.Contains(err.Error(), "x509:"), strings.Contains(err.Error(), "tls:"):
		e.Message = c.voice + ": no trusted connection to " + c.base + ": " + serverText(withoutURL(err).Error(), c.key, nil)
	default: // reset, or closed before an answer: the next try gets a new connection
		e.Retryable = true
	}
	return e
}

// withoutURL drops the method and address that package net/http puts around an error.
func withoutURL(err error) error {
	var around *url.Error
	if errors.As(err, &around) {
		return around.Err
	}
	return err
}

// refused makes an error of a status other than 200.
func (c *conn) refused(resp *http.Response, body []byte, x exchange) error {
	text, code, known := errorText(body)
	said := serverText(text, c.key, x.sent)
	e := c.fail(KindServer, "status %d: %s", resp.StatusCode, said)
	if said == "" {
		e = c.fail(KindServer, "status %d without a message", resp.StatusCode)
	}
	e.Status, e.RetryAfter = resp.StatusCode, retryAfter(resp.Header, time.Now())
	lower := strings.ToLower(text)
	hint := func(s string) { e.Message += " (" + s + ")" }
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Kind = KindUnauthorized
		hint("check EMBEDDING_MODEL_API_KEY")
	case status == http.StatusTooManyRequests:
		e.Kind, e.Retryable = KindRateLimited, code != "insufficient_quota"
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		e.Retryable = true
	case status == http.StatusRequestTimeout:
		e.Kind, e.Retryable = KindTimeout, true
	case isTooLong(lower) && (status == 500 || status == 400 || status == 413 || status == 422):
		e.Kind, e.tooLong = KindBadInput, true
	case status == 500 && strings.Contains(lower, "unsupported value: nan"):
		e.Kind = KindBadInput
		hint("the model makes no numbers of this text")
	case strings.Contains(lower, "unqualified name"), strings.Contains(lower, "invalid model name"):
		e.Kind = KindModelMissing
		hint("check EMBEDDING_MODEL_NAME")
	case status == http.StatusNotFound && known && (strings.Contains(lower, "model") || code == "model_not_found"):
		e.Kind = KindModelMissing
		e.Message = c.voice + ": model \"" + x.model + "\" not found (" + c.pullHint(x.model) + ")"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status < 400:
		e.Kind = KindBadAnswer
		e.Message = c.fail("", "%s has no %s, status %d (%s)", c.base, x.path, status, c.urlHint).Message
	case status < 500:
		e.Kind = KindBadInput
	}
	return e
}

// errorText finds the message in the shapes that servers use: {"error":"..."},
// {"error":{"message":"...","code":...}}, {"message":"..."}, {"detail":"..."},
// or plain text. known is false for text that is no such JSON.
func errorText(body []byte) (text, code string, known bool) {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    any             `json:"code"`
	}
	if json.Unmarshal(body, &shape) != nil {
		if strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
			return "a web page instead of a message", "", false
		}
		return string(body), "", false
	}
	code, _ = shape.Code.(string)
	var inner struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(shape.Error, &inner) == nil && inner.Message != "" {
		if s, ok := inner.Code.(string); ok {
			code = s
		}
		return inner.Message, code, true
	}
	for _, raw := range []json.RawMessage{shape.Error, shape.Message, shape.Detail} {
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text, code, true
		}
	}
	for _, raw := range []json.RawMessage{shape.Error, shape.Detail} {
		if len(raw) > 0 && string(raw) != "null" {
			return string(raw), code, true
		}
	}
	return "", code, false
}

// isTooLong knows the ways in which servers say that a text is beyond the model's
// input: Ollama, OpenAI and vLLM, llama.cpp, text-embeddings-inference.
func isTooLong(lower string) bool {
	for _, s := range []string{"context length", "context size", "context window", "maximum context", "input length", "too many tokens",
		"input is too long", "input is too large", "physical batch size", "must have less than", "maximum sequence length", "token limit"} {
		if strings.Contains(lower, s) {
			return true
		}
	}
	return false
}
