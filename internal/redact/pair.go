package redact

import "strings"

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

const twilioWindow = 80 // how far behind an account its token may begin, in bytes

// twilioSecrets finds the account (AC and 32 hex digits) that stands before its token, which is 32 hex digits and
// nothing else. The account alone is a name.
func twilioSecrets(s string) []span {
	first := strings.Index(s, "AC")
	if first < 0 || len(s)-first < 34+32 {
		return nil
	}
	var spans []span
	account := -twilioWindow - 1 // where one ended
	for i := max(0, first-1); i < len(s); {
		if !isWord(s[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(s) && isWord(s[end]) {
			end++
		}
		switch w := s[i:end]; {
		case len(w) == 34 && w[:2] == "AC" && isHexDigits(w[2:]) && !isStandIn(w[2:]):
			account = end
		case len(w) == 32 && isHexDigits(w) && i-account <= twilioWindow && !isStandIn(w):
			spans = append(spans, span{account - 34, account, "twilio-key"}, span{i, end, "twilio-key"})
			account = -twilioWindow - 1
		}
		i = end
	}
	return spans
}
