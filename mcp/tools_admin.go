package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"reverie/internal/caller"
	"reverie/journal"
)

// change is one entry of a history.
type change struct {
	At     string          `json:"at"`
	Action journal.Action  `json:"action"`
	Actor  string          `json:"actor,omitempty"`
	Source string          `json:"source,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// changes is the structured result of history.
type changes struct {
	Status  string   `json:"status"`
	ID      string   `json:"id"`
	Items   []change `json:"items"`
	Total   int      `json:"total"`
	LeftOut int      `json:"left_out,omitempty"`
}

func (s *Server) history() tool {
	return tool{
		toolset: ToolsetAdmin, name: "history", title: "History of a memory",
		description: "Call when the user asks when or how a memory changed, newest change first, deleted and replaced ones included. The id \"memo\" asks for the memo's history.",
		zh:          "查看一条记忆的变更历史",
		params:      []param{idParam(""), scopeParam()},
		output:      `{"type":"object","properties":{"id":{"type":"string"},"items":{"type":"array","items":{"type":"object"}},"total":{"type":"integer"}}}`,
		hints:       hints{readOnly: true, idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			id := a.text("id")
			var entries []journal.Entry
			var err error
			if id == "memo" {
				entries, err = s.memos.History(ctx, c)
			} else {
				entries, err = s.memories.History(ctx, c, a.scope(), id)
			}
			if err != nil {
				return answer{}, err
			}
			return s.changes(id, entries), nil
		},
	}
}

func (s *Server) changes(id string, entries []journal.Entry) answer {
	data := changes{Status: "success", ID: id, Items: []change{}, Total: len(entries)}
	left := newBudget()
	var body strings.Builder
	for i, e := range entries {
		item := change{s.time(e.At), e.Action, e.Actor, e.Source, e.Before, e.After}
		entry := fmt.Sprintf("%s %s by %s: %s\n", item.At, e.Action, e.Actor, contentOf(e))
		if !left.take(entry, item) {
			data.LeftOut = len(entries) - i
			break
		}
		data.Items = append(data.Items, item)
		body.WriteString(entry)
	}
	text := fmt.Sprintf("%s of %s, newest first", counted(len(entries), "change", "changes"), id)
	if len(data.Items) > 0 {
		text += "\n" + s.fenced("history", body.String())
	}
	if data.LeftOut > 0 {
		text += fmt.Sprintf("\n%s left out to keep the answer short; see them with: reverie memory history %s", counted(data.LeftOut, "older change was", "older changes were"), id)
	}
	return answer{data, text}
}

// contentOf is the beginning of the text that an entry left, or removed.
func contentOf(e journal.Entry) string {
	var state struct {
		Content string `json:"content"`
	}
	for _, raw := range []json.RawMessage{e.After, e.Before} {
		if json.Unmarshal(raw, &state) == nil && state.Content != "" {
			break
		}
	}
	return preview(state.Content)
}

func (s *Server) restore() tool {
	return tool{
		toolset: ToolsetAdmin, name: "restore", title: "Restore a memory",
		description: "Call to bring back a memory that was deleted, replaced or archived.",
		zh:          "恢复被删除、替换或归档的记忆",
		params:      []param{idParam(""), scopeParam()},
		output:      `{"type":"object","properties":{"id":{"type":"string"}}}`,
		hints:       hints{idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			m, err := s.memories.Restore(ctx, c, a.scope(), a.text("id"))
			if err != nil {
				return answer{}, err
			}
			text := "restored " + s.line(m)
			return answer{moved{"success", m.ID, m.Scope, m.State, text}, "restored\n" + s.fenced("memories", s.line(m)+": "+preview(m.Content)+"\n")}, nil
		},
	}
}
