package fence

import (
	"strconv"
	"strings"
)

// brackets is a pair between which a mark can come back.
type brackets struct {
	open, close string
}

// The brackets of Wrap, which a program may have written as JSON or HTML escapes on the way: nothing else looks like
// them, so a mark between them needs no notice.
var own = brackets{openRune, closeRune}

// What models and editors make of brackets that they do not know. People write these for other things, so a mark
// between them counts only with its notice word for word. Escape knows every one of them.
var standIns = [...]brackets{
	{"[[", "]]"}, {"[", "]"}, {"【", "】"}, {"〚", "〛"}, {"［", "］"},
}

// bracketAt is the pair whose opening half begins s, and the length of that half as it is written there, 0 if there
// is none.
func bracketAt(s string) (pair brackets, n int) {
	if n := opensMark(s); n > 0 {
		return own, n
	}
	for _, pair := range standIns {
		if strings.HasPrefix(s, pair.open) {
			return pair, len(pair.open)
		}
	}
	return brackets{}, 0
}

// opened and closed are the lengths of the pair's halves at the beginning of s, 0 if they are not there.
func (pair brackets) opened(s string) int {
	if pair == own {
		return opensMark(s)
	}
	return prefixLen(s, pair.open)
}

func (pair brackets) closed(s string) int {
	if pair == own {
		return closesMark(s)
	}
	return prefixLen(s, pair.close)
}

// opensMark is the length of our own opening bracket at the beginning of s, however it is written.
func opensMark(s string) int {
	return max(prefixLen(s, openRune), jsonRune(s, `\u27e6`), htmlRune(s, '⟦', "lobrk", "LeftDoubleBracket"))
}

func closesMark(s string) int {
	return max(prefixLen(s, closeRune), jsonRune(s, `\u27e7`), htmlRune(s, '⟧', "robrk", "RightDoubleBracket"))
}

func prefixLen(s, prefix string) int {
	if strings.HasPrefix(s, prefix) {
		return len(prefix)
	}
	return 0
}

func jsonRune(s, escaped string) int {
	if len(s) >= jsonRuneLen && s[0] == '\\' && strings.EqualFold(s[:jsonRuneLen], escaped) {
		return jsonRuneLen
	}
	return 0
}

// htmlRune is the length of the character reference for r at the beginning of s: &#10214; &#x27E6; or a name.
func htmlRune(s string, r rune, names ...string) int {
	const longest = 24
	if s == "" || s[0] != '&' {
		return 0
	}
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 2 {
		return 0
	}
	ref := s[1:end]
	for _, name := range names {
		if ref == name {
			return end + 1
		}
	}
	digits, base := strings.TrimPrefix(ref, "#"), 10
	if digits == ref {
		return 0
	}
	if digits[:min(1, len(digits))] == "x" || digits[:min(1, len(digits))] == "X" {
		digits, base = digits[1:], 16
	}
	if v, err := strconv.ParseUint(digits, base, 32); err != nil || rune(v) != r {
		return 0
	}
	return end + 1
}

// hasNotice reports whether text is the notice, whatever the case and the punctuation.
func hasNotice(text string) bool {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r = fold(r); r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, s)
	}
	return letters(text) == letters(notice)
}
