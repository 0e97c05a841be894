package mcp_test

import (
	"strings"
	"testing"

	"reverie/mcp"
)

// Mistakes say what was wrong, the limit, and what to do.
func TestMistakes(t *testing.T) {
	c := newHome(t, setup{limit: 3}).serve(t)
	c.initialize()
	id := c.write("Anna drinks tea")
	for _, row := range []struct {
		tool string
		args object
		want []string
	}{
		{"write_memory", object{}, []string{"content is missing", "at most 8,000 characters", "call write_memory again"}},
		{"write_memory", object{"content": ""}, []string{"content is empty"}},
		{"write_memory", object{"content": " \n "}, []string{"content is empty", "1 to 8000"}},
		{"write_memory", object{"content": strings.Repeat("x", 8001)}, []string{"8001 characters", "limit is 8000"}},
		{"write_memory", object{"content": "x", "tags": make([]int, 3)}, []string{"item 1 is 0"}},
		{"write_memory", object{"content": "x", "tags": []string{strings.Repeat("t", 65)}}, []string{"65 characters", "limit is 64"}},
		{"write_memory", object{"content": "x", "importance": "critical"}, []string{"one of low, medium, high"}},
		{"write_memory", object{"content": "x", "scope": "world"}, []string{"one of user, group"}},
		{"write_memory", object{"content": "x", "scope": "group"}, []string{`use scope "user"`}},
		{"write_memory", object{"content": "x", "supersedes": "zz"}, []string{"32 lower-case hexadecimal digits"}},
		{"write_memory", object{"content": "x", "supersedes": strings.Repeat("0", 32)}, []string{"call read_memory or list_memory"}},
		{"write_memory", object{"content": "x", "user_id": "bob"}, []string{`unknown argument "user_id"`, "allowed: content, tags"}},
		{"read_memory", object{"query": "x", "top_k": 1000000}, []string{"from 1 to 50"}},
		{"update_memory", object{"id": id}, []string{"give content, tags or importance"}},
		{"update_memory", object{"id": "short", "content": "x"}, []string{"32 lower-case hexadecimal digits", "call update_memory again"}},
		{"delete_memory", object{}, []string{"id is missing"}},
		{"list_memory", object{"limit": 0}, []string{"from 1 to 100"}},
		{"list_memory", object{"cursor": "junk!"}, []string{"leave it out to begin"}},
		{"update_memo", object{}, []string{"content is missing"}},
		{"update_memo", object{"content": strings.Repeat("字", 1001)}, []string{"1001 characters", "limit is 1000", "nothing was changed", "shorten it by 1"}},
	} {
		contains(t, c.toolError(row.tool, row.args), row.want...)
	}
	if data, _ := c.tool("list_memory", nil); data["total"] != 1.0 {
		t.Errorf("%v memories after mistakes only", data["total"])
	}
	// Any string is a legal query.
	for _, q := range []string{"?!…。", `%_\*[`, "\u0000", strings.Repeat("q", 9000), "'; DROP TABLE memories; --", " "} {
		if _, text := c.tool("read_memory", object{"query": q}); len(q) > 8000 {
			contains(t, text, "only the first 8,000 were used")
		}
	}
}

func TestFullPartition(t *testing.T) {
	c := newHome(t, setup{limit: 2}).serve(t)
	c.initialize()
	c.write("Anna drinks green tea")
	old := c.write("Bob has a dog")
	text := c.toolError("write_memory", object{"content": "Anna drinks green tea daily"})
	contains(t, text, "2 of 2", "nothing was stored", "update_memory", "delete_memory", "call write_memory again", "<<memories", old)
	// Replacing needs no room.
	data, text := c.tool("write_memory", object{"content": "Bob has two dogs", "supersedes": old})
	if data["superseded"] != old {
		t.Errorf("%v", data)
	}
	contains(t, text, old+" is retired")
}

func TestDuplicatesAndSimilar(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	id := c.write("Anna drinks green tea")
	data, text := c.tool("write_memory", object{"content": "Anna drinks green tea"})
	if data["duplicate_of"] != id || data["id"] != id {
		t.Errorf("%v", data)
	}
	contains(t, text, "already known")
}

// What was changed in a text on its way in is said, in both forms of the answer.
func TestNotices(t *testing.T) {
	clean := func(s string) (string, []string, error) {
		if out := strings.ReplaceAll(s, "sk-123", "[redacted]"); out != s {
			return out, []string{"1 secret redacted"}, nil
		}
		return s, nil, nil
	}
	c := newHome(t, setup{clean: clean}).serve(t)
	c.initialize()
	id := ""
	for _, call := range []func() (object, string){
		func() (object, string) {
			data, text := c.tool("write_memory", object{"content": "the key is sk-123"})
			id = data["id"].(string)
			return data, text
		},
		func() (object, string) { return c.tool("update_memory", object{"id": id, "content": "key: sk-123"}) },
		func() (object, string) { return c.tool("update_memo", object{"content": "my key: sk-123"}) },
	} {
		data, text := call()
		contains(t, text, "note: 1 secret redacted")
		if n := data["notices"].([]any); len(n) != 1 {
			t.Errorf("%v", data)
		}
	}
}

func TestMemoConflict(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	data, _ := c.tool("update_memo", object{"content": "one", "expected_version": 0})
	if data["version"] != 1.0 || data["chars"] != 3.0 || data["status"] != "success" {
		t.Errorf("%v", data)
	}
	contains(t, c.toolError("update_memo", object{"content": "two", "expected_version": 0}),
		"version 1, not 0", "nothing was changed", "expected_version 1", "<<memo\none\n>>")
	data, text := c.tool("update_memo", object{"content": "", "expected_version": 1.0})
	if data["version"] != 2.0 {
		t.Errorf("%v", data)
	}
	contains(t, text, "cleared")
	data, text = c.tool("read_memo", nil)
	if data["content"] != "" || data["version"] != 2.0 {
		t.Errorf("%v", data)
	}
	contains(t, text, "empty")
}

func TestHistoryAndRestore(t *testing.T) {
	c := newHome(t, setup{options: mcp.Options{Toolsets: []string{"all"}}}).serve(t)
	c.initialize()
	id := c.write("Anna drinks tea")
	c.tool("update_memory", object{"id": id, "content": "Anna drinks green tea"})
	_, text := c.tool("delete_memory", object{"id": id})
	contains(t, text, "restore brings it back")
	data, text := c.tool("restore", object{"id": id})
	if data["state"] != "live" {
		t.Errorf("%v", data)
	}
	contains(t, text, "Anna drinks green tea")
	contains(t, c.toolError("restore", object{"id": id}), "nothing to restore")
	data, text = c.tool("history", object{"id": id})
	var actions []string
	for _, item := range data["items"].([]any) {
		actions = append(actions, item.(object)["action"].(string))
	}
	if got := strings.Join(actions, " "); got != "restore delete update create" {
		t.Errorf("history: %s", got)
	}
	contains(t, text, "4 changes", "by local: Anna drinks tea")
	c.tool("update_memo", object{"content": "one"})
	c.tool("update_memo", object{"content": "two"})
	if data, _ = c.tool("history", object{"id": "memo"}); data["total"] != 2.0 {
		t.Errorf("memo: %v", data)
	}
}
