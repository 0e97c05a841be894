package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie/internal/caller"
	"reverie/vector"
)

// commandPrompt is the chat command /memory. Its arguments are read as one line, since
// clients hand out the words of a line in order, whatever they mean: "search tea" and
// "user search tea" are both understood.
func (s *Server) commandPrompt(ctx context.Context, c caller.Caller, args map[string]string) ([]string, error) {
	var words []string
	for _, name := range promptArguments("memory") {
		if v := strings.TrimSpace(args[name]); v != "" {
			words = append(words, v)
		}
	}
	out, err := s.command(ctx, c, strings.Join(words, " "))
	if err != nil && known(err) {
		out, err = s.problem("/memory", err), nil // an answer to the person, not a failure
	}
	if err != nil {
		return nil, err
	}
	return []string{out}, nil
}

// command runs one line: [user|group] [list | search <text> | delete <id>].
func (s *Server) command(ctx context.Context, c caller.Caller, line string) (string, error) {
	scope := caller.ScopeUser
	word, rest := cut(line)
	named := true
	switch strings.ToLower(word) {
	case "user":
	case "group":
		scope = caller.ScopeGroup
	default:
		named = false
		rest = line
	}
	if scope == caller.ScopeGroup && !c.InGroup() {
		return s.usage(c, "This is not a group."), nil
	}
	action, what := cut(rest)
	switch strings.ToLower(action) {
	case "":
		if named {
			return s.commandList(ctx, c, scope)
		}
	case "list":
		if what == "" {
			return s.commandList(ctx, c, scope)
		}
	case "search":
		if what != "" {
			return s.commandSearch(ctx, c, scope, what)
		}
		return s.usage(c, "Say what to search for."), nil
	case "delete":
		if what != "" {
			return s.commandDelete(ctx, c, scope, what)
		}
		return s.usage(c, "Say which memory to delete, by its id or the beginning of it."), nil
	}
	return s.usage(c, ""), nil
}

// cut takes the first word off a line.
func cut(line string) (word, rest string) {
	line = strings.TrimSpace(line)
	if i := strings.IndexFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\u3000' }); i >= 0 {
		return line[:i], strings.TrimSpace(strings.ReplaceAll(line[i:], "\u3000", " "))
	}
	return line, ""
}

func (s *Server) usage(c caller.Caller, why string) string {
	who := "user"
	if c.InGroup() {
		who = "user|group"
	}
	text := fmt.Sprintf("Usage:\n/memory [%s] list\n/memory [%s] search <text>\n/memory [%s] delete <id or its beginning>", who, who, who)
	if c.InGroup() {
		text += "\nOnly an admin or owner of the group may delete group memories."
	}
	if why != "" {
		text = why + "\n" + text
	}
	return text
}

func (s *Server) commandList(ctx context.Context, c caller.Caller, scope caller.Scope) (string, error) {
	data, body, err := s.page(ctx, c, vector.ListQuery{Scope: scope, Limit: vector.MaxListLimit})
	if err != nil {
		return "", err
	}
	text := s.pageText(data, body, "")
	if data.Cursor != "" {
		text = strings.TrimSuffix(text, "\nmore: ") + fmt.Sprintf("\n%d more are not shown; find them with /memory search", data.Total-len(data.Items))
	}
	return text, nil
}

func (s *Server) commandSearch(ctx context.Context, c caller.Caller, scope caller.Scope, what string) (string, error) {
	r, err := s.memories.Search(ctx, c, vector.Query{Scope: scope, Text: what, TopK: 10})
	if err != nil {
		return "", err
	}
	return s.searched(r, longQuery(what)).text, nil
}

// commandDelete deletes by id or unique prefix. Who may not delete learns nothing about
// which ids there are: permission comes before the lookup.
func (s *Server) commandDelete(ctx context.Context, c caller.Caller, scope caller.Scope, id string) (string, error) {
	if err := c.MayRewrite(scope); err != nil {
		return err.Error(), nil
	}
	id, err := s.memories.Resolve(ctx, c, scope, strings.ToLower(id), vector.Live)
	var m vector.Memory
	if err == nil {
		m, err = s.memories.Delete(ctx, c, scope, id)
	}
	switch {
	case errors.Is(err, vector.ErrNotFound):
		return fmt.Sprintf("No %s memory has that id; /memory %s list shows the ids.", scope, scope), nil
	case errors.Is(err, vector.ErrAmbiguous), errors.Is(err, vector.ErrInvalid), errors.Is(err, vector.ErrState), known(err):
		return s.problem("/memory delete", err), nil
	case err != nil:
		return "", err
	}
	s.watch.poke()
	return "Moved to the trash:\n" + s.fenced("memories", s.line(m)+": "+preview(m.Content)+"\n"), nil
}
