package redact

import "strings"

// vendor is a key format with a prefix of its own.
type vendor struct {
	prefix   string
	kind     string
	of       alphabet // what the rest is made of
	min, max int      // length of the rest, in characters
}

type alphabet int

const (
	alnum  alphabet = iota // letters and digits
	dashed                 // and - and _
	hexa                   // 0-9 and a-f
)

// vendors is ordered: the first prefix that fits decides.
var vendors = [...]vendor{
	{"sk-ant-", "anthropic-key", dashed, 20, 512},
	{"sk-", "openai-key", dashed, 20, 512},
	{"AKIA", "aws-access-key", alnum, 16, 16},
	{"ASIA", "aws-access-key", alnum, 16, 16},
	{"ghp_", "github-token", alnum, 30, 255},
	{"gho_", "github-token", alnum, 30, 255},
	{"ghu_", "github-token", alnum, 30, 255},
	{"ghs_", "github-token", dashed, 30, 1024},
	{"ghr_", "github-token", alnum, 30, 255},
	{"github_pat_", "github-token", dashed, 22, 255},
	{"glpat-", "gitlab-token", dashed, 20, 300},
	{"xoxa-", "slack-token", dashed, 10, 300},
	{"xoxb-", "slack-token", dashed, 10, 300},
	{"xoxc-", "slack-token", dashed, 10, 300},
	{"xoxd-", "slack-token", dashed, 10, 300},
	{"xoxe-", "slack-token", dashed, 10, 300},
	{"xoxo-", "slack-token", dashed, 10, 300},
	{"xoxp-", "slack-token", dashed, 10, 300},
	{"xoxr-", "slack-token", dashed, 10, 300},
	{"xoxs-", "slack-token", dashed, 10, 300},
	{"xapp-", "slack-token", dashed, 10, 300},
	{"AIza", "google-key", dashed, 35, 35},
	{"ya29.c.", "google-token", dashed, 20, 2048},
	{"ya29.", "google-token", dashed, 20, 2048},
	{"GOCSPX-", "google-key", dashed, 20, 64},
	{"sk_live_", "stripe-key", alnum, 16, 255},
	{"rk_live_", "stripe-key", alnum, 16, 255},
	{"sk_test_", "stripe-key", alnum, 16, 255},
	{"rk_test_", "stripe-key", alnum, 16, 255},
	{"whsec_", "stripe-key", alnum, 20, 255}, // or base64, see vendorAt
	{"hf_", "huggingface-token", alnum, 30, 64},
	{"npm_", "npm-token", alnum, 36, 36},
	{"pypi-", "pypi-token", dashed, 50, 300},
	{"gsk_", "groq-key", alnum, 40, 80},
	{"xai-", "xai-key", dashed, 40, 120},
	{"SK", "twilio-key", hexa, 32, 32},
	{"key-", "mailgun-key", hexa, 32, 32},
	{"dop_v1_", "digitalocean-token", hexa, 64, 64},
	{"doo_v1_", "digitalocean-token", hexa, 64, 64},
	{"dor_v1_", "digitalocean-token", hexa, 64, 64},
	{"shpat_", "shopify-token", hexa, 32, 32},
	{"shpss_", "shopify-token", hexa, 32, 32},
	{"shpca_", "shopify-token", hexa, 32, 32},
	{"shppa_", "shopify-token", hexa, 32, 32},
	{"dapi", "databricks-token", hexa, 32, 32},
	{"AGE-SECRET-KEY-1", "age-key", alnum, 50, 64},
	{"AGE-SECRET-KEY-PQ-1", "age-key", alnum, 50, 128},
	{"hvs.", "vault-token", dashed, 20, 300},
	{"hvb.", "vault-token", dashed, 20, 300},
	{"hvr.", "vault-token", dashed, 20, 300},
	{"ntn_", "notion-token", alnum, 36, 64},
	{"secret_", "notion-token", alnum, 40, 48},
	{"lin_api_", "linear-key", alnum, 32, 64},
	{"lin_oauth_", "linear-key", alnum, 32, 80},
	{"dp.pt.", "doppler-token", alnum, 32, 64},
	{"dp.ct.", "doppler-token", alnum, 32, 64},
	{"dp.sa.", "doppler-token", alnum, 32, 64},
	{"SG.", "sendgrid-key", dashed, 22, 22}, // and a second part, see vendorAt
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
	case c == 'M', c == 'N', c == 'O':
		if sp, ok := discordAt(s, i, end); ok {
			return sp, true
		}
	case c == 'h' && strings.HasPrefix(s[i:], "hooks.slack.com/"), c == 'd' && strings.HasPrefix(s[i:], "discord"):
		return webhookAt(s, i)
	case c == 's' && strings.HasPrefix(s[i:], "sig="):
		return sasAt(s, i)
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
		stop := run(s, start, v.of == dashed)
		if v.prefix == "whsec_" {
			for stop < len(s) && (isBase64(s[stop]) || s[stop] == '=') {
				stop++
			}
		}
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
	case "sk", "AK", "AS", "gh", "gi", "gl", "xo", "xa", "AI", "GO", "rk", "hf", "np", "py", "gs", "SG", "SK", "ya", "AG", "hv", "nt", "dp":
		return true
	case "wh", "ke", "do", "sh", "da", "se", "li": // many words begin so
		return anyPrefix(s, "whsec_", "key-", "dop_", "doo_", "dor_", "shp", "dapi", "secret_", "lin_") > 0
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
	if v.of == hexa && !isHexDigits(rest) {
		return false
	}
	p := profileOf(rest)
	return p.letters() > 0 && !p.words && (p.digits > 0 || v.of != dashed)
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
