package cleantext

import (
	"unicode"
	"unicode/utf8"
)

// contextRun collects the characters of class context at the beginning of s, looking through banned ones, and the
// first character after them (0 at the end). n counts all characters of the run, banned ones included.
func contextRun(s string, rtl bool) (run []rune, next rune, n int) {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch kind := classify(r); {
		case kind == context:
			run = append(run, r)
		case kind == banned, kind == direction && !rtl:
			// Not kept, so it does not separate what stands on its two sides.
		default:
			return run, r, n
		}
		n++
		s = s[size:]
	}
	return run, 0, n
}

// runBytes is the length in bytes of the first n characters of s.
func runBytes(s string, n int) int {
	total := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[total:])
		total += size
	}
	return total
}

// justified picks from a run between prev and next what the two need: at most one selector, then at most one joiner,
// or a single filler. A run of many is how data is hidden in plain sight; a proper text never has one.
func justified(run []rune, prev, next rune) []rune {
	var kept []rune
	for i, r := range run {
		switch {
		case r == zwj || r == zwnj:
			if joins(r, prev, next) {
				return append(kept, r)
			}
		case len(kept) > 0:
			// Only a joiner may follow.
		case i == 0 && isSelector(r) && selects(r, prev),
			i == 0 && r >= 0x180B && r <= 0x180F && unicode.Is(unicode.Mongolian, prev) && unicode.IsLetter(prev):
			kept = append(kept, r)
		case r == 0x034F && unicode.Is(unicode.Mn, prev) && unicode.Is(unicode.Mn, next),
			r == 0x115F && isJamo(next), r == 0x1160 && (isJamo(prev) || isJamo(next)):
			return append(kept, r)
		}
	}
	return kept
}

// selects reports whether a variation selector after prev chooses among forms that exist.
func selects(r, prev rune) bool {
	switch {
	case r == 0xFE0E || r == 0xFE0F: // text or emoji form
		return isEmoji(prev) || prev >= '0' && prev <= '9' || prev == '#' || prev == '*'
	case r >= 0xE0100: // ideographic variation
		return unicode.Is(unicode.Han, prev)
	default:
		return prev > 0x7F && (unicode.IsLetter(prev) || unicode.Is(unicode.S, prev) || unicode.Is(unicode.Han, prev))
	}
}

// joins reports whether a joiner or non-joiner between prev and next changes how they are written.
func joins(r, prev, next rune) bool {
	if r == zwj && isEmoji(prev) && isEmoji(next) {
		return true
	}
	if !inJoiningScript(prev) {
		return false
	}
	// A virama may be followed by a joiner even at the end of a word.
	return inJoiningScript(next) || isVirama(prev)
}

func inJoiningScript(r rune) bool {
	return r >= 0x0600 && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Mongolian,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
		unicode.Tibetan, unicode.Hanifi_Rohingya, unicode.Adlam) &&
		(unicode.IsLetter(r) || unicode.IsMark(r)) && classify(r) == plain ||
		r >= 0x064B && r <= 0x0655 // Arabic vowel signs, shared by several scripts
}

func isVirama(r rune) bool {
	switch r {
	case 0x094D, 0x09CD, 0x0A4D, 0x0ACD, 0x0B4D, 0x0BCD, 0x0C4D, 0x0CCD, 0x0D4D, 0x0DCA, 0x17D2, 0x1039, 0x103A:
		return true
	}
	return false
}

func isJamo(r rune) bool {
	return classify(r) == plain && (r >= 0x1100 && r <= 0x11FF || r >= 0xA960 && r <= 0xA97F || r >= 0xD7B0 && r <= 0xD7FF)
}

// isEmoji is generous: every symbol outside ASCII, and the skin tones. What matters is that no letter is among them.
func isEmoji(r rune) bool {
	switch r {
	case '\u203C', '\u2049', '\u3030', '\u303D', '\u00A9', '\u00AE', '\u20E3': // !!, !?, wavy dash, part mark, (c), (r), keycap
		return true
	}
	return r >= 0x1F000 && r <= 0x1FAFF || r > 0x7F && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk)
}
