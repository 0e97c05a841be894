package lexical

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// camelMark stands in folded text where a lower-case letter met an upper-case
// one (getUser, iPhone). It joins like a hyphen. A control character in the
// input never survives folding, so it cannot be forged.
const camelMark = 0x1f

// appendFolded appends s folded for matching: compatibility forms composed,
// lower case, accents of Latin, Greek and Cyrillic letters removed, katakana as
// hiragana, invisible characters dropped. Invalid bytes become spaces.
func appendFolded(dst []byte, s string) []byte {
	if isASCII(s) {
		return appendFoldedASCII(dst, s)
	}
	composed := s
	if !norm.NFKC.IsNormalString(s) {
		composed = norm.NFKC.String(s)
	}
	lower := false // the rune before was a lower-case letter
	for i := 0; i < len(composed); {
		if c := composed[i]; c < utf8.RuneSelf {
			i++
			switch {
			case 'A' <= c && c <= 'Z':
				if lower {
					dst = append(dst, camelMark)
				}
				c += 'a' - 'A'
				lower = false
			case c < ' ' || c == 0x7f:
				c, lower = ' ', false
			default:
				lower = 'a' <= c && c <= 'z'
			}
			dst = append(dst, c)
			continue
		}
		r, size := utf8.DecodeRuneInString(composed[i:])
		i += size
		if r == utf8.RuneError {
			dst, lower = append(dst, ' '), false
			continue
		}
		if r >= 0x2e80 && r < 0xfb00 { // Han, kana, hangul and their neighbours have no case
			lower = false
			if r >= 0x30a1 && r <= 0x30f6 {
				r -= 0x60
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		if invisible(r) {
			continue
		}
		if unicode.IsUpper(r) || unicode.IsTitle(r) {
			if lower {
				dst = append(dst, camelMark)
			}
			lower = false
			r = unicode.ToLower(r)
		} else {
			lower = unicode.IsLower(r)
		}
		dst = appendPlain(dst, r)
	}
	return dst
}

func appendFoldedASCII(dst []byte, s string) []byte {
	lower := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z':
			lower = true
		case 'A' <= c && c <= 'Z':
			if lower {
				dst = append(dst, camelMark)
			}
			c += 'a' - 'A'
			lower = false
		default:
			if c < ' ' || c == 0x7f {
				c = ' '
			}
			lower = false
		}
		dst = append(dst, c)
	}
	return dst
}

// appendPlain appends a lower-case letter without its accents.
func appendPlain(dst []byte, r rune) []byte {
	switch r {
	case 'ß':
		return append(dst, 's', 's')
	case 'æ':
		return append(dst, 'a', 'e')
	case 'œ':
		return append(dst, 'o', 'e')
	case 'ø':
		return append(dst, 'o')
	case 'đ', 'ð':
		return append(dst, 'd')
	case 'ł':
		return append(dst, 'l')
	case 'ı':
		return append(dst, 'i')
	case 'þ':
		return append(dst, 't', 'h')
	case 'ς':
		return utf8.AppendRune(dst, 'σ')
	case 'أ', 'إ', 'آ', 'ٱ':
		return utf8.AppendRune(dst, 'ا')
	case 'ى':
		return utf8.AppendRune(dst, 'ي')
	case 'ک':
		return utf8.AppendRune(dst, 'ك')
	case '’', 'ʼ', '‘', '´':
		return append(dst, '\'')
	case '‐', '‑', '‒', '–', '—', '−':
		return append(dst, '-')
	}
	if !accented(r) {
		return utf8.AppendRune(dst, r)
	}
	var one [utf8.UTFMax]byte
	n := utf8.EncodeRune(one[:], r)
	parts := norm.NFD.Properties(one[:n]).Decomposition()
	if parts == nil {
		return append(dst, one[:n]...)
	}
	for len(parts) > 0 {
		p, size := utf8.DecodeRune(parts)
		if !isAccent(p) {
			dst = append(dst, parts[:size]...)
		}
		parts = parts[size:]
	}
	return dst
}

// accented tells the blocks of alphabets whose marks only modify a letter.
// Elsewhere (kana, Indic scripts) a mark makes another letter.
func accented(r rune) bool {
	return r >= 0xc0 && r < 0x250 || r >= 0x370 && r < 0x530 || r >= 0x1e00 && r < 0x2000
}

func isAccent(r rune) bool { return r >= 0x300 && r < 0x370 }

// invisible tells what is never seen and so must not part or change a word:
// joiners, soft hyphens, direction marks, loose accents, Arabic and Hebrew vowel points.
func invisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0xfeff, r == 0x640:
		return true
	case isAccent(r):
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r >= 0x64b && r <= 0x65f, r == 0x670, r >= 0x591 && r <= 0x5c7 && r != 0x5be:
		return true
	}
	return false
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
