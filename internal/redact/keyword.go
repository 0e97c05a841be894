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
		if strings.EqualFold(w, "passe") && hasSuffixFold(s[:i], "mot de ") {
			return kwPassword, true
		}
		if _, ok := spanish(s, i, end); ok {
			return kwPassword, true
		}
	case 'a', 'A':
		if endsWith(w, "senha") || hasSuffixFold(w, "contrasena") {
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
		if hasSuffixFold(w, "passwort") || hasSuffixFold(w, "kennwort") {
			return kwPassword, true
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

// spanish reports whether the word s[i:end] goes on as contraseña, and where that ends.
func spanish(s string, i, end int) (wordEnd int, ok bool) {
	const word, begin = "contraseña", "contrase"
	if end-i < len(begin) || !hasSuffixFold(s[i:end], begin) || !hasPrefixFold(s[end-len(begin):], word) {
		return end, false
	}
	return end - len(begin) + len(word), true
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
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
	end, _ = spanish(s, i, end)
	if hasSuffixFold(s[i:end], "passphrase") {
		if sp, ok := phraseValue(s, end); ok {
			return sp, true
		}
	}
	if sp, ok := hexValue(s, end); ok && !kw.password {
		return span{sp.start, sp.end, kw.kind}, true
	}
	if s[i:end] == "password" && inNetrc(s, i) {
		if sp, ok := netrcValue(s, end); ok {
			return sp, true
		}
	}
	flag := i > 1 && s[i-1] == '-' && (s[i-2] == '-' || isWord(s[i-2]) && strings.Contains(s[max(0, i-24):i], "--"))
	return valueOf(s, end, kw, flag)
}

// namedValueWide does the same for words of other scripts, at the character that begins at i.
func namedValueWide(s string, i int) (span, bool) {
	if i+3 > len(s) {
		return span{}, false
	}
	const russian = "пароль"
	if s[i] == russian[0] && hasPrefixFold(s[i:], russian) {
		return valueOf(s, i+len(russian), kwPassword, false)
	}
	switch s[i : i+3] {
	case "密", "口", "令", "通", "パ", "비", "暗":
	default:
		return span{}, false
	}
	for _, k := range [...]struct {
		word string
		kw   keyword
	}{
		{"密码", kwPassword}, {"密碼", kwPassword}, {"口令", kwPassword}, {"通行码", kwPassword},
		{"パスワード", kwPassword}, {"暗証番号", kwPassword}, {"비밀번호", kwPassword},
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

// hexValue is what follows the word that ends at p without any separator, as in "the gitea token 3f78...": nothing but
// as many hex digits as such tokens have.
func hexValue(s string, p int) (span, bool) {
	start := blanks(s, p)
	if start == p {
		return span{}, false
	}
	if start < len(s) && strings.IndexByte("`'\"", s[start]) >= 0 {
		start++
	}
	end := run(s, start, true)
	switch v := s[start:end]; {
	case len(v) != 32 && len(v) != 40 && len(v) != 64, !isHexDigits(v), !isToken(v):
		return span{}, false
	}
	return span{start: start, end: end}, true
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
