package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	sdk "github.com/mark3labs/mcp-go/mcp"
)

// maxDepth bounds the nesting of a message. Nothing of the protocol is nested deeper
// than a dozen levels, and parsers recurse.
const maxDepth = 200

// maxValues bounds the values in a message: the largest honest one, a list of tags, has
// a few dozen, and parsing takes some hundred bytes of memory for each.
const maxValues = 20_000

// maxMethod bounds the name of a method, which errors repeat.
const maxMethod = 128

// rpcError is an error of the protocol, as opposed to one that a tool reports.
type rpcError struct {
	code    int
	message string
	data    any
}

func (e *rpcError) Error() string { return e.message }

func rpcErrorf(code int, format string, a ...any) *rpcError {
	return &rpcError{code: code, message: fmt.Sprintf(format, a...)}
}

// message is one checked JSON-RPC message.
type message struct {
	id     json.RawMessage // nil in a notification
	method string          // empty in a response
	params object          // nil if there are none
	raw    json.RawMessage // the message, with nothing but the members of JSON-RPC
}

// object is a JSON object taken apart once, not at every look into it.
type object map[string]json.RawMessage

// parseObject takes raw apart; nil if it is no object.
func parseObject(raw json.RawMessage) object {
	var o object
	if len(raw) == 0 || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// parseMessage checks that data is one JSON-RPC request, notification or response. The
// message it returns with an error holds the id to answer under, if there is one.
func parseMessage(data []byte) (message, *rpcError) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err := checkJSON(data); err != nil {
		scan := &topScanner{}
		scan.feed(data)
		return message{id: scan.id}, err
	}
	members := parseObject(data)
	if members == nil {
		if data[0] == '[' {
			return message{}, rpcErrorf(sdk.INVALID_REQUEST, "batches of requests are not supported; send each on its own line")
		}
		return message{}, rpcErrorf(sdk.INVALID_REQUEST, "a message must be a JSON object, not %s", describe(data))
	}
	return envelope(members)
}

func checkJSON(data []byte) *rpcError {
	switch {
	case !utf8.Valid(data):
		return rpcErrorf(sdk.PARSE_ERROR, "the message is not valid UTF-8; send UTF-8 whatever the system's code page is")
	}
	switch deep, values := shape(data); {
	case deep > maxDepth:
		return rpcErrorf(sdk.PARSE_ERROR, "the message is nested more than %d levels deep", maxDepth)
	case values > maxValues:
		return rpcErrorf(sdk.INVALID_REQUEST, "the message has more than %s values; nothing was done; send less in one call", thousands(maxValues))
	}
	if json.Valid(data) {
		return nil
	}
	var v json.RawMessage
	if err := json.Unmarshal(data, &v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return rpcErrorf(sdk.PARSE_ERROR, "the message is not valid JSON: %v at byte %d; send one JSON object per line", syntax, syntax.Offset)
		}
		return rpcErrorf(sdk.PARSE_ERROR, "the message is not valid JSON: %v", err)
	}
	return nil
}

func envelope(members object) (message, *rpcError) {
	var m message
	if id, ok := members["id"]; ok {
		if !validID(id) {
			return m, rpcErrorf(sdk.INVALID_REQUEST, "id must be a string or a number, not %s", describe(id))
		}
		m.id = id
	}
	if v := members["jsonrpc"]; string(v) != `"2.0"` {
		return m, rpcErrorf(sdk.INVALID_REQUEST, `jsonrpc must be "2.0"`)
	}
	if raw, ok := members["method"]; ok {
		if json.Unmarshal(raw, &m.method) != nil || m.method == "" {
			return m, rpcErrorf(sdk.INVALID_REQUEST, "method must be a string, not %s", describe(raw))
		}
		if len(m.method) > maxMethod {
			return m, rpcErrorf(sdk.METHOD_NOT_FOUND, "there is no method of %d bytes", len(m.method))
		}
	} else if members["result"] == nil && members["error"] == nil {
		return m, rpcErrorf(sdk.INVALID_REQUEST, "a request needs a method")
	}
	if params := members["params"]; params != nil && string(params) != "null" {
		if params[0] != '{' {
			return m, rpcErrorf(sdk.INVALID_PARAMS, "params must be an object, not %s", describe(params))
		}
		if err := checkKeys(params, "params"); err != nil {
			return m, err
		}
		m.params = parseObject(params)
		if err := checkKeys(m.params["_meta"], "_meta"); err != nil {
			return m, err
		}
	} else {
		delete(members, "params")
	}
	// The SDK matches names without regard to case: it must see no members but these.
	raw := []byte(`{"jsonrpc":"2.0"`)
	for _, name := range []string{"id", "method", "params", "result", "error"} {
		if v := members[name]; v != nil {
			raw = append(append(raw, `,"`+name+`":`...), v...)
		}
	}
	m.raw = append(raw, '}')
	return m, nil
}

// shape is the deepest nesting of arrays and objects in data, and about how many values
// there are in them.
func shape(data []byte) (deepest, values int) {
	now := 0
	inText, escaped := false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped = c == '\\'
			inText = c != '"'
		case c == '"':
			inText = true
		case c == '{', c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}', c == ']':
			now--
		case c == ',':
			values++
		}
	}
	return deepest, values
}

// errorReply is the answer to a request that failed before or outside the SDK.
func errorReply(id json.RawMessage, err *rpcError) sdk.JSONRPCError {
	reply := sdk.JSONRPCError{JSONRPC: sdk.JSONRPC_VERSION, Error: sdk.NewJSONRPCErrorDetails(err.code, err.message, err.data)}
	if id != nil {
		reply.ID = sdk.NewRequestId(id)
	}
	return reply
}
