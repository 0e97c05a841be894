package transfer

import (
	"crypto/md5"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func dense(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Splitting loses nothing but white space, and no piece is too long or empty.
func TestSplitLosesNothing(t *testing.T) {
	part := rapid.SampledFrom([]string{"word ", "字", "。", "\n", "\n\n", "# Head\n", "## ", "- item\n", "```\ncode\n```\n", "。\n", "x", strings.Repeat("long", 20), "\u3000", "👩‍👩‍👧"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 60).Draw(t, "parts"), "")
		room := rapid.IntRange(5, 120).Draw(t, "room")
		pieces := split(text, room)
		for _, p := range pieces {
			if n := utf8.RuneCountInString(p); n > room || strings.TrimSpace(p) == "" {
				t.Fatalf("a piece of %d characters in %d: %q", n, room, p)
			}
		}
		if got, want := dense(strings.Join(pieces, "")), dense(text); got != want {
			t.Fatalf("split into %q, which has %q and not %q", pieces, got, want)
		}
	})
}

// A note's description leads each piece, and its body is in them.
func TestNotePieces(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
		kind       string
	}{
		{"whole", "---\nname: a\ndescription: 'it''s so'\nmetadata:\n  type: user\n---\nbody\n", []string{"it's so\n\nbody"}, "user"},
		{"name for want of a description", "---\nname: a name\n---\nbody", []string{"a name\n\nbody"}, ""},
		{"a name alone says nothing", "---\nname: a name\n---\n", nil, ""},
		{"description as heading", "---\ndescription: Tea\n---\n# Tea\n\nGreen.", []string{"# Tea\n\nGreen."}, ""},
		{"folded", "---\ndescription: >\n  two\n  lines\ntype: Project\n---\nx", []string{"two lines\n\nx"}, "project"},
		{"odd types", "---\nname: 5\ndescription: [a]\nmetadata: none\ntype: 7\n---\nx", []string{"x"}, ""},
		{"unknown type", "---\ntype: gossip\n---\nx", []string{"x"}, ""},
		{"a rule is no frontmatter", "text\n---\nmore", []string{"text\n---\nmore"}, ""},
		{"no end", "---\nname: a", []string{"---\nname: a"}, ""},
		{"end of file ends it", "---\ndescription: d\n---", []string{"d"}, ""},
		{"empty frontmatter", "---\n---\nx", []string{"x"}, ""},
		{"bomb", "---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ndescription: [*c,*c]\n---\nx", []string{"x"}, ""},
		{"nothing", " \n", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := parseNote(tt.text)
			if got := n.pieces(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) || n.kind != tt.kind {
				t.Errorf("%q of kind %q, want %q of kind %q", got, n.kind, tt.want, tt.kind)
			}
		})
	}
	long := parseNote("---\ndescription: " + strings.Repeat("d", 5000) + "\n---\n" + strings.Repeat("b ", 5000))
	for _, p := range long.pieces() {
		if n := utf8.RuneCountInString(p); n > pieceRunes || !strings.HasPrefix(p, "ddd") {
			t.Errorf("a piece of %d characters: %.20q", n, p)
		}
	}
}

// Whatever a chat's origin is made of, its folder's name gives it back, or nothing; never
// another one.
func TestP2KeyIsFoundOut(t *testing.T) {
	odd := regexp.MustCompile(`[^A-Za-z0-9._-]`)
	word := rapid.StringMatching(`[A-Za-z0-9-]{1,8}`)
	sep := rapid.SampledFrom(strings.Split(replaced, ""))
	text := rapid.Custom(func(t *rapid.T) string {
		s := word.Draw(t, "word")
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			s += sep.Draw(t, "between") + word.Draw(t, "word")
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"FriendMessage", "GroupMessage", "OtherMessage"}).Draw(t, "kind")
		platform, session := word.Draw(t, "platform"), text.Draw(t, "session")
		origin := platform + ":" + kind + ":" + session
		folder := odd.ReplaceAllString(origin, "_")
		if len(folder) > 80 {
			t.Skip("cut names cannot be found out")
		}
		folder += fmt.Sprintf("-%x", md5.Sum([]byte(origin)))[:9]
		o, ok := parseP2Key(folder)
		if !ok || o.text != origin || o.platform != platform || o.kind != kind || o.session != session {
			t.Fatalf("%q named %q is found to be %+v, %v", origin, folder, o, ok)
		}
		last := folder[len(folder)-1]
		wrong := folder[:len(folder)-1] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", last)+1)%16])
		if o, ok := parseP2Key(wrong); ok {
			t.Fatalf("%q is taken for %+v", wrong, o)
		}
	})
	for _, name := range []string{"", "unknown-d41d8cd9", "a_b-a7e86136", "FriendMessage_1-00000000", strings.Repeat("x_", 40) + "FriendMessage_1-00000000", "x_FriendMessage_" + strings.Repeat("_", 40) + "1-00000000"} {
		if o, ok := parseP2Key(name); ok {
			t.Errorf("%q is taken for %+v", name, o)
		}
	}
}
