package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/mark3labs/mcp-go/mcp"
	sdkserver "github.com/mark3labs/mcp-go/server"
)

// verdict carries an error past the SDK, which answers every error of a handler with
// the code for an internal one.
type verdict struct{ err *rpcError }

type verdictKey struct{}

// noteError is called by the SDK with the error that it is about to answer.
func noteError(ctx context.Context, err error) {
	v, ok := ctx.Value(verdictKey{}).(*verdict)
	if !ok {
		return
	}
	var own *rpcError
	var unparsable *sdkserver.UnparsableMessageError
	switch {
	case errors.As(err, &own):
		v.err = own
	case errors.As(err, &unparsable):
		v.err = rpcErrorf(sdk.INVALID_PARAMS, "the params of %s do not have the right form", unparsable.GetMethod())
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			v.err = rpcErrorf(sdk.INVALID_PARAMS, "%s of %s must not be of type %s", wrong.Field, unparsable.GetMethod(), wrong.Value)
			if number, ok := strings.CutPrefix(wrong.Value, "number "); ok {
				v.err = rpcErrorf(sdk.INVALID_PARAMS, "the number %s in %s is too large to be read; nothing was done; give one within the limits that the schema of the call names", shorten(number, 48), unparsable.GetMethod())
			}
		}
	}
}

// dispatch answers one message; nil for what needs no answer. It does not panic.
func (s *Server) dispatch(ctx context.Context, m message) (reply sdk.JSONRPCMessage) {
	defer func() {
		if p := recover(); p != nil {
			text := s.panicked(m.method, p)
			reply = nil
			if m.id != nil {
				reply = errorReply(m.id, rpcErrorf(sdk.INTERNAL_ERROR, "%s", text))
			}
		}
	}()
	if m.method == "" {
		s.log.Debug("response without a request", "id", string(m.id))
		return nil
	}
	meta := m.params["_meta"]
	c, err := identify(s.o.Caller, meta)
	if m.id != nil {
		if len(meta) > 0 && meta[0] != '{' && string(meta) != "null" {
			return errorReply(m.id, rpcErrorf(sdk.INVALID_PARAMS, "_meta must be an object, not %s", describe(meta)))
		}
		if bad := checkSurrogates(m); bad != nil {
			return errorReply(m.id, bad)
		}
		if err != nil && m.method != string(sdk.MethodToolsCall) {
			return errorReply(m.id, rpcErrorf(sdk.INVALID_PARAMS, "%v", err))
		}
		if bad := s.preflight(m); bad != nil {
			return errorReply(m.id, bad)
		}
	}
	v := &verdict{}
	ctx = context.WithValue(withIdentity(ctx, c, err), verdictKey{}, v)
	return s.finish(m, s.sdk.HandleMessage(ctx, m.raw), v)
}

// finish puts the id back as it was written, which the SDK reads as a float, and the
// error that was meant.
func (s *Server) finish(m message, reply sdk.JSONRPCMessage, v *verdict) sdk.JSONRPCMessage {
	if m.id == nil {
		return nil
	}
	id := sdk.NewRequestId(m.id)
	switch r := reply.(type) {
	case sdk.JSONRPCResponse:
		r.ID = id
		return r
	case sdk.JSONRPCError:
		r.ID = id
		switch {
		case v.err != nil:
			r.Error = sdk.NewJSONRPCErrorDetails(v.err.code, v.err.message, v.err.data)
		case r.Error.Code == sdk.INTERNAL_ERROR:
			s.log.Error("internal error", "in", m.method, "err", r.Error.Message)
			r.Error = sdk.NewJSONRPCErrorDetails(sdk.INTERNAL_ERROR, internalError, nil)
		}
		return r
	case nil:
		s.log.Error("no answer", "in", m.method)
		return errorReply(m.id, rpcErrorf(sdk.INTERNAL_ERROR, "%s", internalError))
	}
	return reply
}

// preflight refuses requests for names that do not exist, and params of a wrong form,
// with more help than the SDK gives.
func (s *Server) preflight(m message) *rpcError {
	switch sdk.MCPMethod(m.method) {
	case sdk.MethodToolsCall:
		var known []string
		for _, t := range s.tools {
			known = append(known, t.name)
		}
		return checkName(m, "name", "tool", known)
	case sdk.MethodPromptsGet:
		if err := checkName(m, "name", "prompt", promptNames()); err != nil {
			return err
		}
		return checkPromptArguments(m)
	case sdk.MethodResourcesRead, sdk.MethodResourcesSubscribe, sdk.MethodResourcesUnsubscribe:
		if err := checkName(m, "uri", "resource", nil); err != nil {
			return err
		}
		var uri string
		_ = json.Unmarshal(m.params["uri"], &uri) // checked just now
		if m.method == string(sdk.MethodResourcesSubscribe) && s.watch.full() {
			return rpcErrorf(sdk.INVALID_PARAMS, "there are %d subscriptions already, which is the limit; unsubscribe from some first", maxSubscriptions)
		}
		return checkURI(uri, m.method, modern(m))
	case sdk.MethodSubscriptionsListen:
		var uris []string
		if raw := parseObject(m.params["notifications"])["resourceSubscriptions"]; raw != nil && json.Unmarshal(raw, &uris) != nil {
			return rpcErrorf(sdk.INVALID_PARAMS, "resourceSubscriptions must be an array of URIs, not %s", describe(raw))
		}
		for _, uri := range uris {
			if err := checkURI(uri, m.method, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// modern reports whether m is of the protocol's stateless era, which has other codes.
func modern(m message) bool {
	var version string
	_ = json.Unmarshal(parseObject(m.params["_meta"])[sdk.MetaKeyProtocolVersion], &version) // absent in the older era
	return sdk.IsModernProtocol(version)
}

// checkName checks that a param of m is a string, and one of those known.
func checkName(m message, param, what string, known []string) *rpcError {
	raw := m.params[param]
	var name string
	switch {
	case raw == nil:
		return rpcErrorf(sdk.INVALID_PARAMS, "params.%s of %s is missing", param, m.method)
	case json.Unmarshal(raw, &name) != nil || raw[0] != '"':
		return rpcErrorf(sdk.INVALID_PARAMS, "params.%s of %s must be a string, not %s", param, m.method, describe(raw))
	case known != nil && !slices.Contains(known, name):
		return rpcErrorf(sdk.INVALID_PARAMS, "%v", unknownName(what, name, known))
	}
	return nil
}

func checkPromptArguments(m message) *rpcError {
	raw := m.params["arguments"]
	if raw == nil || string(raw) == "null" {
		return nil
	}
	var name string
	_ = json.Unmarshal(m.params["name"], &name) // checked above
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return rpcErrorf(sdk.INVALID_PARAMS, "arguments must be an object, not %s", describe(raw))
	}
	allowed := promptArguments(name)
	for key, value := range given {
		if !slices.Contains(allowed, key) {
			return rpcErrorf(sdk.INVALID_PARAMS, "%v", unknownName("argument", key, allowed))
		}
		if value[0] != '"' {
			return rpcErrorf(sdk.INVALID_PARAMS, "%s must be a string, not %s", key, describe(value))
		}
	}
	return nil
}

// guarded runs a handler that answers with an error instead of a result, for resources,
// prompts and completion. What is a user's mistake becomes an [*rpcError] that says what
// to do; a fault of ours is logged and hidden.
func guarded[T any](s *Server, ctx context.Context, what string, run func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = rpcErrorf(sdk.INTERNAL_ERROR, "%s", s.panicked(what, p))
		}
	}()
	out, err = run()
	var own *rpcError
	if err == nil || errors.As(err, &own) {
		return out, err
	}
	text := s.problem(what, err)
	code := sdk.INVALID_PARAMS
	if text == internalError {
		code = sdk.INTERNAL_ERROR
	}
	return out, fmt.Errorf("%s: %w", what, rpcErrorf(code, "%s", text))
}
