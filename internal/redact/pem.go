package redact

import "strings"

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemLine  = "-----"
)

// pemFinder finds private key blocks. It remembers where the next end line is, so that many beginnings without an
// end do not make the search quadratic.
type pemFinder struct {
	searched bool
	nextEnd  int // position of the next end line at or behind the last search, len(s) if there is none
}

// at recognises a block at i, where s has pemBegin. A block that is cut off ends with the last line that can belong
// to it. A begin line without key material behind it, as in a sentence about keys, is not a secret.
func (f *pemFinder) at(s string, i int) (span, bool) {
	label := s[i+len(pemBegin):]
	close := strings.Index(label[:min(len(label), 64)], pemLine)
	if close < 0 || !strings.Contains(label[:close], "PRIVATE KEY") {
		return span{}, false
	}
	body := i + len(pemBegin) + close + len(pemLine)
	if !f.searched || f.nextEnd < body {
		f.searched = true
		f.nextEnd = len(s)
		if n := strings.Index(s[body:], pemEnd); n >= 0 {
			f.nextEnd = body + n
		}
	}
	end, material := keyMaterial(s[:f.nextEnd], body)
	if material < 16 {
		return span{}, false
	}
	if f.nextEnd < len(s) && isTail(s[end:f.nextEnd]) {
		end = f.nextEnd + len(pemEnd)
		if n := strings.Index(s[end:min(len(s), end+64)], pemLine); n >= 0 {
			end += n + len(pemLine)
		}
	}
	return span{i, end, "private-key"}, true
}

// isTail reports whether text, between the last full line and the end line, is white space and at most two short
// pieces of base64: the last line and a checksum.
func isTail(text string) bool {
	if len(text) > 256 {
		return false
	}
	pieces := 0
	for p := 0; p < len(text); {
		switch c := text[p]; {
		case c == '\\' && p+1 < len(text) && (text[p+1] == 'n' || text[p+1] == 'r'):
			p += 2
		case strings.IndexByte(pemBlank, c) >= 0:
			p++
		case isBase64(c) || c == '=':
			for pieces++; p < len(text) && (isBase64(text[p]) || text[p] == '='); {
				p++
			}
		default:
			return false
		}
	}
	return pieces <= 2
}

// pemBlank is what may stand between lines of base64: white space, quotes and what quotes or joins lines of text.
const pemBlank = " \t\r\n\"'+>,|#*\\"

// keyMaterial walks over lines of base64 and headers from p on and returns where they end and how many characters of
// base64 they have. Line ends may be written as \n, lines may be quoted or concatenated as in program text.
func keyMaterial(s string, p int) (end, material int) {
	end = p
	for p < len(s) {
		switch c := s[p]; {
		case c == '\\' && p+1 < len(s) && (s[p+1] == 'n' || s[p+1] == 'r'):
			p += 2
			continue
		case strings.IndexByte(pemBlank, c) >= 0 && (c != '+' || p+1 == len(s) || !isBase64(s[p+1])):
			p++
			continue
		}
		stop := p
		for stop < len(s) && (isBase64(s[stop]) || s[stop] == '=') {
			stop++
		}
		n := stop - p
		switch {
		case n >= 32, n > 0 && s[stop-1] == '=', n > 0 && stop == len(s) && material > 0:
			material += n
			end = stop
		case isPEMHeader(s[p:]):
			// Proc-Type: 4,ENCRYPTED and the like: the whole line belongs to the block.
			if stop = strings.IndexByte(s[p:], '\n'); stop < 0 {
				return len(s), material
			}
			stop += p
			end = stop
		case n >= 16 && material == 0, n >= 16 && !isLower(s[stop-1]):
			material += n
			end = stop
		default:
			return end, material
		}
		p = stop
	}
	return end, material
}

func isPEMHeader(line string) bool {
	for _, h := range [...]string{"Proc-Type:", "DEK-Info:", "Comment:", "Version:", "Charset:", "Hash:"} {
		if strings.HasPrefix(line, h) {
			return true
		}
	}
	return false
}
