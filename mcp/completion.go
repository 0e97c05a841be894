package mcp

import (
	"context"
	"strings"

	sdk "github.com/mark3labs/mcp-go/mcp"

	"reverie/internal/caller"
)

// maxCompletions is the protocol's limit on values in one answer.
const maxCompletions = 100

// completer suggests values for the arguments of prompts and resource templates. What
// cannot be completed gets no suggestions rather than an error: clients ask while the
// user is typing.
type completer struct{ s *Server }

// CompletePromptArgument implements the SDK's provider.
func (p completer) CompletePromptArgument(ctx context.Context, name string, arg sdk.CompleteArgument, rest sdk.CompleteContext) (*sdk.Completion, error) {
	return guarded(p.s, ctx, "completion", func() (*sdk.Completion, error) {
		switch name + " " + arg.Name {
		case "memory scope":
			c, err := p.s.callerOf(ctx)
			if err != nil {
				return nil, err
			}
			values := []string{"user"}
			if c.InGroup() {
				values = scopes
			}
			return beginning(arg.Value, values), nil
		case "memory action":
			return beginning(arg.Value, []string{"list", "search", "delete"}), nil
		case "memory text":
			if rest.Arguments["action"] != "delete" {
				return beginning("", nil), nil
			}
			return p.ids(ctx, arg.Value, caller.Scope(cmpOr(rest.Arguments["scope"], "user")))
		case "memory_guide language":
			return beginning(arg.Value, []string{"en", "zh"}), nil
		}
		return beginning("", nil), nil
	})
}

// CompleteResourceArgument implements the SDK's provider.
func (p completer) CompleteResourceArgument(ctx context.Context, uri string, arg sdk.CompleteArgument, _ sdk.CompleteContext) (*sdk.Completion, error) {
	return guarded(p.s, ctx, "completion", func() (*sdk.Completion, error) {
		if uri != memoriesURI+"/{id}" || arg.Name != "id" {
			return beginning("", nil), nil
		}
		c, err := p.s.callerOf(ctx)
		if err != nil {
			return nil, err
		}
		return p.ids(ctx, arg.Value, scopesInView(c)...)
	})
}

// ids suggests the ids that begin with prefix.
func (p completer) ids(ctx context.Context, prefix string, scopes ...caller.Scope) (*sdk.Completion, error) {
	c, err := p.s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	out := &sdk.Completion{Values: []string{}}
	for _, scope := range scopes {
		if scope != caller.ScopeUser && scope != caller.ScopeGroup || scope == caller.ScopeGroup && !c.InGroup() {
			continue
		}
		ids, err := p.s.memories.IDs(ctx, c, scope, strings.ToLower(prefix), maxCompletions+1)
		if known(err) {
			continue // kept private here: nothing to suggest
		}
		if err != nil {
			return nil, err
		}
		out.Values = append(out.Values, ids...)
	}
	if out.HasMore = len(out.Values) > maxCompletions; out.HasMore {
		out.Values = out.Values[:maxCompletions]
	}
	return out, nil
}

// beginning suggests those of values that begin with prefix.
func beginning(prefix string, values []string) *sdk.Completion {
	out := &sdk.Completion{Values: []string{}}
	for _, v := range values {
		if strings.HasPrefix(v, strings.ToLower(prefix)) {
			out.Values = append(out.Values, v)
		}
	}
	out.Total = len(out.Values)
	return out
}
