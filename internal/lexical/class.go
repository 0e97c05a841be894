package lexical

import (
	"unicode"
	"unicode/utf8"
)

// class is what the scanner does with a rune.
type class uint8

const (
	other     class = iota // ends everything
	letter                 // letters, digits and marks of scripts written with spaces
	joiner                 // may stand between two letters of one name or number
	cjk                    // Han, kana, hangul: single characters and pairs
	spaceless              // Thai, Lao, Khmer, Burmese: pairs only
	symbol                 // emoji and the like: a term each
)

// classify reads the first rune of b, which is not empty.
func classify(b []byte) (class, rune, int) {
	if c := b[0]; c < utf8.RuneSelf {
		return asciiClass[c], rune(c), 1
	}
	r, size := utf8.DecodeRune(b)
	switch {
	case isCJK(r):
		return cjk, r, size
	case r >= 0xe00 && r < 0xf00, r >= 0x1000 && r < 0x10a0, r >= 0x1780 && r < 0x1800:
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			return spaceless, r, size
		}
		return other, r, size
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
		return letter, r, size
	case r > 0x2000 && unicode.Is(unicode.So, r):
		return symbol, r, size
	}
	return other, r, size
}

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			t[c] = letter
		}
	}
	for _, c := range `_-.@/:+&,'\#` {
		t[c] = joiner
	}
	t[camelMark] = joiner
	return t
}()

// isCJK reports whether r belongs to a script indexed by character: Han with
// its extensions, the iteration mark, kana, bopomofo, hangul.
func isCJK(r rune) bool {
	switch {
	case r < 0x3005:
		return false
	case r >= 0x4e00 && r <= 0x9fff, r >= 0x3400 && r <= 0x4dbf, r >= 0xac00 && r <= 0xd7af:
		return true
	case r >= 0x3041 && r <= 0x30ff:
		return r != 0x30fb // the dot between foreign names parts words
	case r >= 0x3105 && r <= 0x312f, r >= 0x31a0 && r <= 0x31bf, r >= 0x31f0 && r <= 0x31ff:
		return true
	case r >= 0xf900 && r <= 0xfaff, r >= 0x20000 && r <= 0x323af:
		return true
	}
	return r == 0x3005 || r == 0x3006 || r == 0x3007
}

// isHan is isCJK without kana and hangul: what a Chinese dictionary may know.
func isHan(r rune) bool {
	return r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x323af
}
