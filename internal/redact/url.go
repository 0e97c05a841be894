package redact

import "strings"

const maxUserinfo = 512 // bytes of user:password@ that are looked at

// urlPassword finds the password in scheme://user:password@host; sep is where "://" stands.
func urlPassword(s string, sep int) (span, bool) {
	if sep == 0 || !isAlnum(s[sep-1]) {
		return span{}, false
	}
	start := sep + len("://")
	colon, at := -1, -1
scan:
	for i := start; i < len(s) && i-start < maxUserinfo; i++ {
		switch c := s[i]; {
		case c <= ' ', c >= 0x7F, strings.IndexByte("/?#\"'`<>()[]{}\\|", c) >= 0:
			if c == '{' || c == '<' || c == '[' || c == '(' {
				return span{}, false // a template
			}
			break scan
		case c == ':' && colon < 0:
			colon = i
		case c == '@':
			at = i
		}
	}
	if colon < 0 || at < colon+2 {
		return span{}, false
	}
	v := s[colon+1 : at]
	switch strings.ToLower(v) {
	case "password", "passwd", "pass", "pwd", "pw", "secret", "token", "user", "key", "apikey", "api_key":
		return span{}, false
	}
	if isStandIn(v) || strings.Trim(v, "*x.") == "" {
		return span{}, false
	}
	return span{colon + 1, at, "url-password"}, true
}
