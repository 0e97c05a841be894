package lexical

import "unicode/utf8"

// GramLen is the length in characters of the grams of [Grams].
const GramLen = 4

// Grams calls yield with a hash of every run of four characters of a word, the
// word taken with a mark before and after it, until yield returns false. A
// word of one character has none.
func Grams(word []byte, yield func(gram uint32) bool) {
	var window [GramLen]rune
	n := 0
	push := func(r rune) bool {
		copy(window[:], window[1:])
		window[GramLen-1] = r
		n++
		return n < GramLen || yield(hashGram(window))
	}
	if !push('_') {
		return
	}
	for i := 0; i < len(word); {
		r, size := rune(word[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(word[i:])
		}
		i += size
		if !push(r) {
			return
		}
	}
	push('_')
}

func hashGram(w [GramLen]rune) uint32 {
	var h uint64
	for _, r := range w {
		h = (h ^ uint64(r)) * 0x9e3779b97f4a7c15
	}
	return uint32(h >> 32)
}
