package mcp_test

import (
	"strings"
	"testing"

	"reverie/embedding"
)

// With the model that ships: by meaning, and over languages as far as it knows them.
func TestBuiltInEmbedder(t *testing.T) {
	c := newHome(t, setup{embedder: embedding.NewBuiltin(embedding.BuiltinOptions{})}).serve(t)
	c.initialize()
	for _, fact := range []string{
		"Anna works as a nurse at the children's hospital", "Bob repairs old motorcycles on weekends",
		"The summer holiday goes to Lisbon in August", "张三每周二晚上下围棋", "李四对花生过敏，不能吃花生酱",
	} {
		c.write(fact)
	}
	for query, want := range map[string]string{
		"what is Anna's job": "nurse", "who fixes bikes": "motorcycles", "travel plans": "Lisbon",
		"张三的爱好是什么": "围棋", "谁不能吃坚果酱": "李四",
	} {
		data, text := c.tool("read_memory", object{"query": query, "top_k": 1})
		if items := data["items"].([]any); len(items) != 1 || !strings.Contains(items[0].(object)["content"].(string), want) {
			t.Errorf("%q found %s", query, text)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	data, text := c.tool("write_memory", object{"content": "Anna drinks oolong tea", "tags": []string{"tea", "people"}, "importance": "high"})
	id := data["id"].(string)
	contains(t, text, "stored "+id)
	data, text = c.tool("read_memory", object{"query": "what tea does Anna drink"})
	contains(t, text, "<<memories\n1 of 1 memory, best first, confidence high\n"+id, "high #tea #people\n  Anna drinks oolong tea")
	items := data["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["id"] != id {
		t.Fatalf("items: %v", items)
	}
	_, text = c.tool("list_memory", nil)
	contains(t, text, "1 of 1 memory", id)
	data, _ = c.tool("update_memory", object{"id": id, "content": "Anna drinks green tea"})
	if data["status"] != "success" || data["updated_at"] == nil {
		t.Fatalf("update: %v", data)
	}
	_, text = c.tool("delete_memory", object{"id": id})
	contains(t, text, "trash")
	data, text = c.tool("read_memory", object{"query": "Anna"})
	if data["total"] != 0.0 {
		t.Fatalf("after deletion: %v", data)
	}
	contains(t, text, "no memories match")
	contains(t, c.toolError("delete_memory", object{"id": strings.Repeat("0", 32)}), "call read_memory or list_memory")
}
