package mcp

import (
	"context"
	_ "embed"
	"fmt"

	sdk "github.com/mark3labs/mcp-go/mcp"
	sdkserver "github.com/mark3labs/mcp-go/server"

	"reverie/internal/caller"
	"reverie/vector"
)

//go:embed guide_en.md
var guideEnglish string

//go:embed guide_zh.md
var guideChinese string

// prompt is one prompt: what clients see of it and what it says.
type prompt struct {
	name, title, description string
	arguments                []sdk.PromptArgument
	run                      func(s *Server, ctx context.Context, c caller.Caller, args map[string]string) ([]string, error)
}

// prompts lists them all. Every text they give is a message in the user's role: what
// is remembered must not speak with the authority of the system.
func prompts() []prompt {
	return []prompt{
		{
			name: "memory_context", title: "Memory for this turn",
			description: "What a host puts before each turn: the memo, and with a query the memories that fit it.",
			arguments:   []sdk.PromptArgument{{Name: "query", Description: "the user's message; adds the memories that fit it"}},
			run:         (*Server).contextPrompt,
		},
		{
			name: "memory_guide", title: "How to use the memory",
			description: "Text for a persona or an AGENTS.md: when to save, what to save, how to search.",
			arguments:   []sdk.PromptArgument{{Name: "language", Description: "en or zh"}},
			run: func(_ *Server, _ context.Context, _ caller.Caller, args map[string]string) ([]string, error) {
				switch args["language"] {
				case "", "en":
					return []string{guideEnglish}, nil
				case "zh":
					return []string{guideChinese}, nil
				}
				return nil, badArgument("language must be en or zh, not %s", quote(shorten(args["language"], 48)))
			},
		},
		{
			name: "memory", title: "/memory",
			description: "The chat command: [user|group] list | search <text> | delete <id>.",
			arguments: []sdk.PromptArgument{
				{Name: "scope", Description: "user or group; may be left out"},
				{Name: "action", Description: "list, search or delete"},
				{Name: "text", Description: "what to search, or the id to delete"},
			},
			run: (*Server).commandPrompt,
		},
	}
}

func promptNames() []string {
	var out []string
	for _, p := range prompts() {
		out = append(out, p.name)
	}
	return out
}

func promptArguments(name string) []string {
	var out []string
	for _, p := range prompts() {
		if p.name == name {
			for _, a := range p.arguments {
				out = append(out, a.Name)
			}
		}
	}
	return out
}

func (s *Server) addPrompts() {
	for _, p := range prompts() {
		s.sdk.AddPrompt(sdk.Prompt{Name: p.name, Title: p.title, Description: p.description, Arguments: p.arguments}, s.promptHandler(p))
	}
}

func (s *Server) promptHandler(p prompt) sdkserver.PromptHandlerFunc {
	return func(ctx context.Context, req sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return guarded(s, ctx, p.name, func() (*sdk.GetPromptResult, error) {
			c, err := s.callerOf(ctx)
			if err != nil {
				return nil, err
			}
			texts, err := p.run(s, ctx, c, req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			result := &sdk.GetPromptResult{Description: p.title}
			for _, t := range texts {
				result.Messages = append(result.Messages, sdk.NewPromptMessage(sdk.RoleUser, sdk.NewTextContent(t)))
			}
			return result, nil
		})
	}
}

// contextPrompt gives the memo and, in a message of its own that may change while the
// memo's does not, what fits the query. In a group both are the group's: a member's own
// memories come up only when a tool asks for them.
func (s *Server) contextPrompt(ctx context.Context, c caller.Caller, args map[string]string) ([]string, error) {
	m, err := s.memos.Get(ctx, c)
	if err != nil {
		return nil, err
	}
	first := "The memo is empty."
	if m.Content != "" {
		first = fmt.Sprintf("Memo of the %s, background for what follows:\n%s", c.MemoScope(), s.fenced("memo", m.Content))
	}
	out := []string{first}
	if query := args["query"]; query != "" {
		r, err := s.memories.Search(ctx, c, vector.Query{Scope: c.MemoScope(), Text: query})
		if err != nil {
			return nil, err
		}
		// An unrelated memory in every turn costs more than one that is missing: the
		// model can still search by itself.
		if len(r.Hits) > 0 && r.Confidence != "low" {
			out = append(out, "Memories that may matter here: "+s.searched(r, nil).text)
		}
	}
	return out, nil
}
