package fence

import (
	"strings"
	"unicode/utf8"
)

const (
	jsonRuneLen = 6   // \u27e6
	maxNotice   = 160 // bytes of an opening mark behind the sentinel; room for the notice of another version
	stripRounds = 4
)

// Strip removes every fenced block from text and returns what is left and how many pieces were removed.
//
// A block goes from its opening mark to the closing mark of the same kind and sentinel, with the line ends and the
// indentation or quote signs around it; it may stand anywhere: in the middle of a line, in a code fence, with its line
// ends escaped or turned into spaces, its brackets written as [[ ]], 【 】 or character references. A block that is cut
// off goes to the next block, or to the end of the text. A closing mark without an opening one is removed by itself.
//
// Text without marks comes back byte for byte. What Strip returns has no marks: stripping twice is stripping once.
func Strip(text string) (clean string, n int) {
	for range stripRounds {
		next, removed := stripOnce(text)
		if removed == 0 {
			return text, n
		}
		text, n = next, n+removed
	}
	// Removing blocks has pushed together the parts of further marks, again and again: nobody writes that by accident.
	if marks := findMarks(text); len(marks) > 0 {
		return text[:marks[0].start], n + 1
	}
	return text, n
}

func stripOnce(s string) (string, int) {
	marks := findMarks(s)
	if len(marks) == 0 {
		return s, 0
	}
	closings := map[string][]int{} // positions in marks, by identity
	for i, m := range marks {
		if m.closing {
			closings[m.id] = append(closings[m.id], i)
		}
	}
	var b strings.Builder
	kept, removed := 0, 0
	for i := 0; i < len(marks); {
		m := marks[i]
		start, wholeLine := lineStart(s, m.start, kept)
		end, next := m.end, i+1
		if !m.closing {
			end, next = blockEnd(s, marks, closings, i)
		}
		if wholeLine {
			end = lineEnd(s, end)
		}
		b.WriteString(s[kept:start])
		kept = end
		removed++
		for i = next; i < len(marks) && marks[i].start < kept; i++ {
		}
	}
	b.WriteString(s[kept:])
	return b.String(), removed
}

// blockEnd is where the block that marks[i] opens ends, and the first mark behind it.
func blockEnd(s string, marks []mark, closings map[string][]int, i int) (end, next int) {
	id := marks[i].id
	own := closings[id]
	for len(own) > 0 && own[0] < i {
		own = own[1:]
	}
	closings[id] = own
	if len(own) > 0 {
		return marks[own[0]].end, own[0] + 1
	}
	for j := i + 1; j < len(marks); j++ {
		if !marks[j].closing {
			return marks[j].start, j
		}
	}
	return len(s), len(marks)
}

// lineStart moves start over indentation and quote signs to the beginning of the line, if there is nothing else
// before it; wholeLine says so.
func lineStart(s string, start, floor int) (from int, wholeLine bool) {
	i := start
	for i > floor && (s[i-1] == ' ' || s[i-1] == '\t' || s[i-1] == '>') {
		i--
	}
	if i == 0 || s[i-1] == '\n' || s[i-1] == '\r' {
		return i, true
	}
	return start, false
}

// lineEnd moves end over the rest of its line, if that is empty.
func lineEnd(s string, end int) int {
	i := end
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	switch {
	case i == len(s):
		return i
	case strings.HasPrefix(s[i:], "\r\n"):
		return i + 2
	case s[i] == '\n' || s[i] == '\r':
		return i + 1
	}
	return end
}

// mark is an opening or closing mark at s[start:end]; id is what the two of a block have in common.
type mark struct {
	start, end int
	closing    bool
	standIn    bool // between brackets that are not ours
	id         string
}

func findMarks(s string) []mark {
	if !strings.ContainsAny(s, openRune+`\&[【〚［`) {
		return nil
	}
	var marks []mark
	opened := map[string]bool{} // by identity
	for i := 0; i < len(s); {
		switch s[i] {
		case openRune[0], '\\', '&', '[', "【"[0], "［"[0]:
		default:
			i++
			continue
		}
		m, ok := markAt(s, i)
		if !ok || m.standIn && m.closing && !opened[m.id] { // [[/a 0123456789abcdef]] of itself says nothing
			i++
			continue
		}
		if !m.closing {
			opened[m.id] = true
		}
		marks = append(marks, m)
		i = m.end
	}
	return marks
}

// markAt recognises a mark at i. Case, white space and invisible characters do not matter. The end of the text may
// cut a mark between our own brackets off behind its sentinel; between these, an opening mark may have lost its
// notice, too.
func markAt(s string, i int) (mark, bool) {
	pair, n := bracketAt(s[i:])
	if n == 0 {
		return mark{}, false
	}
	m := mark{start: i, standIn: pair != own}
	p := skipBlank(s, i+n)
	if slash, size := utf8.DecodeRuneInString(s[p:]); slash == '/' || slash == '／' {
		m.closing = true
		p = skipBlank(s, p+size)
	}
	kind := p
	for p < len(s) && p-kind < maxKind && (isLetter(s[p]) || p > kind && (s[p] >= '0' && s[p] <= '9' || s[p] == '-' || s[p] == '_')) {
		p++
	}
	sentinel := skipBlank(s, p)
	if p == kind || sentinel == p {
		return mark{}, false
	}
	m.id = s[kind:p]
	for p = sentinel; p < len(s) && isHex(s[p]); p++ {
	}
	if p-sentinel != sentinelLen {
		return mark{}, false
	}
	m.id = strings.ToLower(m.id + " " + s[sentinel:p])
	p = skipBlank(s, p)
	if !m.closing && (strings.HasPrefix(s[p:], ":") || strings.HasPrefix(s[p:], "：")) {
		said := p
		limit := min(len(s), p+maxNotice)
		for p < limit && pair.closed(s[p:]) == 0 && pair.opened(s[p:]) == 0 {
			p++
		}
		if m.standIn && !hasNotice(s[said:p]) {
			return mark{}, false
		}
	} else if !m.closing && m.standIn {
		return mark{}, false
	}
	if p < len(s) || m.standIn {
		n := pair.closed(s[p:])
		if n == 0 {
			return mark{}, false
		}
		p += n
	}
	m.end = p
	return m, true
}

// skipBlank skips a bounded amount of white space and invisible characters.
func skipBlank(s string, p int) int {
	for n := 0; n < 16 && p < len(s); n++ {
		r, size := utf8.DecodeRuneInString(s[p:])
		if !blank(r) && r != '\n' && r != '\r' && !invisible(r) {
			break
		}
		p += size
	}
	return p
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isHex(c byte) bool    { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
