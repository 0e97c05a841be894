package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"reverie/internal/tokens"
	"reverie/mcp"
)

// size is the estimate of an answer's tokens, text and structured form together.
func size(t *testing.T, r map[string]any) int {
	t.Helper()
	data, err := json.Marshal(r["structuredContent"])
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Estimate(textOf(r)) + tokens.Estimate(string(data))
}

// No answer grows beyond what clients take, and nothing is cut without saying so.
func TestAnswersAreBounded(t *testing.T) {
	c := newHome(t, setup{limit: 1000, options: mcp.Options{Toolsets: []string{"all"}}}).serve(t)
	c.initialize()
	long := strings.Repeat("茶", 3990)
	var tags []string
	for i := range 32 {
		tags = append(tags, fmt.Sprintf("%02d", i)+strings.Repeat("签", 60))
	}
	for i := range 60 {
		c.tool("write_memory", object{"content": fmt.Sprintf("茶 %02d %s", i, long), "tags": tags})
	}
	r := c.call("read_memory", object{"query": "茶", "top_k": 50})
	data := r["structuredContent"].(object)
	shown, left := len(data["items"].([]any)), int(data["left_out"].(float64))
	if n := size(t, r); n > 20000 || shown == 0 || shown+left != 50 {
		t.Errorf("%d tokens, %d shown, %d left out", n, shown, left)
	}
	contains(t, textOf(r), "left out to keep the answer short", fmt.Sprintf("top_k %d", shown), "memory://memories/{id}")

	// Pages shrink and still show everything once.
	seen := map[string]bool{}
	args := object{"limit": 100}
	for {
		r := c.call("list_memory", args)
		if n := size(t, r); n > 20000 {
			t.Errorf("a page of %d tokens", n)
		}
		data := r["structuredContent"].(object)
		for _, item := range data["items"].([]any) {
			id := item.(object)["id"].(string)
			if seen[id] {
				t.Fatalf("%s twice", id)
			}
			seen[id] = true
		}
		next, _ := data["next_cursor"].(string)
		if next == "" {
			break
		}
		contains(t, textOf(r), "more: call list_memory with cursor")
		args["cursor"] = next
	}
	if len(seen) != 60 {
		t.Errorf("%d of 60 listed", len(seen))
	}

	id := ""
	for id = range seen {
		break
	}
	for i := range 12 {
		c.tool("update_memory", object{"id": id, "content": fmt.Sprintf("茶 change %d %s", i, long)})
	}
	r = c.call("history", object{"id": id})
	if n := size(t, r); n > 20000 {
		t.Errorf("a history of %d tokens", n)
	}
	contains(t, textOf(r), "13 changes", "left out to keep the answer short", "reverie memory history "+id)
	r = c.result("resources/read", object{"uri": "memory://memories"})
	data0, _ := json.Marshal(r)
	if n := tokens.Estimate(string(data0)); n > 20000 {
		t.Errorf("a resource of %d tokens", n)
	}
}

// Even one memory of the greatest length fits.
func TestLongestMemoryFits(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	c.write(strings.Repeat("茶", 8000))
	r := c.call("read_memory", object{"query": "茶"})
	if n := size(t, r); n > 20000 || len(r["structuredContent"].(object)["items"].([]any)) != 1 {
		t.Errorf("%d tokens", n)
	}
}
