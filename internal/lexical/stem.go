package lexical

import "bytes"

// stem strips the inflection of an English word in place: plural, -ing, -ed,
// -ly and a final e, or looks up an irregular form. The result names a group
// of forms and need not be a word. Words with other than ASCII letters, or of
// three letters and less, pass unchanged unless they are irregular.
func stem(w []byte) []byte {
	if base, ok := irregular[string(w)]; ok {
		return append(w[:0], base...)
	}
	if len(w) <= 3 {
		return w
	}
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return w
		}
	}
	w = stemPlural(w)
	w = stemVerb(w)
	if hasSuffix(w, "ly") && len(w) > 5 {
		w = w[:len(w)-2]
	}
	if hasSuffix(w, "e") && len(w) > 4 {
		w = w[:len(w)-1]
	}
	if hasSuffix(w, "y") && len(w) > 3 {
		w[len(w)-1] = 'i'
	}
	return w
}

func stemPlural(w []byte) []byte {
	n := len(w)
	switch {
	case w[n-1] != 's':
		return w
	case hasSuffix(w, "ies") && n > 4:
		w[n-3] = 'y'
		return w[:n-2]
	case hasSuffix(w, "sses"), hasSuffix(w, "ches"), hasSuffix(w, "shes"):
		return w[:n-2]
	case hasSuffix(w, "es") && n > 4 && isOneOf(w[n-3], "sxz"):
		return w[:n-2]
	case hasSuffix(w, "ss"), hasSuffix(w, "us"), hasSuffix(w, "is"):
		return w
	}
	return w[:n-1]
}

func stemVerb(w []byte) []byte {
	n := len(w)
	switch {
	case hasSuffix(w, "ing"):
		n -= 3
	case hasSuffix(w, "ed"):
		n -= 2
	default:
		return w
	}
	if n < 3 || !bytes.ContainsAny(w[:n], "aeiouy") {
		return w
	}
	w = w[:n]
	switch {
	case w[n-1] == w[n-2] && !isOneOf(w[n-1], "lsz"):
		return w[:n-1] // planned, sitting
	case hasSuffix(w, "at"), hasSuffix(w, "bl"), hasSuffix(w, "iz"):
		return append(w, 'e') // created, realizing
	}
	return w
}

func hasSuffix(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}

func isOneOf(c byte, set string) bool {
	for i := 0; i < len(set); i++ {
		if set[i] == c {
			return true
		}
	}
	return false
}
