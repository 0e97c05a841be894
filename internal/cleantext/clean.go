package cleantext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s with line ends normalised to \n, without the characters that are invisible or steer the display
// (see class), and without white space at either end. removed counts the invisible characters taken out; line ends
// and outer white space do not count. Cleaning twice is cleaning once.
//
// Zero-width joiners, non-joiners and variation selectors stay where writing needs them: inside Persian, Indic and
// other joining scripts, in emoji sequences, after a character that has variants. Direction marks (LRM, RLM, ALM)
// stay in text that has right-to-left letters.
//
// Clean does not complain: an invalid UTF-8 byte becomes U+FFFD, so that the result is always valid.
func Clean(s string) (clean string, removed int) {
	if !needsCleaning(s) {
		return strings.TrimSpace(s), 0
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	var b strings.Builder
	b.Grow(len(s))
	rtl := rightToLeft(s)
	var prev rune // last character kept, 0 at the beginning
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		kind := classify(r)
		if kind == direction {
			kind = banned
			if rtl {
				kind = plain
			}
		}
		switch kind {
		case plain:
			if n := flagLength(s[i:], r); n > 0 {
				b.WriteString(s[i : i+n])
				size = n
			} else {
				b.WriteString(s[i : i+size])
			}
			prev = r
		case lineEnd:
			if r == '\r' && strings.HasPrefix(s[i+1:], "\n") {
				size = 2
			}
			b.WriteByte('\n')
			prev = '\n'
		case banned:
			removed++
		default:
			// A run of characters that depend on their neighbours: keep at most what those justify.
			run, next, n := contextRun(s[i:], rtl)
			kept := justified(run, prev, next)
			for _, k := range kept {
				b.WriteRune(k)
			}
			removed += n - len(kept)
			size = runBytes(s[i:], n)
		}
		i += size
	}
	return strings.TrimSpace(b.String()), removed
}

// needsCleaning is a quick look that is right for most texts: is there any character Clean might touch?
func needsCleaning(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c == '\r' || c == 0x7F {
				return true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return true
		}
		// The CJK blocks, most of the rest of what people write, hold nothing of interest up to U+D7A3.
		if (r < 0x3165 || r > 0xD7A3) && classify(r) != plain || r == 0x3164 {
			return true
		}
		i += size
	}
	return false
}

// class is what Clean does with a character.
type class int

const (
	plain     class = iota
	lineEnd         // becomes \n
	banned          // always removed
	direction       // stays in right-to-left text only
	context         // joiners, selectors, fillers: stay where their neighbours need them
)

func classify(r rune) class {
	switch {
	case r < 0x7F:
		if r == '\r' {
			return lineEnd
		}
		return plain
	case r == 0x85, r == 0x2028, r == 0x2029: // next line, line separator, paragraph separator
		return lineEnd
	case r <= 0x9F: // delete and the C1 controls
		return banned
	case r < 0x034F:
		if r == 0xAD { // soft hyphen
			return banned
		}
		return plain
	case r == 0x200E, r == 0x200F, r == 0x061C: // LRM, RLM, ALM
		return direction
	case r == zwj, r == zwnj, isSelector(r),
		r == 0x034F,                               // combining grapheme joiner
		r == 0x115F || r == 0x1160,                // Hangul jamo fillers
		r >= 0x180B && r <= 0x180D || r == 0x180F: // Mongolian variation selectors
		return context
	case r == 0x180E, // Mongolian vowel separator
		r == 0x200B,                // zero-width space
		r >= 0x202A && r <= 0x202E, // bidi embeddings and overrides
		r >= 0x2060 && r <= 0x206F, // word joiner, invisible operators, bidi isolates, deprecated controls
		r == 0x3164, r == 0xFFA0,   // Hangul fillers, drawn as nothing
		r == 0xFEFF,                                    // byte order mark
		r >= 0xFFF0 && r <= 0xFFFB,                     // unassigned ignorables, interlinear annotation
		r >= 0xFDD0 && r <= 0xFDEF,                     // noncharacters
		r&0xFFFE == 0xFFFE,                             // noncharacters at the end of each plane
		r >= 0x1BCA0 && r <= 0x1BCA3,                   // shorthand format controls
		r >= 0x1D173 && r <= 0x1D17A,                   // musical format controls
		r >= 0xE0000 && r <= 0xE0FFF && !isSelector(r): // tags and unassigned ignorables
		return banned
	}
	return plain
}

const (
	zwj  = '\u200D'
	zwnj = '\u200C'
)

func isSelector(r rune) bool {
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF
}

// rightToLeft reports whether s has a letter of a right-to-left script.
func rightToLeft(s string) bool {
	for _, r := range s {
		if r >= 0x0590 && r <= 0x08FF && r != 0x061C || r >= 0xFB1D && r <= 0xFDCF || r >= 0xFDF0 && r <= 0xFDFF ||
			r >= 0xFE70 && r <= 0xFEFC || r >= 0x10800 && r <= 0x10FFF || r >= 0x1E800 && r <= 0x1EFFF {
			if unicode.IsLetter(r) {
				return true
			}
		}
	}
	return false
}

// flagLength is the length in bytes of the flag of England, Scotland or Wales at the beginning of s, 0 if there is
// none: the only three sequences of tag characters that people use.
func flagLength(s string, first rune) int {
	if first != 0x1F3F4 {
		return 0
	}
	for _, region := range [...]string{"gbeng", "gbsct", "gbwls"} {
		flag := []rune{first}
		for _, c := range region {
			flag = append(flag, 0xE0000+c)
		}
		if f := string(append(flag, 0xE007F)); strings.HasPrefix(s, f) {
			return len(f)
		}
	}
	return 0
}
