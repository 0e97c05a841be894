package transfer

import (
	"crypto/md5"
	"encoding/hex"
	"regexp"
	"strings"

	"reverie/internal/caller"
)

// P2 names a chat's folder after its origin, a text such as
// aiocqhttp:GroupMessage:678: every character but letters, digits, dot, underscore and
// dash becomes an underscore, and what was changed gets the beginning of the MD5 of the
// original behind it. By that sum a guess at the original is told from the right one.
var p2Key = regexp.MustCompile(`^(.+?)_(FriendMessage|GroupMessage|OtherMessage)_(.+)-([0-9a-f]{8})$`)

// p2Folder is what a folder of P2 may be called.
var p2Folder = regexp.MustCompile(`^[A-Za-z0-9-][A-Za-z0-9._-]{0,95}$`)

// p2Origin is where a chat took place.
type p2Origin struct {
	text     string // platform:kind:session
	platform string
	kind     string // FriendMessage, GroupMessage, OtherMessage
	session  string
}

// replaced are the characters that an underscore may stand for, the likely ones first.
const replaced = "_:!#@/ %|+=~$&*?,;()"

// maxGuesses bounds the originals that are tried for one folder; each costs one MD5.
const maxGuesses = 1 << 18

// parseP2Key finds the origin that a folder of P2 is named after; ok is false if no guess
// has the sum in the name.
func parseP2Key(name string) (o p2Origin, ok bool) {
	parts := p2Key.FindStringSubmatch(name)
	if parts == nil {
		return o, false
	}
	left := maxGuesses
	platforms := guesses(parts[1], &left)
	left = maxGuesses
	for session := range guesses(parts[3], &left) {
		for platform := range platforms {
			text := platform + ":" + parts[2] + ":" + session
			if sum := md5.Sum([]byte(text)); hex.EncodeToString(sum[:4]) == parts[4] {
				return p2Origin{text, platform, parts[2], session}, true
			}
			if left--; left <= 0 {
				return o, false
			}
		}
	}
	return o, false
}

// guesses yields what a text with underscores may have been: all of them the same
// character first, then every mixture, at most *left of them.
func guesses(text string, left *int) func(func(string) bool) {
	return func(yield func(string) bool) {
		var at []int
		for i := range len(text) {
			if text[i] == '_' {
				at = append(at, i)
			}
		}
		b := []byte(text)
		for i := range len(replaced) {
			for _, p := range at {
				b[p] = replaced[i]
			}
			if !yield(string(b)) || len(at) == 0 {
				return
			}
		}
		digits := make([]int, len(at))
		for len(at) > 1 {
			p := 0
			for p < len(digits) && digits[p] == len(replaced)-1 {
				digits[p] = 0
				p++
			}
			if p == len(digits) || *left <= 0 {
				return
			}
			digits[p]++
			for i, d := range digits {
				b[at[i]] = replaced[d]
			}
			*left--
			if !yield(string(b)) {
				return
			}
		}
	}
}

// key is the partition of the chat: the person's, or the group's. platform, if not empty,
// takes the place of the chat network's name.
func (o p2Origin) key(platform string) (caller.Key, bool) {
	k := caller.Key{Platform: platform, ID: o.session}
	switch o.kind {
	case "FriendMessage":
		k.Kind = caller.KindPrivate
	case "GroupMessage":
		k.Kind = caller.KindGroup
	default:
		return caller.Key{}, false
	}
	if platform == "" {
		k.Platform = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, o.platform)
		k.Platform = k.Platform[:min(len(k.Platform), caller.MaxPlatformBytes)]
		if k.Platform == "" {
			k.Platform = caller.DefaultPlatform
		}
	}
	_, ok := caller.CurrentKey(k.String())
	return k, ok
}
