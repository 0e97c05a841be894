package mcp_test

import (
	"strings"
	"testing"
)

// What a proxy in between may read in another way than the SDK is refused, and nothing
// of it is done.
func TestMessagesWithTwoMeanings(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	id := c.write("the spare key is under the mat")
	for name, line := range map[string]string{
		"another tool in capitals":     `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"list_memory","NAME":"delete_memory","arguments":{},"ARGUMENTS":{"id":"` + id + `"}}}`,
		"arguments in capitals":        `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"delete_memory","Arguments":{"id":"` + id + `"}}}`,
		"a name twice":                 `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"list_memory","name":"delete_memory","arguments":{"id":"` + id + `"}}}`,
		"two users":                    `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"list_memory","_meta":{"reverie/user":"a","reverie/user":"local"}}}`,
		"half a character as user":     `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"list_memory","_meta":{"reverie/user":"\ud800"}}}`,
		"half a character as uri":      `{"jsonrpc":"2.0","id":71,"method":"resources/read","params":{"uri":"memory://memories/\udc00"}}`,
		"half a character in a prompt": `{"jsonrpc":"2.0","id":71,"method":"prompts/get","params":{"name":"memory_context","arguments":{"query":"\ud83d"}}}`,
		"a number beyond numbers":      `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"read_memory","arguments":{"query":"key","top_k":1e400}}}`,
		"too many values":              `{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"write_memory","arguments":{"content":"x","tags":[` + strings.Repeat(`"t",`, 30_000) + `"t"]}}}`,
		"a method without end":         `{"jsonrpc":"2.0","id":71,"method":"` + strings.Repeat("m", 10_000) + `"}`,
	} {
		c.send(line)
		r := c.recv()
		e, ok := r["error"].(map[string]any)
		if !ok || r["id"] != float64(71) {
			t.Errorf("%s: %v", name, r)
			continue
		}
		if text := e["message"].(string); len(text) > 500 {
			t.Errorf("%s: an answer of %d bytes", name, len(text))
		}
	}
	_, text := c.tool("read_memory", object{"query": "spare key"})
	contains(t, text, id)
}
