package redact

import "strings"

// separator skips what stands between a keyword and its value, from p on: quotes and emphasis around the keyword,
// white space, and a colon, an equals sign or an arrow. said means that it was a word instead: is, was, 是, 为.
func separator(s string, p int, flag bool) (start int, said, ok bool) {
	q := p
	for n := 0; n < 4 && q < len(s) && strings.IndexByte("\"'`*\\", s[q]) >= 0; n++ {
		q++
	}
	q = blanks(s, q)
	rest := s[q:]
	for _, sep := range [...]string{":=", "=>", "==", "=", ":", "：", "＝"} {
		if strings.HasPrefix(rest, sep) {
			q += len(sep)
			if sep == ":" && q < len(s) && (s[q] == ':' || s[q] == '/') {
				return 0, false, false // a scope or a URL
			}
			q = blanks(s, q)
			for n := 0; n < 2 && q < len(s) && s[q] == '*'; n++ { // **Password:** value
				q++
			}
			return blanks(s, q), false, true
		}
	}
	if flag && q > p && q == blanks(s, p) {
		return q, false, true
	}
	for _, word := range [...]string{"is ", "was ", "ist ", "est ", "es ", "é ", "是", "为", "為", "は", "는 ", "은 "} {
		if strings.HasPrefix(rest, word) {
			q = blanks(s, q+len(word))
			if q < len(s) && s[q] == ':' {
				q = blanks(s, q+1)
			}
			return q, true, true
		}
	}
	return 0, false, false
}

// blanks skips spaces and tabs, a bounded number of them, also those that do not break a line, which French has before
// its colons, and the wide one of Chinese and Japanese.
func blanks(s string, p int) int {
	for n := 0; n < 32 && p < len(s); n++ {
		switch {
		case s[p] == ' ' || s[p] == '\t':
			p++
		case s[p] >= 0x80:
			k := anyPrefix(s[p:], "\u00a0", "\u202f", "\u3000")
			if k == 0 {
				return p
			}
			p += k
		default:
			return p
		}
	}
	return p
}

const (
	maxValue  = 512  // bytes of a value that are judged; the rest of a longer one shares its fate
	maxBearer = 8192 // bytes of a token behind Bearer
)

// value is the extent of the value that begins at p, without its quotes. It ends at white space, at a quote, at a
// non-ASCII character, where the next item of a list, query or table begins, and after maxValue bytes.
func value(s string, p int) (start, end int) {
	for n := 0; n < 2 && p < len(s) && strings.IndexByte("\\\"'`", s[p]) >= 0; n++ {
		p++
	}
	for _, quote := range [...]string{"“", "‘", "「", "『"} {
		if strings.HasPrefix(s[p:], quote) {
			p += len(quote)
		}
	}
	return p, valueEnd(s, p, p+maxValue)
}

// wholeValue is the end of the value at start, of which value has seen the part up to end.
func wholeValue(s string, start, end int) int {
	if end-start < maxValue-8 { // not cut off at the bound, allowing for what is trimmed there
		return end
	}
	return max(end, valueEnd(s, start, len(s)))
}

func valueEnd(s string, p, limit int) int {
	e := p
scan:
	for e < min(len(s), limit) {
		switch c := s[e]; {
		case c <= ' ', c >= 0x7F, c == '"', c == '\'', c == '`', c == '<', c == '>', c == ';', c == '|':
			if c == '<' && e == p {
				return p // <your key>
			}
			break scan
		case c == '\\' && e+1 < len(s) && strings.IndexByte("nrt\"'\\", s[e+1]) >= 0:
			break scan
		case c == '[' && strings.HasPrefix(s[e:], markOpen):
			break scan
		case (c == '&' || c == ',') && startsItem(s[e+1:]):
			break scan
		}
		e++
	}
	for e > p && strings.IndexByte(".,:!?)}]*_", s[e-1]) >= 0 {
		e--
	}
	return e
}

// startsItem reports whether text goes on with name= or name: or with nothing of the value.
func startsItem(text string) bool {
	n := 0
	for n < len(text) && n < 40 && (isWord(text[n]) || text[n] == '-' || text[n] == '.' || text[n] == '"' || text[n] == '\'') {
		n++
	}
	return n < len(text) && (n > 0 && (text[n] == '=' || text[n] == ':') || n == 0 && text[n] <= ' ')
}
