package redact

import "strings"

// profile counts what a value is made of.
type profile struct {
	upper, lower, digits int
	strong               int  // symbols that are rare in words and code: @ # $ % ^ & * ! + ~ ?
	other                int  // everything else
	turns                int  // changes between upper and lower case from one letter to the next
	words                bool // every part between - _ . : / , is a word, perhaps with up to four digits behind it
}

func (p profile) letters() int { return p.upper + p.lower }

func profileOf(v string) profile {
	p := profile{words: true}
	partLetters, partDigits := 0, 0
	partTurns, partUpper := 0, 0
	broken := false // a letter after a digit, as words do not have
	endPart := func() {
		camel := partTurns > 0 && partTurns*5 > partLetters*2
		if broken || partDigits > 4 || partLetters > 24 || camel && partUpper > 1 {
			p.words = false
		}
		partLetters, partDigits, partTurns, partUpper, broken = 0, 0, 0, 0, false
	}
	var prev byte
	for i := range len(v) {
		c := v[i]
		switch {
		case isUpper(c), isLower(c):
			if isUpper(c) {
				p.upper++
				partUpper++
			} else {
				p.lower++
			}
			if isUpper(c) && isLower(prev) || isLower(c) && isUpper(prev) {
				p.turns++
				partTurns++
			}
			broken = broken || partDigits > 0
			partLetters++
		case isDigit(c):
			p.digits++
			partDigits++
		case strings.IndexByte("-_.:/,", c) >= 0:
			p.other++
			endPart()
		case strings.IndexByte("@#$%^&*!+~?", c) >= 0:
			p.strong++
			endPart()
		default:
			p.other++
			endPart()
		}
		prev = c
	}
	endPart()
	return p
}

// randomCase reports whether the case changes as often as in random letters; CamelCase changes less often.
func (p profile) randomCase() bool {
	return p.turns*20 >= p.letters()*9
}

// isPassword judges the value of a word such as password. People choose these, so a little is enough:
// letters with digits, letters with a symbol, or six digits.
func isPassword(v string, digitsAlone bool) bool {
	if len(v) < 6 || len(v) > 256 || isStandIn(v) || isCode(v) {
		return false
	}
	p := profileOf(v)
	switch {
	case p.letters() == 0:
		return digitsAlone && p.digits == len(v) || p.digits > 0 && p.strong > 0
	case p.digits > 0:
		return true
	case p.strong > 0:
		return true
	default:
		return len(v) >= 12 && p.upper > 0 && p.lower > 0 && p.randomCase()
	}
}

// isToken judges the value of a word such as token or api_key. Machines make these: long, and without words in them.
func isToken(v string) bool {
	if len(v) < 8 || len(v) > maxValue || isStandIn(v) || isCode(v) {
		return false
	}
	p := profileOf(v)
	switch {
	case p.letters() == 0:
		return p.digits == len(v) && len(v) >= 16
	case p.digits > 0:
		return !p.words && (p.digits > 1 || len(v) >= 16)
	default:
		return len(v) >= 16 && p.upper > 0 && p.lower > 0 && p.randomCase()
	}
}

// isStandIn reports whether v is what documentation and templates put in place of a secret.
func isStandIn(v string) bool {
	if v == "" || strings.Contains(v, "...") || strings.Contains(v, "***") ||
		strings.HasPrefix(v, "<") || strings.HasPrefix(v, "{") {
		return true
	}
	if len(v) > 1 && v[0] == '$' && (isUpper(v[1]) || v[1] == '{' || v[1] == '(' || v[1] == '_') ||
		len(v) > 2 && v[0] == '%' && v[len(v)-1] == '%' {
		return true
	}
	low := strings.ToLower(v)
	for _, w := range [...]string{"example", "redacted", "placeholder", "xxxx", "changeme", "change_me", "change-me", "insert_", "insert-"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	if i := strings.Index(low, "your"); i == 0 || i > 0 && !isAlnum(low[i-1]) {
		return true
	}
	// aaaa1111: nobody's secret.
	var seen [256]bool
	distinct := 0
	for i := range len(low) {
		if !seen[low[i]] {
			seen[low[i]] = true
			distinct++
		}
	}
	return len(v) >= 8 && distinct <= 3
}

// isCode reports whether v is an expression, a path, an address, a version or a well-known word rather than a value.
func isCode(v string) bool {
	if strings.Contains(v, "://") || strings.HasPrefix(v, "[]") || isHexNumber(v) {
		return true
	}
	// &value and +path: an address taken, strings joined.
	if (v[0] == '&' || v[0] == '+') && isIdentifier(strings.TrimRight(v[1:], "{(")) && profileOf(v).words {
		return true
	}
	// A call or an index: getenv(X1), tokens[i1], cfg.get(. A bracket that opens after a name.
	if i := strings.IndexAny(v, "(["); i > 0 && isIdentifier(v[:i]) {
		return true
	}
	if v[0] == '/' || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") || strings.HasPrefix(v, "~/") ||
		len(v) > 2 && v[1] == ':' && v[2] == '\\' {
		return strings.Count(v, "/")+strings.Count(v, "\\") > 0 && !strings.ContainsAny(v, "+=")
	}
	if strings.IndexByte(v, '.') > 0 && (isVersion(v) || isIdentifier(v) && profileOf(v).words) {
		return true
	}
	// min=8 and the like: a name, then a comparison.
	if i := strings.IndexAny(v, "=<>"); i > 0 && i < len(v)-1 && isIdentifier(v[:i]) && profileOf(v[:i]).digits == 0 {
		return true
	}
	switch strings.ToLower(v) {
	case "base64", "base64url", "base32", "sha256", "sha512", "sha-256", "sha-512", "argon2", "argon2id", "argon2i", "bcrypt2", "pbkdf2",
		"oauth2", "oauth2.0", "hs256", "hs512", "rs256", "es256", "ed25519", "x25519", "utf8mb4", "iso8601", "int32", "int64", "uint32",
		"uint64", "float32", "float64", "string1", "option1", "number1", "varchar255":
		return true
	}
	return false
}

// isHexNumber reports whether v is a number of up to 64 bits as programs write it.
func isHexNumber(v string) bool {
	v, ok := strings.CutPrefix(strings.TrimPrefix(v, "-"), "0x")
	return ok && len(v) <= 16 && strings.Trim(strings.ToLower(v), "0123456789abcdef") == ""
}

// isIdentifier reports whether v is a name, perhaps dotted, as programs have.
func isIdentifier(v string) bool {
	for i := range len(v) {
		if c := v[i]; !isWord(c) && c != '.' && c != '$' && c != ':' || i == 0 && isDigit(c) {
			return false
		}
	}
	return v != ""
}

// isVersion reports whether v begins like 1.2 or v1.2 and is short.
func isVersion(v string) bool {
	v = strings.TrimPrefix(v, "v")
	i := 0
	for i < len(v) && isDigit(v[i]) {
		i++
	}
	return i > 0 && i < 4 && i+1 < len(v) && v[i] == '.' && isDigit(v[i+1]) && len(v) <= 24
}
