package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// StripPrivate removes <private> ... </private> blocks with what is in them, and reports whether it found any tag.
// Case, white space, invisible characters and attributes in the tags do not matter, nor whether the tag is written in
// full-width forms, with ‹ ›, or escaped as in HTML; blocks may be nested; a block that is not closed reaches to the end
// of the text; a closing tag without a block is dropped by itself. The result has no private tag in it, also when
// removing a block has pushed together the halves of another one.
func StripPrivate(text string) (clean string, found bool) {
	const rounds = 4
	for range rounds {
		next, any := stripOnce(text)
		if !any {
			return text, found
		}
		text, found = next, true
	}
	// Somebody nested halves of tags in one another. What is left is not worth guessing about.
	for i := range len(text) {
		if openAngle(text[i:]) > 0 {
			if _, _, ok := privateTag(text, i); ok {
				return text[:i], true
			}
		}
	}
	return text, found
}

func stripOnce(s string) (string, bool) {
	var b strings.Builder
	depth, kept, found := 0, 0, false
	for i := 0; i < len(s); {
		if openAngle(s[i:]) == 0 {
			i++
			continue
		}
		end, closing, ok := privateTag(s, i)
		if !ok {
			i++
			continue
		}
		found = true
		if depth == 0 {
			b.WriteString(s[kept:i])
		}
		if !closing {
			depth++
		} else if depth > 0 {
			depth--
		}
		i, kept = end, end
	}
	if !found {
		return s, false
	}
	if depth == 0 {
		b.WriteString(s[kept:])
	}
	return b.String(), true
}

// privateTag recognises an opening or closing tag at i, where an opening angle is. A tag without > ends before the
// next <, or with the text: a missing bracket must not make private text public.
func privateTag(s string, i int) (end int, closing, ok bool) {
	p := skipSpace(s, i+openAngle(s[i:]))
	if r, size := letter(s, p); r == '/' {
		closing = true
		p = skipSpace(s, p+size)
	}
	for _, want := range "private" {
		p = skipUnseen(s, p)
		r, size := letter(s, p)
		if r != want {
			return 0, false, false
		}
		p += size
	}
	next := skipUnseen(s, p)
	if r, _ := letter(s, next); next < len(s) && r != '/' && openAngle(s[next:]) == 0 && closeAngle(s[next:]) == 0 && skipSpace(s, next) == next {
		return 0, false, false // <privately>, <private-key>
	}
	for q := p; q < len(s); q++ {
		switch n := closeAngle(s[q:]); {
		case n > 0:
			return q + n, closing, true
		case openAngle(s[q:]) == 0:
		case closing:
			return p, closing, true
		default:
			return q, closing, true
		}
	}
	if closing {
		// Cut off in the closing tag: drop what there is of it, keep the text on the next lines.
		return p, closing, true
	}
	return len(s), closing, true
}

// openAngle is the length of the < at the beginning of s, in one of the forms in which it comes, 0 if there is none.
func openAngle(s string) int {
	switch s[0] {
	case '<':
		return 1
	case '&', '\\', "‹"[0], "＜"[0]:
		return anyPrefix(s, "＜", "‹", "﹤", "&lt;", "&LT;", "&#60;", "&#x3c;", "&#x3C;", `\u003c`, `\u003C`)
	}
	return 0
}

func closeAngle(s string) int {
	switch s[0] {
	case '>':
		return 1
	case '&', '\\', "›"[0], "＞"[0]:
		return anyPrefix(s, "＞", "›", "﹥", "&gt;", "&GT;", "&#62;", "&#x3e;", "&#x3E;", `\u003e`, `\u003E`)
	}
	return 0
}

func anyPrefix(s string, prefixes ...string) int {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return len(p)
		}
	}
	return 0
}

// letter is the character at p, in lower case and without regard to its width, and its length in s.
func letter(s string, p int) (rune, int) {
	r, size := utf8.DecodeRuneInString(s[p:])
	if r >= '！' && r <= '～' {
		r -= '！' - '!'
	}
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r, size
}

func skipUnseen(s string, p int) int {
	for p < len(s) && s[p] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(s[p:])
		if !unicode.Is(unicode.Cf, r) {
			break
		}
		p += size
	}
	return p
}

// skipSpace skips white space and what nobody sees.
func skipSpace(s string, p int) int {
	for p < len(s) {
		r, size := utf8.DecodeRuneInString(s[p:])
		if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
			break
		}
		p += size
	}
	return p
}
