package redact

import "strings"

// StripPrivate removes <private> ... </private> blocks with what is in them, and reports whether it found any tag.
// Case, white space and attributes in the tags do not matter; blocks may be nested; a block that is not closed reaches
// to the end of the text; a closing tag without a block is dropped by itself. The result has no private tag in it,
// also when removing a block has pushed together the halves of another one.
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
		if text[i] == '<' {
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
		next := strings.IndexByte(s[i:], '<')
		if next < 0 {
			break
		}
		i += next
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

// privateTag recognises an opening or closing tag at i. A tag without > ends before the next <, or with the text: a
// missing bracket must not make private text public.
func privateTag(s string, i int) (end int, closing, ok bool) {
	p := skipSpace(s, i+1)
	if p < len(s) && s[p] == '/' {
		closing = true
		p = skipSpace(s, p+1)
	}
	const name = "private"
	if len(s)-p < len(name) || !strings.EqualFold(s[p:p+len(name)], name) {
		return 0, false, false
	}
	p += len(name)
	if p < len(s) && s[p] != '>' && s[p] != '/' && s[p] != '<' && skipSpace(s, p) == p {
		return 0, false, false // <privately>, <private-key>
	}
	n := strings.IndexAny(s[p:], "<>")
	switch {
	case n < 0 && closing:
		// Cut off in the closing tag: drop what there is of it, keep the text on the next lines.
		end = p
	case n < 0:
		end = len(s)
	case s[p+n] == '<':
		end = p + n
		if closing {
			end = p
		}
	default:
		end = p + n + 1
	}
	return end, closing, true
}

func skipSpace(s string, p int) int {
	for p < len(s) && (s[p] == ' ' || s[p] == '\t' || s[p] == '\n' || s[p] == '\r') {
		p++
	}
	return p
}
