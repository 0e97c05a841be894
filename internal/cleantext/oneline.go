package cleantext

import (
	"strings"
	"unicode"
)

// OneLine makes foreign words, such as those of a server, fit for a log and a terminal:
// valid UTF-8, no control or direction characters, one line, and at most max code points,
// with an ellipsis if it had more.
func OneLine(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	s = strings.Join(strings.Fields(s), " ")
	for i := range s {
		if max == 0 {
			return s[:i] + "…"
		}
		max--
	}
	return s
}
