package mcp

import (
	"context"
	"fmt"
	"strings"

	"reverie/internal/caller"
	"reverie/vector"
)

func (s *Server) updateMemory() tool {
	return tool{
		toolset: ToolsetMemory, name: "update_memory", title: "Change a memory",
		description: "Call to correct or merge a memory. What is not given stays.",
		zh:          "修改一条记忆的内容、标签或重要性",
		params: []param{
			idParam(""),
			scopeParam(),
			{name: "content", kind: text, max: vector.MaxContentRunes},
			tagsParam("replaces all"),
			{name: "importance", kind: text, enum: grades},
		},
		output: `{"type":"object","properties":{"id":{"type":"string"}}}`,
		hints:  hints{destructive: true, idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			var p vector.Patch
			if a.has("content") {
				content := a.text("content")
				p.Content = &content
			}
			if a.has("tags") {
				tags := a.list("tags")
				p.Tags = &tags
			}
			if a.has("importance") {
				grade := vector.Importance(a.text("importance"))
				p.Importance = &grade
			}
			if p == (vector.Patch{}) {
				return answer{}, badArgument("nothing to change; give content, tags or importance")
			}
			w, err := s.memories.Update(ctx, c, a.scope(), a.text("id"), p)
			if err != nil {
				return answer{}, err
			}
			return s.written("updated", w, true), nil
		},
	}
}

// moved is the structured result of a deletion or a restoration.
type moved struct {
	Status  string       `json:"status"`
	ID      string       `json:"id"`
	Scope   caller.Scope `json:"scope"`
	State   vector.State `json:"state"`
	Message string       `json:"message"`
}

func (s *Server) deleteMemory() tool {
	return tool{
		toolset: ToolsetMemory, name: "delete_memory", title: "Forget a memory",
		description: "Call when something shall be forgotten or is wrong. It goes to the trash.",
		zh:          "把一条记忆移到回收站",
		params:      []param{idParam(""), scopeParam()},
		output:      `{"type":"object","properties":{"id":{"type":"string"}}}`,
		hints:       hints{destructive: true, idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			m, err := s.memories.Delete(ctx, c, a.scope(), a.text("id"))
			if err != nil {
				return answer{}, err
			}
			text := fmt.Sprintf("moved %s to the trash", m.ID)
			if s.offers("restore") {
				text += "; restore brings it back"
			} else {
				text += "; the user can bring it back with: reverie memory restore " + m.ID
			}
			return answer{moved{"success", m.ID, m.Scope, m.State, text}, text}, nil
		},
	}
}

// listed is one item of a list.
type listed struct {
	ID         string            `json:"id"`
	Preview    string            `json:"content_preview"`
	Chars      int               `json:"chars"`
	Tags       []string          `json:"tags"`
	Importance vector.Importance `json:"importance"`
	Scope      caller.Scope      `json:"scope"`
	CreatedAt  string            `json:"created_at"`
	UpdatedAt  string            `json:"updated_at"`
}

// page is the structured result of a list.
type page struct {
	Status string   `json:"status"`
	Items  []listed `json:"items"`
	Total  int      `json:"total"`
	Cursor string   `json:"next_cursor,omitempty"`
}

func (s *Server) listMemory() tool {
	return tool{
		toolset: ToolsetMemory, name: "list_memory", title: "List memories",
		description: "Call for an overview, newest first, or to tidy up; to find something use read_memory.",
		zh:          "从新到旧列出记忆",
		params: []param{
			scopeParam(),
			{name: "limit", kind: whole, min: 1, max: vector.MaxListLimit, preset: vector.DefaultLimit},
			{name: "cursor", kind: text, doc: "next_cursor of the page before"},
			tagsParam("all required"),
			{name: "importance", kind: text, enum: grades},
		},
		output: `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}},"total":{"type":"integer"},"next_cursor":{"type":"string"}}}`,
		hints:  hints{readOnly: true, idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			q := vector.ListQuery{
				Scope: a.scope(), Limit: a.whole("limit"), Cursor: a.text("cursor"),
				Tags: a.list("tags"), Importance: vector.Importance(a.text("importance")),
			}
			data, body, err := s.page(ctx, c, q)
			if err != nil {
				return answer{}, err
			}
			text := s.pageText(data, body, "call list_memory with cursor "+quote(data.Cursor))
			if data.Total == 0 && (q.Importance != "" || len(q.Tags) > 0) {
				text = "no memory here has this importance and these tags (tags match exactly)"
			}
			return answer{data, noted(text, ownOnly(c, a, `these are the caller's own memories; the group's are under scope "group"`))}, nil
		},
	}
}

// page fetches a page that fits an answer. When the items asked for do not, it asks
// again for fewer, so that the cursor continues right after the last one shown.
func (s *Server) page(ctx context.Context, c caller.Caller, q vector.ListQuery) (page, string, error) {
	for {
		got, err := s.memories.List(ctx, c, q)
		if err != nil {
			return page{}, "", err
		}
		data := page{Status: "success", Items: []listed{}, Total: got.Total, Cursor: got.Next}
		left := newBudget()
		var body strings.Builder
		fits := true
		for _, m := range got.Items {
			item := listed{m.ID, preview(m.Content), len([]rune(m.Content)), tagsOf(m), m.Importance, m.Scope, s.time(m.CreatedAt), s.time(m.UpdatedAt)}
			entry := s.line(m) + ": " + item.Preview + "\n"
			if fits = left.take(entry, item); !fits {
				break
			}
			data.Items = append(data.Items, item)
			body.WriteString(entry)
		}
		if fits || len(data.Items) == 0 {
			return data, body.String(), nil
		}
		q.Limit = len(data.Items)
	}
}

// pageText is the text of a page; next says how to get the following one.
func (s *Server) pageText(data page, body, next string) string {
	if len(data.Items) == 0 {
		if data.Total == 0 {
			return "no memories here yet"
		}
		return fmt.Sprintf("no more of the %s", counted(data.Total, "memory", "memories"))
	}
	text := s.fenced("memories", fmt.Sprintf("%d of %s, newest first\n%s", len(data.Items), counted(data.Total, "memory", "memories"), body))
	if data.Cursor != "" {
		text += "\nmore: " + next
	}
	return text
}
