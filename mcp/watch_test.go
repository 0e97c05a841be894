package mcp_test

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func (c *client) subscribe(uri string, meta ...object) {
	c.t.Helper()
	params := object{"uri": uri}
	if len(meta) > 0 {
		params["_meta"] = meta[0]
	}
	c.result("resources/subscribe", params)
}

// updated waits for the next notification of a change and returns its URI.
func (c *client) updated() string {
	c.t.Helper()
	var n object
	if len(c.notifications) > 0 {
		n, c.notifications = c.notifications[0], c.notifications[1:]
	} else {
		n = c.recv()
	}
	if n["method"] != "notifications/resources/updated" {
		c.t.Fatalf("got %v", n)
	}
	return n["params"].(object)["uri"].(string)
}

// quiet fails if a notification comes within a while.
func (c *client) quiet(d time.Duration) {
	c.t.Helper()
	if len(c.notifications) > 0 {
		c.t.Fatalf("told of %v", c.notifications)
	}
	select {
	case l := <-c.lines:
		c.t.Fatalf("told %s", l)
	case <-time.After(d):
	}
}

func TestSubscribe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	h, other := newHome(t, setup{path: path}), newHome(t, setup{path: path})
	c, writer := h.serve(t), other.serve(t)
	c.initialize()
	writer.initialize()
	id := c.write("Anna has a cat")
	second := c.write("Bob has a dog")
	c.subscribe("memory://memo")
	c.subscribe("memory://memories/" + id)

	// Its own write, and another process's.
	for _, by := range []*client{c, writer} {
		by.tool("update_memo", object{"content": "written by " + map[bool]string{true: "us", false: "them"}[by == c]})
		if got := c.updated(); got != "memory://memo" {
			t.Errorf("told of %s", got)
		}
		by.tool("update_memory", object{"id": id, "tags": []string{map[bool]string{true: "us", false: "them"}[by == c]}})
		if got := c.updated(); got != "memory://memories/"+id {
			t.Errorf("told of %s", got)
		}
	}
	// What was not asked for is not told.
	c.tool("update_memory", object{"id": second, "content": "Bob has two dogs"})
	writer.write("a third thing")
	writer.tool("update_memo", object{"content": "other"}, as("user", "someone"))
	c.quiet(100 * time.Millisecond)

	c.subscribe("memory://memories")
	writer.write("a fourth thing")
	if got := c.updated(); got != "memory://memories" {
		t.Errorf("told of %s", got)
	}
	c.result("resources/unsubscribe", object{"uri": "memory://memories"})
	c.result("resources/unsubscribe", object{"uri": "memory://memo"})
	writer.write("a fifth thing")
	writer.tool("update_memo", object{"content": "again"})
	c.quiet(100 * time.Millisecond)
	c.tool("delete_memory", object{"id": id})
	if got := c.updated(); got != "memory://memories/"+id {
		t.Errorf("told of %s", got)
	}
}

// A subscription is for the caller who asked.
func TestSubscribeObeysCaller(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	c.subscribe("memory://memo", as("user", "anna"))
	c.tool("update_memo", object{"content": "bob"}, as("user", "bob"))
	c.quiet(60 * time.Millisecond)
	c.tool("update_memo", object{"content": "anna"}, as("user", "anna"))
	if got := c.updated(); got != "memory://memo" {
		t.Error(got)
	}
}

// The stateless era subscribes by a call that stays open.
func TestListen(t *testing.T) {
	h := newHome(t, setup{})
	c := h.serve(t)
	modern := object{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{}}
	c.send(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{` +
		`"notifications":{"resourceSubscriptions":["memory://memo"],"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	ack := c.recv()
	if ack["method"] != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %v", ack)
	}
	if f := ack["params"].(object)["notifications"].(object); f["toolsListChanged"] != nil || len(f["resourceSubscriptions"].([]any)) != 1 {
		t.Errorf("acknowledged %v", f)
	}
	for i, text := range []string{"one", "two"} {
		c.tool("update_memo", object{"content": text}, modern)
		var n object
		if len(c.notifications) > 0 {
			n, c.notifications = c.notifications[0], nil
		} else {
			n = c.recv()
		}
		params, _ := n["params"].(object)
		if n["method"] != "notifications/resources/updated" || params["uri"] != "memory://memo" ||
			params["_meta"].(object)["io.modelcontextprotocol/subscriptionId"] != "sub" {
			t.Fatalf("%d: %v", i, n)
		}
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}`)
	time.Sleep(50 * time.Millisecond)
	c.tool("update_memo", object{"content": "three"}, modern)
	c.quiet(100 * time.Millisecond)
	// A stream that is open when the client leaves does not keep the server.
	c.send(`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["memory://memories"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	c.recv()
	began := time.Now()
	c.in.Close()
	if err := <-c.done; err != nil || time.Since(began) > time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// Without subscribers nothing runs in the background.
func TestNoPollingWithoutSubscribers(t *testing.T) {
	h := newHome(t, setup{})
	c := h.serve(t)
	c.initialize()
	stacks := func() string {
		buf := make([]byte, 1<<20)
		return string(buf[:runtime.Stack(buf, true)])
	}
	lacks(t, stacks(), "(*watcher).run")
	c.subscribe("memory://memo")
	c.subscribe("memory://memories")
	contains(t, stacks(), "(*watcher).run")
	c.result("resources/unsubscribe", object{"uri": "memory://memo"})
	contains(t, stacks(), "(*watcher).run")
	c.result("resources/unsubscribe", object{"uri": "memory://memories"})
	lacks(t, stacks(), "(*watcher).run")
	c.subscribe("memory://memo")
	c.in.Close()
	<-c.done
	lacks(t, stacks(), "(*watcher).run")
}

// One session may speak for several people: each hears of what is theirs.
func TestSubscribeForSeveral(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	ann, bob := as("user", "ann"), as("user", "bob")
	c.subscribe("memory://memo", ann)
	c.subscribe("memory://memo", bob)
	c.tool("update_memo", object{"content": "ann's"}, ann)
	c.updated()
	c.quiet(200 * time.Millisecond)
	c.result("resources/unsubscribe", object{"uri": "memory://memo", "_meta": bob})
	c.tool("update_memo", object{"content": "ann's again"}, ann)
	c.updated()
	c.tool("update_memo", object{"content": "bob's"}, bob)
	c.quiet(200 * time.Millisecond)
}
