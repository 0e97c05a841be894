package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/mark3labs/mcp-go/mcp"
)

// demoCmd is a guided round of what the server does. It runs the server as an MCP client
// would, in a temporary home, and checks each thing that it says: a claim that does not
// hold ends it with an error.
type demoCmd struct {
	Keep bool `help:"Keep the temporary home and print where it is."`
}

func (d *demoCmd) Help() string {
	return "Starts a server in a temporary home, speaks MCP with it over stdio, and shows what is stored, found, superseded, refused and restored. Needs no network and no set-up, and touches no home of yours."
}

// Run plays the round.
func (d *demoCmd) Run(ctx context.Context, e *env) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "reverie-demo-")
	if err != nil {
		return err
	}
	if d.Keep {
		fmt.Fprintf(e.stderr, "the demo's home is %s\n", home)
	} else {
		defer os.RemoveAll(home)
	}
	g := &guide{ctx: ctx, out: e.stdout, exe: exe, home: home}
	defer g.end()
	began := time.Now()
	for _, chapter := range []func() error{
		g.start, g.remember, g.recall, g.correct, g.memo, g.privacy, g.refuse, g.undo, g.crash,
	} {
		if err := chapter(); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	g.say("\nAll of this took %.1f s, without network. Next: reverie serve is what you give your MCP client; see the README.", time.Since(began).Seconds())
	return nil
}

// guide leads through the demo.
type guide struct {
	ctx  context.Context
	out  io.Writer
	exe  string
	home string
	p    *peer
	ids  map[string]string // content to id
}

func (g *guide) say(format string, args ...any) { fmt.Fprintf(g.out, format+"\n", args...) }

func (g *guide) title(s string) { g.say("\n== %s", s) }

func (g *guide) begin() (err error) {
	// An environment of its own: the demo must show the shipped defaults.
	env := []string{"REVERIE_HOME=" + g.home, "REVERIE_USER=ann", "REVERIE_GROUP=", "REVERIE_ROLE=", "REVERIE_PLATFORM=", "REVERIE_TOOLSETS=all", "REVERIE_LOG_LEVEL=error"}
	g.p, err = startPeer(g.ctx, g.exe, []string{"serve"}, env, os.Stderr)
	return err
}

func (g *guide) end() {
	if g.p != nil {
		g.p.close()
		g.p = nil
	}
}

// try calls a tool; both outcomes are the chapter's to judge.
func (g *guide) try(tool string, args, meta map[string]any) (*sdk.CallToolResult, error) {
	r, err := g.p.call(g.ctx, tool, args, meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tool, err)
	}
	return r, nil
}

// do calls a tool that must succeed.
func (g *guide) do(tool string, args, meta map[string]any) (*sdk.CallToolResult, error) {
	r, err := g.try(tool, args, meta)
	if err == nil && r.IsError {
		return nil, fmt.Errorf("%s was refused: %s", tool, text(r))
	}
	return r, err
}

// refused calls a tool that must be refused, and prints what was said.
func (g *guide) refused(what, tool string, args, meta map[string]any) error {
	r, err := g.try(tool, args, meta)
	if err != nil {
		return err
	}
	if !r.IsError {
		return fmt.Errorf("%s: %s was accepted", what, tool)
	}
	g.say("  refused  %s\n           -> %s", what, clip(text(r), 300))
	return nil
}

type demoWritten struct {
	ID          string `json:"id"`
	DuplicateOf string `json:"duplicate_of"`
	Superseded  string `json:"superseded"`
	Similar     []struct {
		ID string `json:"id"`
	} `json:"similar"`
	Notices []string `json:"notices"`
}

type demoFound struct {
	Items []struct {
		ID      string   `json:"id"`
		Content string   `json:"content"`
		Match   string   `json:"match"`
		Score   float64  `json:"score"`
		Dist    *float64 `json:"distance"`
	} `json:"items"`
	Total      int    `json:"total"`
	Confidence string `json:"confidence"`
}

func (g *guide) write(args, meta map[string]any) (demoWritten, error) {
	r, err := g.do("write_memory", args, meta)
	if err != nil {
		return demoWritten{}, err
	}
	w, err := into[demoWritten](r)
	if content, ok := args["content"].(string); ok && err == nil {
		g.ids[content] = w.ID
	}
	return w, err
}

func (g *guide) read(query string, meta map[string]any) (demoFound, error) {
	r, err := g.do("read_memory", map[string]any{"query": query, "top_k": 3}, meta)
	if err != nil {
		return demoFound{}, err
	}
	return into[demoFound](r)
}

// ask searches and shows the best hit, which must contain want; empty wants low confidence.
func (g *guide) ask(query, want string) error {
	f, err := g.read(query, nil)
	if err != nil {
		return err
	}
	if want == "" {
		if f.Confidence != "low" {
			return fmt.Errorf("a question about nothing stored has confidence %q", f.Confidence)
		}
		g.say("  asked    %s\n           -> confidence low: nothing stored is about this", query)
		return nil
	}
	if len(f.Items) == 0 || !strings.Contains(f.Items[0].Content, want) {
		return fmt.Errorf("%q found %+v first, not the memory with %q", query, f.Items, want)
	}
	best := f.Items[0]
	g.say("  asked    %s\n           -> %s  (by %s, score %.2f, confidence %s)", query, best.Content, best.Match, best.Score, f.Confidence)
	return nil
}

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

func indent(s string) string {
	return "           " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n           ")
}

// clip cuts s to n characters for showing, on one line.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "..."
}
