package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
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
	if e.json {
		return usage(errors.New("the demo is for reading and has no --json"))
	}
	// A reader that goes away (reverie demo | head) must not leave the temporary home.
	signal.Ignore(syscall.SIGPIPE)
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
