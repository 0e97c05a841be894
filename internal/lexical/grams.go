package lexical

import "unicode/utf8"

// gramLen is the length in characters of a gram.
const gramLen = 4

// AppendGrams appends the grams of a word to dst: every run of four characters,
// the word taken with a mark before and after it. Grams of ASCII letters are
// the letters themselves, others a hash. A word of one character has none.
func AppendGrams(dst []uint32, word []byte) []uint32 {
	if isASCIIBytes(word) {
		w := uint32('_')
		for i, c := range word {
			if w = w<<8 | uint32(c); i >= gramLen-2 {
				dst = append(dst, w)
			}
		}
		if len(word) >= gramLen-2 {
			dst = append(dst, w<<8|'_')
		}
		return dst
	}
	window := [gramLen]rune{gramLen - 1: '_'}
	n := 1
	push := func(r rune) {
		copy(window[:], window[1:])
		window[gramLen-1] = r
		if n++; n >= gramLen {
			dst = append(dst, hashGram(window))
		}
	}
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		i += size
		push(r)
	}
	push('_')
	return dst
}

// CountGrams is the number of grams of a word.
func CountGrams(word []byte) int {
	return max(0, utf8.RuneCount(word)+2-gramLen+1)
}

func hashGram(w [gramLen]rune) uint32 {
	var h uint64
	for _, r := range w {
		h = (h ^ uint64(r)) * 0x9e3779b97f4a7c15
	}
	return uint32(h>>32) | 1<<31 // apart from the grams of ASCII letters
}
