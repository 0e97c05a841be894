package cleantext

import "bytes"

// LoneSurrogate finds the first \uD800 to \uDFFF escape in raw JSON that is not half of a proper pair (high, then
// low). encoding/json turns such an escape into U+FFFD without a word, so a caller that wants to refuse it must look
// at the bytes. offset is that of the backslash. raw should be valid JSON: outside strings a backslash has no meaning.
func LoneSurrogate(raw []byte) (offset int, found bool) {
	for i := 0; ; {
		next := bytes.IndexByte(raw[i:], '\\')
		if next < 0 {
			return 0, false
		}
		i += next
		unit, ok := escapedUnit(raw[i:])
		switch {
		case !ok:
			i += 2 // the escaped character, which may itself be a backslash, starts no escape
			if i > len(raw) {
				return 0, false
			}
		case unit < 0xD800 || unit > 0xDFFF:
			i += 6
		case unit >= 0xDC00:
			return i, true
		default:
			low, ok := escapedUnit(raw[i+6:])
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return i, true
			}
			i += 12
		}
	}
}

// escapedUnit reads a \uXXXX escape at the beginning of b.
func escapedUnit(b []byte) (unit int, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		unit <<= 4
		switch {
		case c >= '0' && c <= '9':
			unit |= int(c - '0')
		case c >= 'a' && c <= 'f':
			unit |= int(c-'a') + 10
		case c >= 'A' && c <= 'F':
			unit |= int(c-'A') + 10
		default:
			return 0, false
		}
	}
	return unit, true
}
