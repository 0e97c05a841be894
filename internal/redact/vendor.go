package redact

import "strings"

// vendor is a key format with a prefix of its own.
type vendor struct {
	prefix   string
	kind     string
	dashes   bool // may the rest have - and _, or only letters and digits
	min, max int  // length of the rest, in characters
}

// vendors is ordered: the first prefix that fits decides.
var vendors = [...]vendor{
	{"sk-ant-", "anthropic-key", true, 20, 512},
	{"sk-", "openai-key", true, 20, 512},
	{"AKIA", "aws-access-key", false, 16, 16},
	{"ASIA", "aws-access-key", false, 16, 16},
	{"ghp_", "github-token", false, 30, 255},
	{"gho_", "github-token", false, 30, 255},
	{"ghu_", "github-token", false, 30, 255},
	{"ghs_", "github-token", true, 30, 1024},
	{"ghr_", "github-token", false, 30, 255},
	{"github_pat_", "github-token", true, 22, 255},
	{"glpat-", "gitlab-token", true, 20, 300},
	{"xoxa-", "slack-token", true, 10, 300},
	{"xoxb-", "slack-token", true, 10, 300},
	{"xoxc-", "slack-token", true, 10, 300},
	{"xoxd-", "slack-token", true, 10, 300},
	{"xoxe-", "slack-token", true, 10, 300},
	{"xoxo-", "slack-token", true, 10, 300},
	{"xoxp-", "slack-token", true, 10, 300},
	{"xoxr-", "slack-token", true, 10, 300},
	{"xoxs-", "slack-token", true, 10, 300},
	{"xapp-", "slack-token", true, 10, 300},
	{"AIza", "google-key", true, 35, 35},
	{"GOCSPX-", "google-key", true, 20, 64},
	{"sk_live_", "stripe-key", false, 16, 255},
	{"rk_live_", "stripe-key", false, 16, 255},
	{"hf_", "huggingface-token", false, 30, 64},
	{"npm_", "npm-token", false, 36, 36},
	{"pypi-", "pypi-token", true, 50, 300},
	{"gsk_", "groq-key", false, 40, 80},
	{"xai-", "xai-key", true, 40, 120},
	{"SG.", "sendgrid-key", true, 22, 22}, // and a second part, see vendorAt
}

// vendorAt recognises a secret by its shape where a word begins; word ends at end.
func vendorAt(s string, i, end int) (span, bool) {
	if i > 0 && s[i-1] == '%' { // the word begins inside a URL escape
		return span{}, false
	}
	switch c := s[i]; {
	case c == 'e' && strings.HasPrefix(s[i:], "eyJ"):
		return jwtAt(s, i)
	case isDigit(c):
		return telegramAt(s, i, end)
	}
	if !mayBeginKey(s[i:]) {
		return span{}, false
	}
	for k := range vendors {
		v := &vendors[k]
		if !strings.HasPrefix(s[i:], v.prefix) {
			continue
		}
		start := i + len(v.prefix)
		stop := run(s, start, v.dashes)
		n := stop - start
		if n < v.min || n > v.max {
			return span{}, false
		}
		if v.prefix == "SG." {
			if stop == len(s) || s[stop] != '.' {
				return span{}, false
			}
			stop = run(s, stop+1, true)
		}
		rest := s[start:stop]
		if isStandIn(rest) || !keyLike(v, rest) {
			return span{}, false
		}
		return span{i, stop, v.kind}, true
	}
	return span{}, false
}

// mayBeginKey looks at the first two bytes only, to spare nearly every word the way through the table.
func mayBeginKey(s string) bool {
	if len(s) < 2 {
		return false
	}
	switch s[:2] {
	case "sk", "AK", "AS", "gh", "gi", "gl", "xo", "xa", "AI", "GO", "rk", "hf", "np", "py", "gs", "SG":
		return true
	}
	return false
}

// keyLike tells the rest of a key from words that happen to follow the prefix, as in sk-learn-something.
func keyLike(v *vendor, rest string) bool {
	if v.kind == "aws-access-key" {
		for i := range len(rest) {
			if isLower(rest[i]) {
				return false
			}
		}
		return true
	}
	p := profileOf(rest)
	return p.letters() > 0 && !p.words && (p.digits > 0 || !v.dashes)
}

// jwtAt recognises header.payload.signature; the signature may be cut off.
func jwtAt(s string, i int) (span, bool) {
	head := run(s, i, true)
	if head-i < 12 || !strings.HasPrefix(s[head:], ".eyJ") {
		return span{}, false
	}
	body := run(s, head+1, true)
	if body-head < 12 {
		return span{}, false
	}
	end := body
	if end < len(s) && s[end] == '.' {
		if sig := run(s, end+1, true); sig > end+1 {
			end = sig
		}
	}
	return span{i, end, "jwt"}, true
}

// telegramAt recognises the token of a Telegram bot, 123456789:AA followed by 33 characters.
func telegramAt(s string, i, end int) (span, bool) {
	if n := end - i; n < 8 || n > 10 || !strings.HasPrefix(s[end:], ":AA") {
		return span{}, false
	}
	for _, c := range []byte(s[i:end]) {
		if !isDigit(c) {
			return span{}, false
		}
	}
	stop := run(s, end+1, true)
	if stop-end-1 != 35 || isStandIn(s[end+3:stop]) {
		return span{}, false
	}
	return span{i, stop, "telegram-token"}, true
}

// run is the end of the letters and digits, and if wanted dashes and underscores, from i on.
func run(s string, i int, dashes bool) int {
	for i < len(s) && (isAlnum(s[i]) || dashes && (s[i] == '-' || s[i] == '_')) {
		i++
	}
	return i
}

const awsWindow = 160 // how far before a secret key, in bytes, a word must announce it

// awsSecrets finds the secret keys of AWS: forty characters of base64 that only what stands before them tells from
// other text.
func awsSecrets(s string) []span {
	announced := false
	for _, hint := range [...]string{"AKIA", "ASIA", "aws", "AWS", "Aws", "ecretAccessKey", "ecret_access_key", "ecret access key", "SECRET_ACCESS_KEY"} {
		if strings.Contains(s, hint) {
			announced = true
			break
		}
	}
	if !announced {
		return nil
	}
	var spans []span
	for i := 0; i < len(s); {
		if !isBase64(s[i]) {
			i++
			continue
		}
		end := i
		for end < len(s) && isBase64(s[end]) {
			end++
		}
		if end-i == 40 && (end == len(s) || s[end] != '_' && s[end] != '-') {
			p := profileOf(s[i:end])
			if p.upper > 0 && p.lower > 0 && p.digits > 0 && !isStandIn(s[i:end]) && awsBefore(s[max(0, i-awsWindow):i]) {
				spans = append(spans, span{i, end, "aws-secret-key"})
			}
		}
		i = end
	}
	return spans
}

func awsBefore(window string) bool {
	w := strings.ToLower(window)
	return strings.Contains(w, "akia") || strings.Contains(w, "asia") || strings.Contains(w, "secret") &&
		(strings.Contains(w, "aws") || strings.Contains(w, "access"))
}

func isBase64(c byte) bool { return isAlnum(c) || c == '/' || c == '+' }
