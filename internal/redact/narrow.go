package redact

import "unicode/utf8"

// narrow returns s with full-width letters, digits and the signs of keys in their ASCII forms, and for every byte of
// the result, and its end, where it stands in s. at is nil if there is none of them, as in nearly every text.
func narrow(s string) (folded string, at []int) {
	first := -1
	for i := 0; i+2 < len(s); i++ {
		if s[i] == 0xEF && narrowed(s[i:]) != 0 {
			first = i
			break
		}
	}
	if first < 0 {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	at = make([]int, 0, len(s)+1)
	for i := 0; i < len(s); {
		if c := narrowed(s[i:]); c != 0 {
			out, at = append(out, c), append(at, i)
			i += 3
			continue
		}
		out, at = append(out, s[i]), append(at, i)
		i++
	}
	return string(out), append(at, len(s))
}

// narrowed is the ASCII form of the full-width character at the beginning of s, 0 if there is none that matters:
// full-width punctuation is punctuation of Chinese and Japanese, and stays.
func narrowed(s string) byte {
	if len(s) < 3 || s[0] != 0xEF {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	if r < '！' || r > '～' {
		return 0
	}
	c := byte(r - '！' + '!')
	if isWord(c) || c == '-' || c == '@' || c == '#' || c == '$' || c == '&' || c == '*' || c == '+' {
		return c
	}
	return 0
}
