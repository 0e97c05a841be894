package mcp

import (
	"context"
	"fmt"
	"strings"

	"reverie/internal/caller"
	"reverie/vector"
)

var (
	grades = []string{string(vector.Low), string(vector.Medium), string(vector.High)}
	scopes = []string{string(caller.ScopeUser), string(caller.ScopeGroup)}
)

func scopeParam() param { return param{name: "scope", kind: text, enum: scopes} }

// scopeChoice is scopeParam where the model has to choose: what is said in a group may
// belong to one person or to all.
func scopeChoice(doc string) param {
	p := scopeParam()
	p.preset, p.doc = string(caller.ScopeUser), doc
	return p
}

// ownOnly is a notice for a call in a group that was about the caller's own memories,
// which nobody may have meant.
func ownOnly(c caller.Caller, a arguments, what string) []string {
	if !c.InGroup() || a.scope() != caller.ScopeUser {
		return nil
	}
	return []string{what}
}

func tagsParam(doc string) param {
	return param{name: "tags", kind: list, max: vector.MaxTags, each: vector.MaxTagRunes, doc: doc}
}

func idParam(doc string) param {
	return param{name: "id", kind: text, required: true, max: 32, doc: doc}
}

// scope is the scope asked for; the schema's enum has checked it.
func (a arguments) scope() caller.Scope {
	if s := a.text("scope"); s != "" {
		return caller.Scope(s)
	}
	return caller.ScopeUser
}

// written is the structured result of a write.
type written struct {
	Status      string            `json:"status"`
	ID          string            `json:"id"`
	Scope       caller.Scope      `json:"scope"`
	Importance  vector.Importance `json:"importance"`
	Tags        []string          `json:"tags"`
	Private     bool              `json:"private,omitempty"`
	CreatedAt   string            `json:"created_at"`
	UpdatedAt   string            `json:"updated_at,omitempty"`
	DuplicateOf string            `json:"duplicate_of,omitempty"`
	Superseded  string            `json:"superseded,omitempty"`
	Similar     []vector.Similar  `json:"similar,omitempty"`
	Notices     []string          `json:"notices,omitempty"`
}

func (s *Server) writeMemory() tool {
	return tool{
		toolset: ToolsetMemory, name: "write_memory", title: "Remember a fact",
		description: "Call at once when you learn a lasting fact, preference, plan, decision or correction. One self-contained fact per call, with names and dates; no secrets, small talk or recalled text.",
		zh:          "记住一条事实；可用 supersedes 替换旧的",
		params: []param{
			{name: "content", kind: text, required: true, max: vector.MaxContentRunes},
			tagsParam(""),
			{name: "importance", kind: text, enum: grades, preset: "medium"},
			scopeChoice("group: for all in the group"),
			{name: "private", kind: flag, doc: "never show in groups"},
			{name: "supersedes", kind: text, max: 32, doc: "id of the memory it replaces"},
		},
		output: `{"type":"object","properties":{"id":{"type":"string"},"duplicate_of":{"type":"string"},"similar":{"type":"array"}}}`,
		hints:  hints{idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			w, err := s.memories.Write(ctx, c, vector.Draft{
				Scope: a.scope(), Content: a.text("content"), Tags: a.list("tags"),
				Importance: vector.Importance(a.text("importance")), Private: a.flag("private"), Supersedes: a.text("supersedes"),
			})
			if err != nil {
				return answer{}, err
			}
			w.Notices = append(w.Notices, ownOnly(c, a, `kept as the caller's own, for no one else in the group; scope "group" shares a memory`)...)
			verb := "stored"
			if w.DuplicateOf != "" {
				verb = "already known, not stored twice:"
			}
			return s.written(verb, w, false), nil
		},
	}
}

// written says what a write or an update did.
func (s *Server) written(verb string, w vector.Written, updated bool) answer {
	m := w.Memory
	data := written{
		Status: "success", ID: m.ID, Scope: m.Scope, Importance: m.Importance, Tags: tagsOf(m), Private: m.Private,
		CreatedAt: s.time(m.CreatedAt), DuplicateOf: w.DuplicateOf, Superseded: w.Superseded, Similar: w.Similar, Notices: w.Notices,
	}
	if updated {
		data.UpdatedAt = s.time(m.UpdatedAt)
	}
	text := fmt.Sprintf("%s %s (%s, %s)", verb, m.ID, m.Scope, m.Importance)
	if w.Superseded != "" {
		text += "; " + w.Superseded + " is retired"
	}
	if len(w.Similar) > 0 {
		var body strings.Builder
		for i, near := range w.Similar {
			data.Similar[i].Content = preview(near.Content)
			body.WriteString(near.ID + ": " + preview(near.Content) + "\n")
		}
		text += "\nsimilar memories stand beside it; merge with update_memory or drop one with delete_memory if they say the same:\n" + s.fenced("memories", body.String())
	}
	return answer{data, noted(text, w.Notices)}
}

func tagsOf(m vector.Memory) []string {
	if m.Tags == nil {
		return []string{}
	}
	return m.Tags
}

// found is one item of a search result.
type found struct {
	ID         string            `json:"id"`
	Content    string            `json:"content"`
	Tags       []string          `json:"tags"`
	Importance vector.Importance `json:"importance"`
	Scope      caller.Scope      `json:"scope"`
	CreatedAt  string            `json:"created_at"`
	UpdatedAt  string            `json:"updated_at"`
	Distance   *float64          `json:"distance"`
	Score      float64           `json:"score"`
	Match      vector.Match      `json:"match"`
}

// searched is the structured result of a search.
type searched struct {
	Status     string   `json:"status"`
	Items      []found  `json:"items"`
	Total      int      `json:"total"`
	Confidence string   `json:"confidence"`
	Degraded   string   `json:"degraded,omitempty"`
	LeftOut    int      `json:"left_out,omitempty"`
	Notices    []string `json:"notices,omitempty"`
}

func (s *Server) readMemory() tool {
	return tool{
		toolset: ToolsetMemory, name: "read_memory", title: "Search memories",
		description: "Call before answering anything that may rest on earlier conversations: people, preferences, plans, past work. Finds by meaning and words.",
		zh:          "按意思和词语搜索记忆",
		params: []param{
			{name: "query", kind: text, required: true, max: vector.MaxQueryRunes, doc: "what to find out"},
			{name: "top_k", kind: whole, min: 1, max: vector.MaxTopK, preset: vector.DefaultTopK},
			{name: "importance", kind: text, enum: grades},
			tagsParam("all required"),
			scopeChoice(""),
		},
		output: `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}},"total":{"type":"integer"},"confidence":{"type":"string"},"degraded":{"type":"string"}}}`,
		hints:  hints{readOnly: true, idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			r, err := s.memories.Search(ctx, c, vector.Query{
				Scope: a.scope(), Text: a.text("query"), TopK: a.whole("top_k"),
				Importance: vector.Importance(a.text("importance")), Tags: a.list("tags"),
			})
			if err != nil {
				return answer{}, err
			}
			notices := append(longQuery(a.text("query")), ownOnly(c, a, `these are the caller's own memories; the group's are under scope "group"`)...)
			return s.searched(r, notices), nil
		},
	}
}

// longQuery is a notice for a query of which only the beginning counts.
func longQuery(q string) []string {
	if n := len([]rune(q)); n > vector.MaxQueryRunes {
		return []string{fmt.Sprintf("the query has %s characters; only the first %s were used", thousands(int64(n)), thousands(vector.MaxQueryRunes))}
	}
	return nil
}

// searched lays out hits, best first, until the answer is full.
func (s *Server) searched(r vector.Result, notices []string) answer {
	data := searched{Status: "success", Items: []found{}, Total: r.Total, Confidence: r.Confidence, Degraded: r.Degraded, Notices: notices}
	left := newBudget()
	var body strings.Builder
	for i, h := range r.Hits {
		item := found{
			ID: h.ID, Content: h.Content, Tags: tagsOf(h.Memory), Importance: h.Importance, Scope: h.Scope,
			CreatedAt: s.time(h.CreatedAt), UpdatedAt: s.time(h.UpdatedAt), Distance: h.Distance, Score: h.Score, Match: h.Match,
		}
		entry := s.line(h.Memory) + "\n" + indented(h.Content)
		if !left.take(entry, item) {
			data.LeftOut = len(r.Hits) - i
			data.Notices = append(data.Notices, fmt.Sprintf("%s left out to keep the answer short; call read_memory with top_k %d, or a narrower query, or read memory://memories/{id}",
				counted(data.LeftOut, "more memory was", "more memories were"), max(1, i)))
			break
		}
		data.Items = append(data.Items, item)
		body.WriteString(entry)
	}
	var text string
	switch {
	case r.Total == 0:
		text = "no memories match: nothing is stored in this scope, or nothing that passes the importance and tags given (tags match exactly)"
	case len(data.Items) == 0:
		text = fmt.Sprintf("none of %s fits the query", counted(r.Total, "memory", "memories"))
	default:
		head := fmt.Sprintf("%d of %s, best first, confidence %s", len(data.Items), counted(r.Total, "memory", "memories"), r.Confidence)
		if r.Confidence == "low" {
			head += ": probably none of these answers the query"
		}
		// The head is inside, so that nothing of the answer is left when it comes back.
		text = s.fenced("memories", head+"\n"+body.String())
	}
	if r.Degraded != "" {
		text += "\ndegraded: " + r.Degraded
	}
	return answer{data, noted(text, data.Notices)}
}
