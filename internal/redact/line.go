package redact

import "strings"

// What the words of a line mean together: the cookies of a header, the user of a command, the words of a passphrase.

// cookies finds the values in Cookie and Set-Cookie headers that admit their bearer.
func cookies(s string) []span {
	var spans []span
	if !strings.Contains(s, "ookie") && !strings.Contains(s, "OOKIE") {
		return nil
	}
	for at := 0; at < len(s); {
		const word = "cookie"
		if s[at]|0x20 != 'c' || !hasPrefixFold(s[at:], word) || at > 0 && isWord(s[at-1]) {
			at++
			continue
		}
		i := at + len(word)
		at = i
		p, said, ok := separator(s, i, false)
		if !ok || said || strings.Contains(s[i:p], "=") {
			continue
		}
		p, _ = value(s, p)
		stop := p
		for stop < len(s) && strings.IndexByte("\n\r'\"`<>", s[stop]) < 0 {
			stop++
		}
		at = max(at, stop)
		for p < stop {
			end := stop
			if n := strings.IndexByte(s[p:stop], ';'); n >= 0 {
				end = p + n
			}
			if eq := strings.IndexByte(s[p:end], '='); eq >= 0 {
				start, last := p+eq+1, end
				for last > start && strings.IndexByte(" \t,.)", s[last-1]) >= 0 {
					last--
				}
				if isSession(strings.TrimSpace(s[p:p+eq]), s[start:last]) {
					spans = append(spans, span{start, last, "cookie"})
				}
			}
			p = end + 1
		}
	}
	return spans
}

// isSession reports whether a cookie is more than a setting.
func isSession(name, v string) bool {
	name = strings.ToLower(name)
	switch name {
	case "path", "domain", "expires", "max-age", "samesite", "priority":
		return false
	}
	if len(v) < 8 || strings.ContainsAny(v, " \t[") || isStandIn(v) {
		return false
	}
	if strings.Contains(name, "sess") || name == "sid" || strings.HasSuffix(name, ".sid") || strings.HasSuffix(name, "_sid") || strings.HasSuffix(name, "-sid") {
		return true
	}
	for _, w := range [...]string{"auth", "token", "jwt", "login", "csrf", "xsrf", "remember"} {
		if strings.Contains(name, w) {
			return profileOf(v).digits > 0 || isToken(v)
		}
	}
	return len(v) >= 10 && isToken(v)
}

// userPasswords finds the password in the -u user:password of curl.
func userPasswords(s string) []span {
	var spans []span
	for i := 0; ; {
		at := strings.Index(s[i:], "curl ")
		if at < 0 {
			return spans
		}
		at += i
		i = at + len("curl ")
		stop := i
		for stop < len(s) && (s[stop] != '\n' && s[stop] != '\r' || strings.HasSuffix(strings.TrimRight(s[i:stop], "\r"), "\\")) {
			stop++
		}
		for p := i; p < stop; p++ {
			n := 0
			if s[p-1] == ' ' || s[p-1] == '\t' || s[p-1] == '\n' {
				n = anyPrefix(s[p:stop], "-u", "--user ", "--user=", "--proxy-user ", "--proxy-user=", "-U ")
			}
			if n == 0 {
				continue
			}
			start, _ := value(s, blanks(s, p+n))
			end := start
			for end < stop && s[end] > ' ' && strings.IndexByte("'\"`|;<>", s[end]) < 0 {
				end++
			}
			colon := strings.IndexByte(s[start:max(start, end)], ':')
			if colon > 0 && isGivenPassword(s[start+colon+1:end]) {
				spans = append(spans, span{start + colon + 1, end, "password"})
			}
			p = max(p, end)
		}
		i = stop
	}
}

// isGivenPassword judges what stands where nothing but a password can.
func isGivenPassword(v string) bool {
	switch strings.ToLower(v) {
	case "", "password", "passwd", "pass", "pwd", "pw", "secret", "token", "key", "apikey", "api_key":
		return false
	}
	return !isStandIn(v) && v[0] != '$' && v[0] != '[' && strings.Trim(v, "*x.") != ""
}

// netrcValue is what follows the word password, which ends at p, in a .netrc.
func netrcValue(s string, p int) (span, bool) {
	start, end := value(s, blanks(s, p))
	if start == p || end-start < 4 || !isGivenPassword(s[start:end]) {
		return span{}, false
	}
	return span{start, wholeValue(s, start, end), kwPassword.kind}, true
}

// inNetrc reports whether the word password at i stands in a line of a .netrc: machine NAME login NAME password VALUE.
func inNetrc(s string, i int) bool {
	before := s[max(0, i-200):i]
	host := max(strings.LastIndex(before, "machine "), strings.LastIndex(before, "default "))
	if host < 0 {
		return false
	}
	f := strings.Fields(before[host:])
	n := len(f)
	return n >= 3 && n <= 6 && f[n-2] == "login"
}

// phraseValue finds a passphrase of several words behind a keyword that ends at p: four or more words of a line that
// do not make a sentence.
func phraseValue(s string, p int) (span, bool) {
	start, said, ok := separator(s, p, false)
	if !ok || said {
		return span{}, false
	}
	start, _ = value(s, start)
	const longest = 256
	end := start
	for end < len(s) && end-start < longest && (isAlnum(s[end]) || s[end] == ' ' || s[end] == '-') {
		end++
	}
	if end < len(s) && strings.IndexByte("\n\r\"'`.,;)", s[end]) < 0 {
		return span{}, false
	}
	words := strings.Fields(s[start:end])
	if len(words) < 4 || len(words) > 24 {
		return span{}, false
	}
	for _, w := range words {
		switch strings.ToLower(w) {
		case "a", "an", "the", "is", "are", "was", "be", "must", "should", "can", "may", "at", "least", "of", "to", "for", "in",
			"on", "with", "or", "and", "from", "by", "not", "no", "see", "has", "have", "it", "that", "this", "you", "your", "we",
			"i", "my", "as", "if", "when", "required", "optional", "characters", "words", "passphrase", "password":
			return span{}, false
		}
	}
	return span{start, start + len(strings.TrimRight(s[start:end], " ")), kwPassword.kind}, true
}
