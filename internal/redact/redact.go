package redact

import (
	"slices"
	"strings"
)

const (
	markOpen  = "[redacted: "
	markClose = "]"

	// maxRounds bounds how often the result is looked at again. A replacement can bring a word and a value closer
	// together, so that a second look finds what the first did not; in practice the second look finds nothing.
	maxRounds = 4
)

// Secrets returns text with every secret replaced by "[redacted: KIND]", and the kinds that were found, each once, in
// the order of their first appearance (nil if there were none). Redacting twice is redacting once. Of a URL with a
// password only the password is replaced, of an assignment only the value.
func Secrets(text string) (clean string, kinds []string) {
	for range maxRounds {
		spans := find(text)
		if len(spans) == 0 {
			break
		}
		var b strings.Builder
		b.Grow(len(text))
		end := 0
		for _, sp := range spans {
			b.WriteString(text[end:sp.start])
			b.WriteString(markOpen + sp.kind + markClose)
			end = sp.end
			if !slices.Contains(kinds, sp.kind) {
				kinds = append(kinds, sp.kind)
			}
		}
		b.WriteString(text[end:])
		text = b.String()
	}
	return text, kinds
}

// span is a secret at text[start:end].
type span struct {
	start, end int
	kind       string
}

// find returns the secrets of text in order, without overlaps.
func find(text string) []span {
	s, at := narrow(text)
	spans := scan(s)
	if at != nil {
		for i := range spans {
			spans[i].start, spans[i].end = at[spans[i].start], at[spans[i].end]
		}
	}
	return spans
}

func scan(s string) []span {
	var shaped, named []span // known by their shape; by what stands before them
	namedEnd := 0
	pem := pemFinder{}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case isWord(c):
			end := i + 1
			for end < len(s) && isWord(s[end]) {
				end++
			}
			if sp, ok := vendorAt(s, i, end); ok {
				shaped = append(shaped, sp)
				i = sp.end
				continue
			}
			if i >= namedEnd {
				if sp, ok := namedValue(s, i, end); ok {
					named = append(named, sp)
					namedEnd = sp.end
				}
			}
			// Go on behind the word, not behind the value: the value may have a shape that says more.
			i = end
			continue
		case c == ':' && strings.HasPrefix(s[i:], "://"):
			if sp, ok := urlPassword(s, i); ok {
				shaped = append(shaped, sp)
				i = sp.end
				continue
			}
			i += 3
			continue
		case c == '-' && strings.HasPrefix(s[i:], pemBegin):
			if sp, ok := pem.at(s, i); ok {
				shaped = append(shaped, sp)
				i = sp.end
				continue
			}
			i += len(pemBegin)
			continue
		case c >= 0x80:
			if sp, ok := namedValueWide(s, i); ok && i >= namedEnd {
				named = append(named, sp)
				namedEnd = sp.end
			}
		}
		i++
	}
	for _, more := range [...][]span{awsSecrets(s), twilioSecrets(s), userPasswords(s)} {
		shaped = merge(shaped, more)
	}
	return merge(shaped, merge(named, cookies(s)))
}

// merge joins two ordered lists without overlaps into one; where spans overlap they become one of the first list's
// kind.
func merge(a, b []span) []span {
	if len(b) == 0 {
		return a
	}
	var out []span
	for len(a) > 0 || len(b) > 0 {
		var next span
		var first bool
		if len(b) == 0 || len(a) > 0 && a[0].start <= b[0].start {
			next, a, first = a[0], a[1:], true
		} else {
			next, b = b[0], b[1:]
		}
		if len(out) == 0 || next.start >= out[len(out)-1].end {
			out = append(out, next)
			continue
		}
		last := &out[len(out)-1]
		last.end = max(last.end, next.end)
		if first {
			last.kind = next.kind
		}
	}
	return out
}

func isWord(c byte) bool {
	return isAlnum(c) || c == '_'
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isHexDigits(v string) bool {
	return strings.Trim(v, "0123456789abcdef") == ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
