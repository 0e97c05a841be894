package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"reverie/internal/caller"
	"reverie/mcp"
)

// Who is speaking: configured, overridden per request by _meta.
func TestIdentityOfWrites(t *testing.T) {
	configured := caller.Caller{User: "owner", Group: "home", Role: caller.RoleAdmin, Conversation: "c0", Platform: "Local"}
	for _, row := range []struct {
		name      string
		meta      object
		partition string // where scope user and, in a group, scope group write
		group     string
		conv      string
		mayDelete bool // group data
	}{
		{"configured", nil, "Local_Private_owner", "Local_Group_home", "c0", true},
		{"user drops group and role", as("user", "bob"), "Local_Private_bob", "", "c0", false},
		{"group drops role", as("group", "club"), "Local_Private_owner", "Local_Group_club", "c0", false},
		{"role only", as("role", "member"), "Local_Private_owner", "Local_Group_home", "c0", false},
		{"group and role", as("group", "club", "role", "owner"), "Local_Private_owner", "Local_Group_club", "c0", true},
		{"all", as("user", "张三", "group", "qq-group-1", "role", "admin", "conversation", "c9", "platform", "QQPlatform"), "QQPlatform_Private_张三", "QQPlatform_Group_qq-group-1", "c9", true},
		{"platform only", as("platform", "QQPlatform"), "QQPlatform_Private_owner", "QQPlatform_Group_home", "c0", false},
		{"empty group: in none", as("group", ""), "Local_Private_owner", "", "c0", false},
		{"others' keys", object{"progressToken": 5, "io.example/x": []int{1}, "reverie": 1}, "Local_Private_owner", "Local_Group_home", "c0", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newHome(t, setup{options: mcp.Options{Caller: configured}})
			c := h.serve(t)
			c.initialize()
			meta := []object{}
			if row.meta != nil {
				meta = append(meta, row.meta)
			}
			data, _ := c.tool("write_memory", object{"content": "tea is good"}, meta...)
			who := strings.SplitN(row.partition, "_Private_", 2)
			m, err := h.memories.Get(t.Context(), caller.Caller{User: who[1], Platform: who[0]}, caller.ScopeUser, data["id"].(string))
			if err != nil {
				t.Fatal(err)
			}
			if m.Partition != row.partition || m.Conversation != row.conv {
				t.Errorf("written to %s in conversation %q", m.Partition, m.Conversation)
			}
			if row.group == "" {
				contains(t, c.toolError("write_memory", object{"content": "x", "scope": "group"}, meta...), "not in a group", `use scope "user"`)
				return
			}
			data, _ = c.tool("write_memory", object{"content": "the club meets on Monday", "scope": "group"}, meta...)
			who = strings.SplitN(row.group, "_Group_", 2)
			if m, err = h.memories.Get(t.Context(), caller.Caller{User: "x", Group: who[1], Platform: who[0]}, caller.ScopeGroup, data["id"].(string)); err != nil {
				t.Fatal(err)
			}
			r := c.call("delete_memory", object{"id": m.ID, "scope": "group"}, meta...)
			if failed := r["isError"] == true; failed == row.mayDelete {
				t.Errorf("delete: %s", textOf(r))
			}
		})
	}
}

func TestIdentityMistakes(t *testing.T) {
	h := newHome(t, setup{})
	c := h.serve(t)
	c.initialize()
	for _, row := range []struct {
		meta any
		want string
	}{
		{object{"reverie/user": 5}, "_meta key reverie/user must be a string, not 5"},
		{object{"reverie/user": nil}, "must be a string, not null"},
		{object{"reverie/user": object{"$ne": ""}}, "must be a string, not an object"},
		{object{"reverie/usr": "bob"}, `unknown _meta key "reverie/usr"; did you mean reverie/user? allowed: reverie/user, reverie/group`},
		{as("user", ""), "user id is empty"},
		{as("user", strings.Repeat("x", 129)), "129 characters; the limit is 128"},
		{as("user", "a\nb"), "control character"},
		{as("group", "g", "role", "boss"), `role "boss"; allowed: member, admin, owner`},
		{as("platform", "Q_Q"), "letters and digits"},
	} {
		r := c.result("tools/call", object{"name": "list_memory", "_meta": row.meta})
		if r["isError"] != true {
			t.Errorf("%v was accepted", row.meta)
			continue
		}
		contains(t, textOf(r), row.want)
		for method, params := range map[string]object{
			"resources/read":      {"uri": "memory://memo"},
			"prompts/get":         {"name": "memory_context"},
			"completion/complete": {"ref": object{"type": "ref/resource", "uri": "memory://memories/{id}"}, "argument": object{"name": "id", "value": ""}},
		} {
			params["_meta"] = row.meta
			code, message := c.fails(method, params)
			if code != -32602 || !strings.Contains(message, row.want) {
				t.Errorf("%s with %v: %d %s", method, row.meta, code, message)
			}
		}
	}
	if code, message := c.fails("tools/call", object{"name": "list_memory", "_meta": "bob"}); code != -32602 || message != `_meta must be an object, not the string "bob"` {
		t.Errorf("_meta of a wrong type: %d %s", code, message)
	}
	if strings.Contains(h.log.String(), "internal error") {
		t.Errorf("logged as internal: %s", h.log)
	}
}

// The same rules hold for every way to the data.
func TestIdentityEverywhere(t *testing.T) {
	h := newHome(t, setup{})
	c := h.serve(t)
	c.initialize()
	bob, anna := as("user", "bob"), as("user", "anna")
	id := c.write("bob keeps bees", bob)
	c.tool("update_memo", object{"content": "I am bob"}, bob)
	c.tool("update_memo", object{"content": "I am anna"}, anna)
	read := func(uri string, meta object) string {
		r := c.result("resources/read", object{"uri": uri, "_meta": meta})
		return r["contents"].([]any)[0].(object)["text"].(string)
	}
	contains(t, read("memory://memo", bob), "I am bob")
	contains(t, read("memory://memo", anna), "I am anna")
	contains(t, read("memory://memories", bob), id)
	lacks(t, read("memory://memories", anna), id)
	contains(t, read("memory://memories/"+id, bob), "bob keeps bees")
	code, message := c.fails("resources/read", object{"uri": "memory://memories/" + id, "_meta": anna})
	if code != -32002 || strings.Contains(message, "bees") {
		t.Errorf("a foreign memory: %d %s", code, message)
	}
	prompt := func(meta object) string {
		data, err := json.Marshal(c.result("prompts/get", object{"name": "memory_context", "arguments": object{"query": "bees"}, "_meta": meta}))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	contains(t, prompt(bob), "I am bob", "keeps bees")
	lacks(t, prompt(anna), "I am bob", "keeps bees")
	complete := func(meta object) int {
		r := c.result("completion/complete", object{"ref": object{"type": "ref/resource", "uri": "memory://memories/{id}"}, "argument": object{"name": "id", "value": id[:4]}, "_meta": meta})
		return len(r["completion"].(object)["values"].([]any))
	}
	if complete(bob) != 1 || complete(anna) != 0 {
		t.Errorf("completion: bob %d, anna %d", complete(bob), complete(anna))
	}
	// A foreign id is not there, whatever is done to it.
	for _, tool := range []string{"update_memory", "delete_memory"} {
		args := object{"id": id}
		if tool == "update_memory" {
			args["content"] = "anna was here"
		}
		contains(t, c.toolError(tool, args, anna), "call read_memory or list_memory")
	}
	contains(t, read("memory://memories/"+id, bob), "bob keeps bees")
}

// In a group: the group's memo only, private memories never, members may not rewrite.
func TestGroupRules(t *testing.T) {
	h := newHome(t, setup{})
	c := h.serve(t)
	c.initialize()
	private, member := as("user", "bob"), as("user", "bob", "group", "club", "role", "member")
	admin := as("user", "eve", "group", "club", "role", "admin")
	c.tool("update_memo", object{"content": "bob is shy"}, private)
	c.tool("update_memo", object{"content": "the club plays chess"}, admin)
	c.tool("write_memory", object{"content": "bob is expecting twins", "private": true}, private)
	open := c.write("bob likes chess", private)
	contains(t, c.toolError("update_memo", object{"content": "bob owns this"}, member), "only an admin or owner")
	contains(t, c.toolError("update_memo", object{"content": ""}, as("user", "bob", "group", "club")), "only an admin or owner", "no role is known")
	_, text := c.tool("read_memo", nil, member)
	contains(t, text, "group memo", "plays chess")
	lacks(t, text, "shy")
	_, text = c.tool("read_memory", object{"query": "bob twins chess"}, member)
	contains(t, text, open)
	lacks(t, text, "twins")
	_, text = c.tool("list_memory", nil, member)
	lacks(t, text, "twins")
	r := c.result("prompts/get", object{"name": "memory_context", "arguments": object{"query": "bob chess"}, "_meta": member})
	data, _ := json.Marshal(r)
	contains(t, string(data), "plays chess")
	lacks(t, string(data), "shy", "likes chess")
}

func TestUserMemoriesDeniedInGroups(t *testing.T) {
	c := newHome(t, setup{deny: true}).serve(t)
	c.initialize()
	id := c.write("bob likes chess", as("user", "bob"))
	group := as("user", "bob", "group", "club")
	contains(t, c.toolError("read_memory", object{"query": "chess"}, group), "keeps personal memories out of groups", `use scope "group"`)
	if code, _ := c.fails("resources/read", object{"uri": "memory://memories/" + id, "_meta": group}); code != -32002 {
		t.Errorf("code %d", code)
	}
	r := c.result("completion/complete", object{"ref": object{"type": "ref/resource", "uri": "memory://memories/{id}"}, "argument": object{"name": "id", "value": ""}, "_meta": group})
	if n := len(r["completion"].(object)["values"].([]any)); n != 0 {
		t.Errorf("%d ids suggested", n)
	}
}
