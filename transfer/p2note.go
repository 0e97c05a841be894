package transfer

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"reverie/vector"
)

// pieceRunes is the length, in code points, that pieces of a note aim at: long enough for
// a fact with its reasons, short enough to be found by its meaning.
const pieceRunes = 2000

// note is a Markdown file of P2, taken apart.
type note struct {
	name        string // frontmatter's, empty if there is none
	description string
	kind        string // user, feedback, project or reference, else empty
	body        string
}

// parseNote reads a note. Frontmatter that is not YAML is body: nothing is lost.
func parseNote(text string) note {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	n := note{body: text}
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return n
	}
	head, body, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return n
		}
	}
	var front struct {
		Name        any `yaml:"name"`
		Description any `yaml:"description"`
		Type        any `yaml:"type"`
		Metadata    any `yaml:"metadata"`
	}
	if yaml.Unmarshal([]byte(head), &front) != nil {
		return n
	}
	n.body = body
	n.name, n.description = oneLine(front.Name), oneLine(front.Description)
	kind := front.Type
	if m, ok := front.Metadata.(map[string]any); ok && m["type"] != nil {
		kind = m["type"]
	}
	switch k := strings.ToLower(oneLine(kind)); k {
	case "user", "feedback", "project", "reference":
		n.kind = k
	}
	return n
}

// oneLine is a YAML value as a line of text, empty if it is none.
func oneLine(v any) string {
	s, _ := v.(string)
	return strings.Join(strings.Fields(s), " ")
}

// importance says how much a note matters. Who people are and how they want to be dealt
// with stays true; what is going on, and where things lie, grows old.
func (n note) importance() vector.Importance {
	if n.kind == "user" || n.kind == "feedback" {
		return vector.High
	}
	return vector.Medium
}

// pieces are the contents of the memories that a note becomes: its description, or else its
// name, is the first line of each, for a piece is read by itself.
func (n note) pieces() []string {
	head := n.description
	if head == "" && strings.TrimSpace(n.body) != "" {
		head = n.name
	}
	if r := []rune(head); len(r) > pieceRunes/2 {
		head = string(r[:pieceRunes/2]) + "…"
	}
	room := pieceRunes
	if head != "" {
		room -= utf8.RuneCountInString(head) + 2
	}
	parts := split(n.body, room)
	if len(parts) == 0 {
		if head == "" {
			return nil
		}
		return []string{head}
	}
	if head == "" {
		return parts
	}
	for i, p := range parts {
		first, _, _ := strings.Cut(p, "\n")
		if strings.TrimSpace(strings.TrimLeft(first, "# ")) != head {
			parts[i] = head + "\n\n" + p
		}
	}
	return parts
}

// split cuts Markdown into pieces of at most room code points: at headings if a piece is
// half full there, else between paragraphs, and inside one only if it alone is too long.
func split(text string, room int) []string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= room {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	var out []string
	var piece []string
	size := 0
	flush := func() {
		if s := strings.TrimSpace(strings.Join(piece, "\n\n")); s != "" {
			out = append(out, s)
		}
		piece, size = nil, 0
	}
	for _, block := range blocks(text) {
		n := utf8.RuneCountInString(block)
		if size > 0 && (size+n+2 > room || strings.HasPrefix(block, "#") && size > room/2) {
			flush()
		}
		for n > room {
			var first string
			first, block = cutAt(block, room)
			piece = append(piece, first)
			flush()
			n = utf8.RuneCountInString(block)
		}
		piece = append(piece, block)
		size += n + 2
	}
	flush()
	return out
}

// blocks are the paragraphs of a text; a heading begins one.
func blocks(text string) []string {
	var out, block []string
	flush := func() {
		if len(block) > 0 {
			out = append(out, strings.Join(block, "\n"))
			block = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			flush()
			continue
		}
		if strings.HasPrefix(line, "#") {
			flush()
		}
		block = append(block, line)
	}
	flush()
	return out
}

// cutAt cuts a text after at most room code points: behind a line, a sentence, a blank, or
// where it must be.
func cutAt(text string, room int) (first, rest string) {
	end := 0
	for i := range text {
		if room == 0 {
			end = i
			break
		}
		room--
	}
	head := text[:end]
	for _, seps := range []string{"\n", "。！？；.!?;", " ，、,"} {
		if i := strings.LastIndexAny(head, seps); i > end/2 {
			_, n := utf8.DecodeRuneInString(head[i:])
			return head[:i+n], strings.TrimLeft(text[i+n:], " \n")
		}
	}
	return head, text[end:]
}
