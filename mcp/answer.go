package mcp

import (
	"fmt"
	"strings"

	"reverie/internal/tokens"
	"reverie/vector"
)

// maxAnswer bounds the tokens of one answer, its text and its structured form together:
// clients refuse more than 25,000, and some hand both to the model.
const maxAnswer = 20000

// previewRunes is how much of a memory a list shows.
const previewRunes = 80

// preview is the beginning of a text on one line.
func preview(content string) string {
	return shorten(strings.Join(strings.Fields(content), " "), previewRunes)
}

// line names a memory: id, day, importance, tags.
func (s *Server) line(m vector.Memory) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", m.ID, m.CreatedAt.In(s.o.Location).Format("2006-01-02"), m.Importance)
	for _, t := range m.Tags {
		b.WriteString(" #" + strings.Join(strings.Fields(t), "_"))
	}
	if m.State != "" && m.State != vector.Live {
		fmt.Fprintf(&b, " (%s)", m.State)
	}
	return b.String()
}

// fenced marks recalled text as data.
func (s *Server) fenced(kind, body string) string {
	return s.o.Fence.Wrap(kind, strings.TrimSuffix(body, "\n"))
}

// indented sets a text off from the line that names it, so that no line of it can pass
// for one.
func indented(content string) string {
	return "  " + strings.ReplaceAll(content, "\n", "\n  ") + "\n"
}

// budget counts what an answer may still hold.
type budget struct{ left int }

func newBudget() *budget { return &budget{left: maxAnswer - 500} } // for the words around the items

// take reports whether an item still fits, text and structured form together, and
// counts it if so.
func (b *budget) take(text string, data any) bool {
	n := tokens.Estimate(text) + tokens.Estimate(mustJSON(data))
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

// counted is "1 memory" or "3 memories".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", thousands(int64(n)), many)
}

// noted appends notices to a text, one line each.
func noted(text string, notices []string) string {
	for _, n := range notices {
		text += "\nnote: " + n
	}
	return text
}
