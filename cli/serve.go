package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/mcp"
	"reverie/vector"
)

// serveCmd serves MCP over stdio.
type serveCmd struct {
	Toolsets string `help:"Tools to offer, comma-separated: memory, memo, admin, or all (default memory,memo)." placeholder:"LIST"`
}

func (s *serveCmd) Help() string {
	return "Reads JSON-RPC from stdin and writes it to stdout, as MCP clients expect of a server they start. Ends when stdin ends. Logs go to stderr."
}

// Run serves until stdin ends or the process is told to stop.
func (s *serveCmd) Run(ctx context.Context, e *env) error {
	log, err := newLogger(e.cfg, e.stderr)
	if err != nil {
		return usage(err)
	}
	c := who(e.cfg)
	if err := c.Validate(); err != nil {
		return usage(err)
	}
	a, err := openApp(ctx, e.cfg, log, "tool")
	if err != nil {
		return err
	}
	defer a.Close()
	server, err := a.server(c)
	if err != nil {
		return usage(err)
	}
	// A client that goes away makes writing fail, which ends the session in good order;
	// the signal would end the process in the middle.
	signal.Ignore(syscall.SIGPIPE)
	log.Debug("serving over stdio", "component", "serve", "home", e.cfg.Home, "version", version())
	if f, ok := e.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(e.stderr, "reverie speaks MCP on stdin and stdout, for a client to talk to; to look around try: reverie demo, reverie --help. Ctrl-D ends it.")
	}
	if w := leftBehind(e.cfg); w != "" {
		log.Warn(w, "component", "store")
	}
	if a.cfg.Embedding.CheckOnStartup {
		a.checkSpaces(ctx, e)
	}
	if a.mirror != nil {
		go a.mirror.Run(ctx) // ends with the app
	}
	a.memories.Warm(c)
	if err := server.ServeStdio(ctx, e.stdin, e.stdout); err != nil {
		return err
	}
	return a.Close()
}

// checkPatience is how long the start at a terminal waits for the embedder before it goes
// on without asking.
const checkPatience = 5 * time.Second

// checkSpaces checks in the background that stored vectors fit the embedder. At a
// terminal it asks first: a client on stdin cannot be asked.
func (a *app) checkSpaces(ctx context.Context, e *env) {
	if a.cfg.Embedding.MismatchPolicy == string(spaces.Ask) && e.terminal() {
		short, cancel := context.WithTimeout(ctx, checkPatience)
		f, err := a.spaces.Check(short)
		cancel()
		if err == nil && !f.Consistent {
			if ok, _ := e.confirm(ctx, f.Question(), ""); ok {
				a.spaces.SetPolicy(spaces.Auto)
			}
		}
	}
	a.spaces.Start()
}

// server is the MCP face on the app.
func (a *app) server(c caller.Caller) (*mcp.Server, error) {
	return mcp.New(a.memories, a.memos, mcp.Options{
		Version:  version(),
		Caller:   c,
		Toolsets: a.cfg.Toolsets.Enabled,
		Fence:    a.fence,
		Versions: a.db,
		Status:   a.callerStatus,
		Location: time.Local, // of the machine, which over stdio is the user's
		Logger:   a.log,
	})
}

// callerStatus is what a caller may know of the state: their own partitions only.
func (a *app) callerStatus(ctx context.Context, c caller.Caller) (any, error) {
	out := struct {
		Version  string         `json:"version"`
		Embedder string         `json:"embedder"`
		Memories []vector.Stats `json:"memories"`
		Memo     memoStatus     `json:"memo"`
	}{Version: version(), Embedder: spaces.Label(a.spaces.Target().Space()), Memories: []vector.Stats{}}
	for _, scope := range scopesOf(c) {
		st, err := a.memories.Stats(ctx, c, scope)
		if errors.Is(err, vector.ErrDenied) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Memories = append(out.Memories, st)
	}
	var err error
	out.Memo, err = a.memoStatus(ctx, c)
	return out, err
}

type memoStatus struct {
	Chars   int   `json:"chars"`
	Limit   int   `json:"limit"`
	Version int64 `json:"version"`
}

func (a *app) memoStatus(ctx context.Context, c caller.Caller) (memoStatus, error) {
	m, err := a.memos.Get(ctx, c)
	return memoStatus{Chars: len([]rune(m.Content)), Limit: a.memos.Limit(), Version: m.Version}, err
}

// scopesOf lists the scopes that exist for a caller.
func scopesOf(c caller.Caller) []caller.Scope {
	if c.InGroup() {
		return []caller.Scope{caller.ScopeUser, caller.ScopeGroup}
	}
	return []caller.Scope{caller.ScopeUser}
}
