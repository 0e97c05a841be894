// Package tokens estimates how many model tokens a text takes.
//
// It holds the plain, uncalibrated estimate: cheap, the same on every machine, and good enough to size an
// answer or a list of tool schemas. What a conversation costs with a given provider, script class by script
// class and corrected by real usage, is the business of package compress.
package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Estimate returns the estimated number of tokens of text: 0.6 for each Chinese character (U+4E00 to U+9FFF and
// U+3400 to U+4DBF), 0.3 for every other code point, rounded up. An invalid UTF-8 byte counts as one code point.
func Estimate(text string) int {
	return (tenths(text) + 9) / 10
}

// Fits reports whether text is estimated at no more than budget tokens.
func Fits(text string, budget int) bool {
	// No byte costs more than an ASCII one: most texts are decided by their length alone.
	if len(text)*3 <= budget*10 {
		return true
	}
	return Estimate(text) <= budget
}

// Cut returns the longest beginning of text that fits in budget tokens, and whether anything was cut off.
// It never cuts inside a code point, nor between a letter or emoji and the marks, variation selectors and
// joiners that belong to it. A budget below 1 leaves nothing.
func Cut(text string, budget int) (head string, cut bool) {
	if budget < 1 {
		return "", text != ""
	}
	if Fits(text, budget) {
		return text, false
	}
	left := budget * 10
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if left -= cost(r); left < 0 {
			return text[:clusterStart(text, i)], true
		}
		i += size
	}
	return text, false
}

// tenths is the unrounded estimate in tenths of a token. Integers, because 0.6*n + 0.3*m in floating point is
// sometimes a hair above a whole number and would be rounded up to one token too many.
func tenths(text string) int {
	sum := 0
	for i := 0; i < len(text); {
		// The first byte says enough for all that is not in the three-byte range of the ideographs.
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			sum += 3
			i++
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			sum += cost(r)
			i += size
		}
	}
	return sum
}

func cost(r rune) int {
	if r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF {
		return 6
	}
	return 3
}

// clusterStart moves a cut at i to the left until it does not separate a character from what modifies it.
func clusterStart(text string, i int) int {
	for i > 0 {
		next, _ := utf8.DecodeRuneInString(text[i:])
		prev, size := utf8.DecodeLastRuneInString(text[:i])
		if !extends(next) && prev != zwj {
			return i
		}
		i -= size
	}
	return 0
}

const zwj = '\u200D'

func extends(r rune) bool {
	return r == zwj || r == '\u200C' || unicode.In(r, unicode.M) || r >= 0x1F3FB && r <= 0x1F3FF
}
