package mcp

import (
	"bytes"
	"encoding/json"
	"strings"

	sdk "github.com/mark3labs/mcp-go/mcp"

	"reverie/internal/cleantext"
)

// paramNames are the names that the protocol gives to the members of params, as the SDK
// may look for them.
var paramNames = []string{
	"_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor", "inputResponses", "level", "name",
	"notifications", "progress", "progressToken", "protocolVersion", "reason", "ref", "requestId", "requestState", "task", "total", "uri",
}

// checkKeys refuses members of an object that the SDK, which matches names without
// regard to case and takes the last of several, would understand otherwise than this
// package or a proxy in between: "name" beside "NAME", "Uri" for "uri", a name twice.
func checkKeys(raw json.RawMessage, what string) *rpcError {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil // another check speaks of what is no object
	}
	seen := map[string]string{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil
		}
		key, _ := t.(string)
		lower := strings.ToLower(key)
		if before, ok := seen[lower]; ok {
			return rpcErrorf(sdk.INVALID_PARAMS, "%s has both %s and %s; give each name once, spelt exactly", what, quote(shorten(before, 48)), quote(shorten(key, 48)))
		}
		seen[lower] = key
		if what == "params" {
			for _, name := range paramNames {
				if key != name && strings.EqualFold(key, name) {
					return rpcErrorf(sdk.INVALID_PARAMS, "params has %s; it is spelt %s", quote(key), quote(name))
				}
			}
		}
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return nil
		}
	}
	return nil
}

// checkSurrogates refuses halves of surrogate pairs wherever they would name something:
// decoded, all of them become one and the same character, and two users one. The
// arguments of a tool are checked with the tool, whose answer teaches more.
func checkSurrogates(m message) *rpcError {
	look := []json.RawMessage{m.raw}
	if m.method == string(sdk.MethodToolsCall) {
		look = []json.RawMessage{m.params["_meta"], m.params["name"]}
	}
	for _, raw := range look {
		if at, found := cleantext.LoneSurrogate(raw); found {
			return rpcErrorf(sdk.INVALID_PARAMS, "the message contains %s, half of a surrogate pair and no character; send the text as UTF-8", raw[at:min(at+6, len(raw))])
		}
	}
	return nil
}
