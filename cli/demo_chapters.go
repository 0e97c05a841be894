package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	sdk "github.com/mark3labs/mcp-go/mcp"
)

func (g *guide) start() error {
	g.ids = map[string]string{}
	if err := g.begin(); err != nil {
		return err
	}
	tools, err := g.p.client.ListTools(g.ctx, sdk.ListToolsRequest{})
	if err != nil {
		return err
	}
	var names []string
	for _, t := range tools.Tools {
		names = append(names, t.Name)
	}
	g.title("A server in a process of its own, over stdio")
	g.say("  %s %s answered initialize after %d ms, protocol %s", g.p.Hello.ServerInfo.Name, g.p.Hello.ServerInfo.Version, g.p.Started.Milliseconds(), g.p.Hello.ProtocolVersion)
	g.say("  tools: %s", strings.Join(names, ", "))
	return nil
}

var demoFacts = []map[string]any{
	{"content": "Ann is allergic to peanuts.", "tags": []string{"health"}, "importance": "high"},
	{"content": "Ann moved to Lisbon in spring 2026 and works as a marine biologist."},
	{"content": "Ann's favourite food is Sichuan hotpot.", "tags": []string{"food"}},
	{"content": "安的猫叫小米，是一只灰色的英国短毛猫。", "tags": []string{"宠物"}},
	{"content": "每周三晚上安去上吉他课。"},
	{"content": "The staging database is on db-2, port 5433; deploys freeze on Fridays."},
}

func (g *guide) remember() error {
	g.title("Remember: one fact a call, in any language")
	for _, f := range demoFacts {
		w, err := g.write(f, nil)
		if err != nil {
			return err
		}
		g.say("  stored   %s  [%s]", f["content"], w.ID[:8])
	}
	again, err := g.write(map[string]any{"content": "Ann is allergic  to peanuts."}, nil)
	if err != nil {
		return err
	}
	if again.DuplicateOf == "" {
		return errors.New("the same content was stored twice")
	}
	g.say("  the same fact again is not a second memory: duplicate_of [%s]", again.DuplicateOf[:8])
	key := "sk-" + "proj-" + strings.Repeat("Zx9Q", 10)
	secret, err := g.write(map[string]any{"content": "The API key of the weather service is " + key + ", ask Ann before changing it."}, nil)
	if err != nil {
		return err
	}
	f, err := g.read("weather service key", nil)
	if err != nil {
		return err
	}
	for _, it := range f.Items {
		if it.ID == secret.ID {
			if strings.Contains(it.Content, key) {
				return errors.New("a key was stored in clear")
			}
			g.say("  a secret is taken out before the disk: %s", it.Content)
			return nil
		}
	}
	return errors.New("the memory with the redacted key is not found")
}

func (g *guide) recall() error {
	g.title("Recall: by meaning and by words, across languages, no service and no key")
	for _, q := range [][2]string{
		{"What should I not cook for Ann?", "peanuts"},
		{"她对什么过敏？", "peanuts"},
		{"安的宠物叫什么名字？", "小米"},
		{"What is the name of her cat?", "小米"},
		{"她哪天学乐器？", "吉他"},
		{"port 5433", "db-2"},
		{"quarterly revenue of the shoe factory in Ohio", ""},
	} {
		if err := g.ask(q[0], q[1]); err != nil {
			return err
		}
	}
	return nil
}

func (g *guide) correct() error {
	g.title("Correct: the new fact retires the old one in the same step")
	old := g.ids["Ann's favourite food is Sichuan hotpot."]
	w, err := g.write(map[string]any{"content": "Ann's favourite food is ramen; she no longer eats hotpot.", "tags": []string{"food"}, "supersedes": old}, nil)
	if err != nil {
		return err
	}
	if w.Superseded != old {
		return fmt.Errorf("superseded %q, want %q", w.Superseded, old)
	}
	g.say("  stored   [%s], and [%s] is superseded: out of every answer, kept in history", w.ID[:8], old[:8])
	f, err := g.read("favourite food", nil)
	if err != nil {
		return err
	}
	for _, it := range f.Items {
		if it.ID == old {
			return errors.New("the superseded memory is still found")
		}
	}
	return g.ask("What is her favourite food?", "ramen")
}

func (g *guide) memo() error {
	g.title("Memo: one short text that is always in view")
	r, err := g.do("update_memo", map[string]any{"content": "Ann, marine biologist in Lisbon. Answer briefly. Peanut allergy."}, nil)
	if err != nil {
		return err
	}
	g.say("  %s", text(r))
	if err := g.refused("a memo of 1,001 characters", "update_memo", map[string]any{"content": strings.Repeat("长", 1001)}, nil); err != nil {
		return err
	}
	return g.refused("a rewrite made from an old version", "update_memo", map[string]any{"content": "Ann.", "expected_version": 0}, nil)
}

func (g *guide) privacy() error {
	g.title("People: identity comes from the host, never from the model")
	if _, err := g.write(map[string]any{"content": "Ann is planning a surprise for Bo.", "private": true}, nil); err != nil {
		return err
	}
	bo := map[string]any{"reverie/user": "bo"}
	f, err := g.read("What is Ann allergic to?", bo)
	if err != nil {
		return err
	}
	if len(f.Items) != 0 {
		return fmt.Errorf("bo sees ann's memories: %+v", f.Items)
	}
	g.say("  bo asks about Ann's allergy: nothing, his memory is another partition")
	group := map[string]any{"reverie/user": "ann", "reverie/group": "book-club", "reverie/role": "member"}
	if f, err = g.read("surprise for Bo", group); err != nil {
		return err
	}
	for _, it := range f.Items {
		if strings.Contains(it.Content, "surprise") {
			return errors.New("a private memory came up in a group")
		}
	}
	g.say("  in the group book-club, Ann's private memory does not exist")
	w, err := g.write(map[string]any{"content": "The book club meets on the first Monday.", "scope": "group"}, group)
	if err != nil {
		return err
	}
	if err := g.refused("a member deleting group data", "delete_memory", map[string]any{"id": w.ID, "scope": "group"}, group); err != nil {
		return err
	}
	group["reverie/role"] = "admin"
	if _, err := g.do("delete_memory", map[string]any{"id": w.ID, "scope": "group"}, group); err != nil {
		return err
	}
	g.say("  an admin may: [%s] is in the trash", w.ID[:8])
	return nil
}

func (g *guide) refuse() error {
	g.title("Mistakes: refused with the limit and the next step")
	for _, c := range []struct {
		what, tool string
		args       map[string]any
	}{
		{"an empty memory", "write_memory", map[string]any{"content": ""}},
		{"8,001 characters", "write_memory", map[string]any{"content": strings.Repeat("x", 8001)}},
		{`top_k as the string "5"`, "read_memory", map[string]any{"query": "cat", "top_k": "5"}},
		{"an argument that does not exist", "read_memory", map[string]any{"query": "cat", "user": "bo"}},
		{"group scope in a private chat", "read_memory", map[string]any{"query": "cat", "scope": "group"}},
		{"an id that is nobody's", "delete_memory", map[string]any{"id": strings.Repeat("0", 32)}},
	} {
		if err := g.refused(c.what, c.tool, c.args, nil); err != nil {
			return err
		}
	}
	return nil
}

func (g *guide) undo() error {
	g.title("Undo: nothing is gone by accident")
	id := g.ids["每周三晚上安去上吉他课。"]
	if _, err := g.do("delete_memory", map[string]any{"id": id}, nil); err != nil {
		return err
	}
	g.say("  deleted  [%s] 每周三晚上安去上吉他课。", id[:8])
	if _, err := g.do("restore", map[string]any{"id": id}, nil); err != nil {
		return err
	}
	g.say("  restored [%s]", id[:8])
	r, err := g.do("history", map[string]any{"id": id}, nil)
	if err != nil {
		return err
	}
	g.say("  its history:\n%s", indent(text(r)))
	return g.ask("guitar lessons", "吉他")
}

func (g *guide) crash() error {
	g.title("Crash and a second process: what was answered is on disk")
	w, err := g.write(map[string]any{"content": "The lighthouse key hangs behind the kitchen door."}, nil)
	if err != nil {
		return err
	}
	g.p.kill()
	g.p = nil
	if err := g.begin(); err != nil {
		return err
	}
	g.say("  killed the server right after its answer, and started it again (%d ms)", g.p.Started.Milliseconds())
	if err := g.ask("Where is the key of the lighthouse?", "kitchen door"); err != nil {
		return err
	}
	first := g.p
	if err := g.begin(); err != nil {
		first.close()
		return err
	}
	second := g.p
	g.p = first
	defer second.close()
	if _, err := g.do("delete_memory", map[string]any{"id": w.ID}, nil); err != nil {
		return err
	}
	g.p, first = second, g.p
	f, err := g.read("lighthouse key", nil)
	g.p = first
	if err != nil {
		return err
	}
	for _, it := range f.Items {
		if it.ID == w.ID {
			return errors.New("the second process still finds what the first deleted")
		}
	}
	g.say("  a second server on the same home saw the first one's deletion at once")
	g.say("  everything is in one SQLite database of %d KB", databaseBytes(filepath.Join(g.home, databaseName))/1024)
	return nil
}
