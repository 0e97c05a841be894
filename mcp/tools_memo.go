package mcp

import (
	"context"
	"fmt"
	"unicode/utf8"

	"reverie/internal/caller"
	"reverie/memo"
)

// memoView is the structured form of a memo.
type memoView struct {
	Status    string       `json:"status,omitempty"`
	Scope     caller.Scope `json:"scope"`
	Content   *string      `json:"content,omitempty"`
	Chars     int          `json:"chars"`
	Limit     int          `json:"limit"`
	Version   int64        `json:"version"`
	UpdatedAt string       `json:"updated_at,omitempty"`
	Notices   []string     `json:"notices,omitempty"`
}

func (s *Server) memoView(c caller.Caller, m memo.Memo) memoView {
	return memoView{
		Scope: c.MemoScope(), Chars: utf8.RuneCountInString(m.Content), Limit: s.memos.Limit(),
		Version: m.Version, UpdatedAt: s.time(m.UpdatedAt),
	}
}

func (s *Server) readMemo() tool {
	return tool{
		toolset: ToolsetMemo, name: "read_memo", title: "Read the memo",
		description: "Call when the memo is not in view, and before update_memo.",
		zh:          "读取备忘录",
		output:      `{"type":"object","properties":{"content":{"type":"string"},"chars":{"type":"integer"},"limit":{"type":"integer"},"version":{"type":"integer"}}}`,
		hints:       hints{readOnly: true, idempotent: true},
		run: func(ctx context.Context, c caller.Caller, _ arguments) (answer, error) {
			m, err := s.memos.Get(ctx, c)
			if err != nil {
				return answer{}, err
			}
			data := s.memoView(c, m)
			data.Content = &m.Content
			text := fmt.Sprintf("%s memo, version %d, %d of %d characters", data.Scope, m.Version, data.Chars, data.Limit)
			if m.Content == "" {
				text += ": empty; update_memo fills it"
			} else {
				text += "\n" + s.fenced("memo", m.Content)
			}
			return answer{data, text}, nil
		},
	}
}

func (s *Server) updateMemo() tool {
	limit := int64(s.memos.Limit())
	return tool{
		toolset: ToolsetMemo, name: "update_memo", title: "Rewrite the memo",
		description: fmt.Sprintf("Call to keep who the user (in a group: the group) is, stable preferences and ways of working always in view. Replaces the WHOLE memo: merge. At most %s characters of facts; details belong in write_memory. Empty clears.", thousands(limit)),
		zh:          "整篇改写备忘录；空文本即清空",
		params: []param{
			{name: "content", kind: text, required: true, empty: true, max: limit},
			{name: "expected_version", kind: whole, doc: "version you read"},
		},
		output: `{"type":"object","properties":{"chars":{"type":"integer"},"limit":{"type":"integer"},"version":{"type":"integer"}}}`,
		hints:  hints{destructive: true, idempotent: true},
		run: func(ctx context.Context, c caller.Caller, a arguments) (answer, error) {
			var expected *int64
			if a.has("expected_version") {
				v := int64(a.whole("expected_version"))
				expected = &v
			}
			m, notices, err := s.memos.Set(ctx, c, a.text("content"), expected)
			if err != nil {
				return answer{}, err
			}
			data := s.memoView(c, m)
			data.Status, data.Notices = "success", notices
			text := fmt.Sprintf("%s memo is now version %d, %d of %d characters", data.Scope, m.Version, data.Chars, data.Limit)
			if m.Content == "" {
				text = fmt.Sprintf("%s memo cleared, now version %d", data.Scope, m.Version)
			}
			return answer{data, noted(text, notices)}, nil
		},
	}
}
