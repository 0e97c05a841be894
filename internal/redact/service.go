package redact

import (
	"encoding/base64"
	"strings"
)

// discordAt recognises the token of a Discord bot: its number in base64, a time, a signature, with dots between them.
func discordAt(s string, i, end int) (span, bool) {
	if n := end - i; n < 22 || n > 30 || end == len(s) || s[end] != '.' {
		return span{}, false
	}
	id, err := base64.RawStdEncoding.DecodeString(s[i:end])
	if err != nil || strings.Trim(string(id), "0123456789") != "" {
		return span{}, false
	}
	stamp := run(s, end+1, true)
	if n := stamp - end - 1; n < 5 || n > 8 || stamp == len(s) || s[stamp] != '.' {
		return span{}, false
	}
	stop := run(s, stamp+1, true)
	if n := stop - stamp - 1; n < 25 || n > 64 || isStandIn(s[stamp+1:stop]) {
		return span{}, false
	}
	return span{i, stop, "discord-token"}, true
}

// webhookAt recognises the addresses to which whoever knows them may post, at the name of the host. Of a Discord
// webhook the number is no secret, of a Slack webhook the whole path is hidden.
func webhookAt(s string, i int) (span, bool) {
	for _, host := range [...]string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"} {
		if !strings.HasPrefix(s[i:], host) {
			continue
		}
		start := i + len(host)
		stop := start
		for stop < len(s) && (isWord(s[stop]) || s[stop] == '/') {
			stop++
		}
		path := s[start:stop]
		last := path[strings.LastIndexByte(path, '/')+1:]
		if strings.Count(path, "/") < 2 || len(last) < 16 || isStandIn(last) {
			return span{}, false
		}
		return span{start, stop, "slack-webhook"}, true
	}
	_, rest, ok := strings.Cut(s[i:min(len(s), i+40)], "/")
	if host := s[i : i+max(0, strings.IndexByte(s[i:], '/'))]; !ok || host != "discord.com" && host != "discordapp.com" || !strings.HasPrefix(rest, "api/") {
		return span{}, false
	}
	const hooks = "/webhooks/"
	at := strings.Index(s[i:min(len(s), i+50)], hooks)
	if at < 0 {
		return span{}, false
	}
	start := i + at + len(hooks)
	for start < len(s) && isDigit(s[start]) {
		start++
	}
	if start == len(s) || s[start] != '/' {
		return span{}, false
	}
	start++
	stop := run(s, start, true)
	if stop-start < 32 || isStandIn(s[start:stop]) {
		return span{}, false
	}
	return span{start, stop, "discord-webhook"}, true
}

// sasAt recognises the signature of a shared access signature, base64 as URLs have it, behind sig= at i.
func sasAt(s string, i int) (span, bool) {
	start := i + len("sig=")
	stop := start
	for stop < len(s) && (isBase64(s[stop]) || strings.IndexByte("%=-_", s[stop]) >= 0) {
		stop++
	}
	v := s[start:stop]
	if p := profileOf(v); len(v) < 40 || p.upper == 0 || p.lower == 0 || p.digits == 0 || isStandIn(v) {
		return span{}, false
	}
	return span{start, stop, "azure-sas"}, true
}
