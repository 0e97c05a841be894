package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/mark3labs/mcp-go/mcp"
	sdkserver "github.com/mark3labs/mcp-go/server"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/memo"
	"reverie/vector"
)

// Memories is what the tools need of the memory layer; *vector.Service provides it.
type Memories interface {
	Write(ctx context.Context, c caller.Caller, d vector.Draft) (vector.Written, error)
	Search(ctx context.Context, c caller.Caller, q vector.Query) (vector.Result, error)
	Update(ctx context.Context, c caller.Caller, scope caller.Scope, id string, p vector.Patch) (vector.Written, error)
	Delete(ctx context.Context, c caller.Caller, scope caller.Scope, id string) (vector.Memory, error)
	Restore(ctx context.Context, c caller.Caller, scope caller.Scope, id string) (vector.Memory, error)
	Get(ctx context.Context, c caller.Caller, scope caller.Scope, id string) (vector.Memory, error)
	List(ctx context.Context, c caller.Caller, q vector.ListQuery) (vector.Page, error)
	History(ctx context.Context, c caller.Caller, scope caller.Scope, id string) ([]journal.Entry, error)
	// Resolve turns the beginning of an id into the id.
	Resolve(ctx context.Context, c caller.Caller, scope caller.Scope, prefix string, state vector.State) (string, error)
	// IDs lists ids that begin with prefix.
	IDs(ctx context.Context, c caller.Caller, scope caller.Scope, prefix string, limit int) ([]string, error)
}

// Memos is what the tools need of the memo layer; *memo.Store provides it.
type Memos interface {
	Get(ctx context.Context, c caller.Caller) (memo.Memo, error)
	Set(ctx context.Context, c caller.Caller, content string, expected *int64) (memo.Memo, []string, error)
	Limit() int
	History(ctx context.Context, c caller.Caller) ([]journal.Entry, error)
}

// Versions tells when a partition was changed, by this process or another one;
// *store.DB provides it.
type Versions interface {
	Version(ctx context.Context, partition string) (int64, error)
}

// Fence wraps recalled text as data that is not to be obeyed; *fence.Fence provides it.
type Fence interface {
	Wrap(kind, body string) string
}

// Toolset names a group of tools that is offered or not as a whole.
type Toolset string

// The toolsets of this package.
const (
	ToolsetMemory Toolset = "memory"
	ToolsetMemo   Toolset = "memo"
	ToolsetAdmin  Toolset = "admin"
)

// DefaultToolsets are offered when Options names none: what an agent needs every day.
func DefaultToolsets() []string { return []string{string(ToolsetMemory), string(ToolsetMemo)} }

// Options of [New]. Caller and Fence are required.
type Options struct {
	Name    string // as clients show it; default "reverie"
	Version string // default "dev"
	// Caller is the configured identity, which counts where a request names none.
	Caller caller.Caller
	// Toolsets names those to offer; default [DefaultToolsets], "all" for every one.
	Toolsets []string
	// Fence wraps every recalled text that is handed out as text.
	Fence Fence
	// Versions is watched for subscribers; nil offers no subscriptions.
	Versions Versions
	// Poll is how often Versions is asked while someone is subscribed; default one second.
	Poll time.Duration
	// Status answers memory://status with a value that is shown as JSON; nil shows little.
	Status func(ctx context.Context, c caller.Caller) (any, error)
	// Location is the zone in which times are shown; default UTC.
	Location *time.Location
	// Logger gets what clients are not told; default discards. Memory texts are never logged.
	Logger *slog.Logger
}

// Server serves one set of memories to MCP clients. It is safe for concurrent use.
type Server struct {
	memories Memories
	memos    Memos
	o        Options
	log      *slog.Logger
	sdk      *sdkserver.MCPServer
	tools    []tool // those offered, by name
	watch    *watcher
	sessions atomic.Int64 // numbers them, so that their ids differ
}

// New builds a server. It fails on an unknown toolset, an invalid caller or a missing
// option.
func New(memories Memories, memos Memos, o Options) (*Server, error) {
	if o.Name == "" {
		o.Name = "reverie"
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.Fence == nil {
		return nil, fmt.Errorf("new mcp server: no fence")
	}
	if err := o.Caller.Validate(); err != nil {
		return nil, fmt.Errorf("new mcp server: %w", err)
	}
	s := &Server{memories: memories, memos: memos, o: o, log: o.Logger.With("component", "mcp")}
	s.watch = newWatcher(s)
	if err := s.choose(); err != nil {
		return nil, fmt.Errorf("new mcp server: %w", err)
	}
	s.build()
	return s, nil
}

// choose picks the tools of the toolsets wanted.
func (s *Server) choose() error {
	wanted := s.o.Toolsets
	if len(wanted) == 0 {
		wanted = DefaultToolsets()
	}
	all := s.allTools()
	known := []string{"all"}
	for _, t := range all {
		if !slices.Contains(known, string(t.toolset)) {
			known = append(known, string(t.toolset))
		}
	}
	for _, w := range wanted {
		if !slices.Contains(known, w) {
			return fmt.Errorf("unknown toolset %q; known: %s", w, strings.Join(known, ", "))
		}
	}
	for _, t := range all {
		if slices.Contains(wanted, "all") || slices.Contains(wanted, string(t.toolset)) {
			s.tools = append(s.tools, t)
		}
	}
	slices.SortFunc(s.tools, func(a, b tool) int { return strings.Compare(a.name, b.name) })
	return nil
}

// allTools lists the tools of every toolset.
func (s *Server) allTools() []tool {
	return []tool{
		s.writeMemory(), s.readMemory(), s.updateMemory(), s.deleteMemory(), s.listMemory(),
		s.readMemo(), s.updateMemo(),
		s.history(), s.restore(),
	}
}

// build registers everything with the SDK.
func (s *Server) build() {
	hooks := &sdkserver.Hooks{}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *sdk.InitializeRequest, r *sdk.InitializeResult) {
		r.Instructions = s.instructions(ctx)
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *sdk.DiscoverRequest, r *sdk.DiscoverResult) {
		r.Instructions = s.instructions(ctx)
	})
	hooks.AddOnError(func(ctx context.Context, _ any, _ sdk.MCPMethod, _ any, err error) { noteError(ctx, err) })
	s.watch.hook(hooks)

	s.sdk = sdkserver.NewMCPServer(s.o.Name, s.o.Version,
		sdkserver.WithTitle("Reverie"),
		sdkserver.WithDescription("Long-term memory: facts that outlive a conversation, and a memo that is always in view."),
		sdkserver.WithToolCapabilities(false),
		sdkserver.WithResourceCapabilities(s.o.Versions != nil, false),
		sdkserver.WithPromptCapabilities(false),
		sdkserver.WithCompletions(),
		sdkserver.WithPromptCompletionProvider(completer{s}),
		sdkserver.WithResourceCompletionProvider(completer{s}),
		sdkserver.WithHooks(hooks),
	)
	for _, t := range s.tools {
		s.sdk.AddTool(t.declare(), s.handler(t))
	}
	s.addResources()
	s.addPrompts()
}

// offers reports whether the tool called name is among those offered.
func (s *Server) offers(name string) bool {
	return slices.ContainsFunc(s.tools, func(t tool) bool { return t.name == name })
}

// time shows t in the zone of the options, to the second.
func (s *Server) time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(s.o.Location).Format(time.RFC3339)
}
