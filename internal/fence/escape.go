package fence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns text with a backslash behind the first character of whatever looks like a mark of this package, a
// closing tag, or a role token. Wrap does this by itself; Escape is for text that is shown in another frame.
// Escaping twice is escaping once.
func Escape(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	escape(&b, text)
	return b.String()
}

func escape(b *strings.Builder, s string) {
	done := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf && c != '<' && c != '[' && c != '\\' && c != '&' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '\\' {
			// The opening bracket as JSON writes it.
			if opensMark(s[i:]) != jsonRuneLen {
				i++
				continue
			}
			r, size = '⟦', jsonRuneLen
		}
		if suspicious(r, s[i+size:]) {
			b.WriteString(s[done : i+size])
			b.WriteByte('\\')
			done = i + size
		}
		i += size
	}
	b.WriteString(s[done:])
}

// suspicious reports whether the bracket r, followed by rest, begins something that has to be escaped.
func suspicious(r rune, rest string) bool {
	sc := scanner{s: rest}
	if first, ok := sc.peek(); ok && first == '\\' {
		return false // already escaped, or harmless
	}
	switch r {
	case '&':
		return opensMark("&"+rest) > 0
	case '⟦', '〚': // our own bracket and its twin: whatever follows
		return true
	case '[', '［', '【', '〖', '〔', '⟬', '❲', '⦗', '⁅', '「', '『':
		return sc.mark() || (&scanner{s: rest}).inst()
	case '<', '＜', '‹', '«', '〈', '《', '⟨', '﹤', '❮':
		return sc.tag() || (&scanner{s: rest}).mark()
	}
	return false
}

// scanner reads text as a reader sees it: invisible characters are skipped, full-width forms are folded to ASCII,
// letters to lower case.
type scanner struct{ s string }

func (sc *scanner) peek() (rune, bool) {
	for sc.s != "" {
		r, size := utf8.DecodeRuneInString(sc.s)
		if !invisible(r) {
			return fold(r), true
		}
		sc.s = sc.s[size:]
	}
	return 0, false
}

func (sc *scanner) next() {
	_, size := utf8.DecodeRuneInString(sc.s)
	sc.s = sc.s[size:]
}

// skip skips up to limit characters of which ok is true and returns how many there were.
func (sc *scanner) skip(limit int, ok func(rune) bool) (n int) {
	for n < limit {
		r, more := sc.peek()
		if !more || !ok(r) {
			break
		}
		sc.next()
		n++
	}
	return n
}

// word reads up to limit letters, digits, - and _, of which the first is a letter.
func (sc *scanner) word(limit int) string {
	var b strings.Builder
	for n := 0; n < limit; n++ {
		r, more := sc.peek()
		if !more || !(unicode.IsLetter(r) || n > 0 && (r == '-' || r == '_' || unicode.IsDigit(r))) {
			break
		}
		b.WriteRune(r)
		sc.next()
	}
	return b.String()
}

// mark: more brackets, perhaps a slash, a word, and a number as long as a sentinel.
func (sc *scanner) mark() bool {
	sc.skip(24, func(r rune) bool { return r == '[' || r == '<' || r == '【' || blankOrEnd(r) })
	slash := sc.skip(1, slashLike) > 0
	sc.skip(16, blankOrEnd)
	if sc.word(maxKind) == "" || sc.skip(16, blankOrEnd) == 0 {
		return false
	}
	n := sc.skip(sentinelLen+1, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' })
	return n == sentinelLen || slash && n >= 4 // 17 and more: a digest in brackets, not one of ours
}

// inst: the [INST] and [/INST] of some models.
func (sc *scanner) inst() bool {
	sc.skip(1, slashLike)
	sc.skip(4, blank)
	w := sc.word(8)
	r, _ := sc.peek()
	return w == "inst" && r == ']'
}

// tag: a closing tag, a token like <|im_end|>, or the opening tag of a role.
func (sc *scanner) tag() bool {
	sc.skip(4, blank)
	if sc.skip(1, slashLike) > 0 {
		sc.skip(8, blank)
		r, _ := sc.peek()
		return unicode.IsLetter(r) || r == '|'
	}
	if sc.skip(1, func(r rune) bool { return r == '|' }) > 0 {
		n := sc.skip(40, func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == ' ' || r == '▁' || r == '/'
		})
		r, _ := sc.peek()
		return n > 0 && r == '|'
	}
	switch sc.word(24) {
	case "system", "developer", "user", "human", "assistant", "model", "tool", "tool_call", "tool_result", "tool_response",
		"function_call", "function_calls", "function_results", "invoke", "instruction", "instructions", "system-reminder",
		"system_prompt", "start_of_turn", "end_of_turn", "think", "thinking", "sys", "s", "bos", "eos":
		r, more := sc.peek()
		return more && (r == '>' || r == '/' || blank(r))
	}
	return false
}

func blank(r rune) bool { return r == ' ' || r == '\t' || unicode.Is(unicode.Zs, r) }

func blankOrEnd(r rune) bool { return blank(r) || r == '\n' || r == '\r' }

func slashLike(r rune) bool {
	return r == '/' || r == '∕' || r == '⁄' || r == '⧸' || r == '╱' || r == '⟋'
}

func fold(r rune) rune {
	if r >= '！' && r <= '～' {
		r -= '！' - '!'
	}
	switch r {
	case '❘', '∣', '│', '¦', 'ǀ':
		return '|'
	}
	return unicode.ToLower(r)
}

func invisible(r rune) bool {
	return r >= 0xAD && (unicode.Is(unicode.Cf, r) || r == 0x034F || r == 0x115F || r == 0x1160 || r == 0x3164 ||
		r == 0xFFA0 || r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r >= 0x180B && r <= 0x180F)
}
