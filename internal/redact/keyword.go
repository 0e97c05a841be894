package redact

import "strings"

// keyword is a word that announces a secret.
type keyword struct {
	kind     string
	password bool // chosen by a person (see isPassword), not made by a machine (see isToken)
}

var (
	kwPassword = keyword{"password", true}
	kwToken    = keyword{"token", false}
	kwSecret   = keyword{"secret", false}
	kwKey      = keyword{"api-key", false}
	kwAuth     = keyword{"authorization", false}
	kwBearer   = keyword{"bearer-token", false}
)

// keywordAt recognises a keyword at the end of the word s[i:end]: password, DB_PASSWORD, dbPassword, access_token.
// For "api-key" and "access key" it looks at what stands before the word as well.
func keywordAt(s string, i, end int) (keyword, bool) {
	if end-i > 64 || end-i < 3 {
		return keyword{}, false
	}
	w := s[i:end]
	if w == "PASS" || w == "PWD" { // the outcome of a test, the working folder
		return keyword{}, false
	}
	switch w[len(w)-1] {
	case 'd', 'D':
		if hasSuffixFold(w, "password") || hasSuffixFold(w, "passwd") || endsWith(w, "pwd") {
			return kwPassword, true
		}
	case 'e', 'E':
		if hasSuffixFold(w, "passphrase") || hasSuffixFold(w, "passcode") {
			return kwPassword, true
		}
	case 's', 'S':
		if endsWith(w, "pass") {
			return kwPassword, true
		}
	case 'n', 'N':
		if hasSuffixFold(w, "token") {
			return kwToken, true
		}
		if strings.EqualFold(w, "authorization") {
			return kwAuth, true
		}
	case 't', 'T':
		if hasSuffixFold(w, "secret") {
			return kwSecret, true
		}
	case 'r', 'R':
		if strings.EqualFold(w, "bearer") {
			return kwBearer, true
		}
	case 'y', 'Y':
		if hasSuffixFold(w, "key") && announcesKey(s[max(0, end-24):end]) {
			return kwKey, true
		}
	}
	return keyword{}, false
}

// endsWith is hasSuffixFold for short words, which must begin where the word, a part of it or a capital begins:
// db_pass and dbPass, not compass.
func endsWith(w, short string) bool {
	if !hasSuffixFold(w, short) {
		return false
	}
	at := len(w) - len(short)
	return at == 0 || w[at-1] == '_' || isDigit(w[at-1]) || isUpper(w[at]) && isLower(w[at-1])
}

func hasSuffixFold(w, suffix string) bool {
	return len(w) >= len(suffix) && strings.EqualFold(w[len(w)-len(suffix):], suffix)
}

// announcesKey reports whether text ends in the name of a secret key, with or without - _ or a space in it.
func announcesKey(text string) bool {
	var buf [24]byte
	n := 0
	for i := range len(text) {
		if c := text[i]; isAlnum(c) {
			buf[n] = c | 0x20
			n++
		}
	}
	name := string(buf[:n])
	for _, k := range [...]string{"apikey", "accesskey", "secretkey", "privatekey", "encryptionkey", "signingkey", "authkey", "accountkey", "sharedkey", "masterkey", "servicekey"} {
		if strings.HasSuffix(name, k) {
			return true
		}
	}
	return false
}

// namedValue finds the secret that the word s[i:end] announces.
func namedValue(s string, i, end int) (span, bool) {
	kw, ok := keywordAt(s, i, end)
	if !ok {
		return span{}, false
	}
	switch kw {
	case kwBearer:
		return bearerValue(s, end)
	case kwAuth:
		if p, said, ok := separator(s, end, false); ok && !said {
			return authorizationValue(s, p)
		}
		return span{}, false
	}
	flag := i > 1 && s[i-1] == '-' && (s[i-2] == '-' || isWord(s[i-2]) && strings.Contains(s[max(0, i-24):i], "--"))
	return valueOf(s, end, kw, flag)
}

// namedValueCJK does the same for the Chinese, Japanese and Korean words, at the character that begins at i.
func namedValueCJK(s string, i int) (span, bool) {
	if i+3 > len(s) {
		return span{}, false
	}
	switch s[i : i+3] {
	case "密", "口", "令", "通", "パ", "비":
	default:
		return span{}, false
	}
	for _, k := range [...]struct {
		word string
		kw   keyword
	}{
		{"密码", kwPassword}, {"密碼", kwPassword}, {"口令", kwPassword}, {"通行码", kwPassword},
		{"パスワード", kwPassword}, {"비밀번호", kwPassword},
		{"密钥", kwKey}, {"密鑰", kwKey}, {"令牌", kwToken},
	} {
		if strings.HasPrefix(s[i:], k.word) {
			return valueOf(s, i+len(k.word), k.kw, false)
		}
	}
	return span{}, false
}

// valueOf looks behind a keyword that ends at p for a separator and a value worth hiding. flag allows a space as the
// separator, as in --password VALUE.
func valueOf(s string, p int, kw keyword, flag bool) (span, bool) {
	// Twice, for a type between name and value: password: str = "...".
	for range 2 {
		start, said, ok := separator(s, p, flag)
		if !ok {
			return span{}, false
		}
		var end int
		start, end = value(s, start)
		if start == end {
			return span{}, false
		}
		v := s[start:end]
		switch {
		case said: // "the password is rotated", "the token is 4096-bit": only what can be nothing else
			if p := profileOf(v); p.digits > 0 && p.letters() > 0 && p.other == 0 &&
				(kw.password && isPassword(v, false) || !kw.password && isToken(v)) {
				return span{start, wholeValue(s, start, end), kw.kind}, true
			}
			return span{}, false
		case kw.password && isPassword(v, true), !kw.password && isToken(v):
			return span{start, wholeValue(s, start, end), kw.kind}, true
		case isIdentifier(v):
			p, flag = end, false
		default:
			return span{}, false
		}
	}
	return span{}, false
}

// separator skips what stands between a keyword and its value, from p on: quotes and emphasis around the keyword,
// white space, and a colon, an equals sign or an arrow. said means that it was a word instead: is, was, 是, 为.
func separator(s string, p int, flag bool) (start int, said, ok bool) {
	q := p
	for n := 0; n < 4 && q < len(s) && strings.IndexByte("\"'`*\\", s[q]) >= 0; n++ {
		q++
	}
	q = blanks(s, q)
	rest := s[q:]
	for _, sep := range [...]string{":=", "=>", "==", "=", ":", "：", "＝"} {
		if strings.HasPrefix(rest, sep) {
			q += len(sep)
			if sep == ":" && q < len(s) && (s[q] == ':' || s[q] == '/') {
				return 0, false, false // a scope or a URL
			}
			q = blanks(s, q)
			for n := 0; n < 2 && q < len(s) && s[q] == '*'; n++ { // **Password:** value
				q++
			}
			return blanks(s, q), false, true
		}
	}
	if flag && q > p && q == blanks(s, p) {
		return q, false, true
	}
	for _, word := range [...]string{"is ", "was ", "是", "为", "為", "は"} {
		if strings.HasPrefix(rest, word) {
			q = blanks(s, q+len(word))
			if q < len(s) && s[q] == ':' {
				q = blanks(s, q+1)
			}
			return q, true, true
		}
	}
	return 0, false, false
}

// blanks skips spaces and tabs, a bounded number of them.
func blanks(s string, p int) int {
	for n := 0; n < 32 && p < len(s) && (s[p] == ' ' || s[p] == '\t'); n++ {
		p++
	}
	return p
}

const (
	maxValue  = 512  // bytes of a value that are judged; the rest of a longer one shares its fate
	maxBearer = 8192 // bytes of a token behind Bearer
)

// value is the extent of the value that begins at p, without its quotes. It ends at white space, at a quote, at a
// non-ASCII character, where the next item of a list, query or table begins, and after maxValue bytes.
func value(s string, p int) (start, end int) {
	for n := 0; n < 2 && p < len(s) && strings.IndexByte("\\\"'`", s[p]) >= 0; n++ {
		p++
	}
	for _, quote := range [...]string{"“", "‘", "「", "『"} {
		if strings.HasPrefix(s[p:], quote) {
			p += len(quote)
		}
	}
	return p, valueEnd(s, p, p+maxValue)
}

// wholeValue is the end of the value at start, of which value has seen the part up to end.
func wholeValue(s string, start, end int) int {
	if end-start < maxValue-8 { // not cut off at the bound, allowing for what is trimmed there
		return end
	}
	return max(end, valueEnd(s, start, len(s)))
}

func valueEnd(s string, p, limit int) int {
	e := p
scan:
	for e < min(len(s), limit) {
		switch c := s[e]; {
		case c <= ' ', c >= 0x7F, c == '"', c == '\'', c == '`', c == '<', c == '>', c == ';', c == '|':
			if c == '<' && e == p {
				return p // <your key>
			}
			break scan
		case c == '\\' && e+1 < len(s) && strings.IndexByte("nrt\"'\\", s[e+1]) >= 0:
			break scan
		case c == '[' && strings.HasPrefix(s[e:], markOpen):
			break scan
		case (c == '&' || c == ',') && startsItem(s[e+1:]):
			break scan
		}
		e++
	}
	for e > p && strings.IndexByte(".,:!?)}]*_", s[e-1]) >= 0 {
		e--
	}
	return e
}

// startsItem reports whether text goes on with name= or name: or with nothing of the value.
func startsItem(text string) bool {
	n := 0
	for n < len(text) && n < 40 && (isWord(text[n]) || text[n] == '-' || text[n] == '.' || text[n] == '"' || text[n] == '\'') {
		n++
	}
	return n < len(text) && (n > 0 && (text[n] == '=' || text[n] == ':') || n == 0 && text[n] <= ' ')
}

// bearerValue is the token behind the word Bearer.
func bearerValue(s string, end int) (span, bool) {
	start := blanks(s, end)
	if start == end {
		return span{}, false
	}
	stop := start
	for stop < len(s) && stop-start < maxBearer && (isWord(s[stop]) || strings.IndexByte("-.~+/=", s[stop]) >= 0) {
		stop++
	}
	for stop > start && s[stop-1] == '.' {
		stop--
	}
	v := s[start:stop]
	if len(v) < 16 || isStandIn(v) {
		return span{}, false
	}
	if p := profileOf(v); p.words || p.letters() == 0 {
		return span{}, false
	}
	return span{start, stop, kwBearer.kind}, true
}

// authorizationValue is the credential in a header whose value begins at p, with or without a scheme before it.
func authorizationValue(s string, p int) (span, bool) {
	start, end := value(s, p)
	if scheme := s[start:end]; scheme != "" && len(scheme) <= 12 && profileOf(scheme).letters() == len(scheme) {
		if strings.EqualFold(scheme, "bearer") {
			return bearerValue(s, end)
		}
		next := blanks(s, end)
		if next == end {
			return span{}, false
		}
		start, end = value(s, next)
	}
	v := s[start:end]
	if len(v) < 8 || isStandIn(v) || isCode(v) {
		return span{}, false
	}
	if p := profileOf(v); p.letters() == 0 || p.digits == 0 && !(p.upper > 0 && p.lower > 0 && p.randomCase()) {
		return span{}, false
	}
	return span{start, wholeValue(s, start, end), kwAuth.kind}, true
}
