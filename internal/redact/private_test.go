package redact_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reverie/internal/redact"
)

func TestStripPrivate(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		found          bool
	}{
		{"none", "a < b and c > d", "a < b and c > d", false},
		{"block", "a <private>secret</private> b", "a  b", true},
		{"case and white space", "a< PRIVATE >x</ Private\t>b", "ab", true},
		{"attributes", `a<private reason="x" level=2>x</private>b`, "ab", true},
		{"over lines", "a\n<private>\nx\ny\n</private>\nb", "a\n\nb", true},
		{"nested", "a<private>b<private>c</private>d</private>e", "ae", true},
		{"unclosed", "a<private>b c", "a", true},
		{"unclosed inner", "a<private>b<private>c</private>d", "a", true},
		{"stray closing", "a</private>b", "ab", true},
		{"two blocks", "a<private>1</private>b<private>2</private>c", "abc", true},
		{"cut off in the opening tag", "a<private", "a", true},
		{"opening tag without its bracket", "a<private my secret</private>b", "ab", true},
		{"cut off in the closing tag", "a<private>x</private", "a", true},
		{"other tags stay", "<privately>a</privately><private-key>b</private-key><privat>", "<privately>a</privately><private-key>b</private-key><privat>", false},
		{"halves pushed together", "<pri<private>x</private>vate>secret</private>b", "", true}, // its closing tag was a stray one before
		{"self-closing", "a<private/>b", "a", true},
		{"full-width brackets", "a＜private＞x＜/private＞b", "ab", true},
		{"full-width throughout", "a＜ｐｒｉｖａｔｅ＞x＜／ＰＲＩＶＡＴＥ＞b", "ab", true},
		{"mixed", "a‹ｐｒｉｖａｔｅ>x</private›b", "ab", true},
		{"ideographic space", "a＜private　＞x＜　/private＞b", "ab", true},
		{"html", "a&lt;private&gt;x&lt;/private&gt;b", "ab", true},
		{"html by number", "a&#60;private&#62;x&#x3c;/private&#x3E;b", "ab", true},
		{"json", `a\u003cprivate\u003ex\u003c/private\u003eb`, "ab", true},
		{"html opens, a bracket closes", "a&lt;private&gt;x</private>b", "ab", true},
		{"html, unclosed", "a&lt;private&gt;x", "a", true},
		{"invisible characters", "a<pri\u200evate\u2060>x</\u200fprivate>b", "ab", true},
		{"square brackets stay", "a[private]x[/private]b", "a[private]x[/private]b", false},
		{"quotes and other references stay", "«private» ‹privé› 《private》 &lt;privately&gt; &amp;private&gt; a &lt; private_b", "«private» ‹privé› 《private》 &lt;privately&gt; &amp;private&gt; a &lt; private_b", false},
		{"empty", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, found := redact.StripPrivate(tt.in); got != tt.want || found != tt.found {
				t.Errorf("StripPrivate(%q) = %q, %v, want %q, %v", tt.in, got, found, tt.want, tt.found)
			}
		})
	}
}

func TestStripPrivateProperties(t *testing.T) {
	parts := []string{"<private>", "</private>", "<PRIVATE a=1>", "< / private >", "<pri", "vate>", "<", ">", "/", "private", "＜", "›", "ｖａｔｅ", "&lt;", "&gt;", "&", "lt;", "\u200e", " ", "\n", "x", "密"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 25).Draw(t, "parts"), "")
		once, found := redact.StripPrivate(text)
		if found == (once == text) {
			t.Fatalf("%q became %q, found = %v", text, once, found)
		}
		if twice, again := redact.StripPrivate(once); again {
			t.Fatalf("%q became %q, then %q", text, once, twice)
		}
	})
}

func TestStripPrivateHidesAllInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ordinary := rapid.StringOf(rapid.RuneFrom([]rune("abc <>/\n密")))
		before, inside, after := ordinary.Draw(t, "before"), ordinary.Draw(t, "inside"), ordinary.Draw(t, "after")
		got, _ := redact.StripPrivate(before + "<private>" + inside + "SECRET</private>" + after)
		if got != before+after && strings.Contains(got, "SECRET") {
			t.Fatalf("%q", got)
		}
	})
}

func BenchmarkStripPrivate(b *testing.B) {
	for name, text := range map[string]string{
		"plain":  strings.Repeat("She likes green tea & <b>reads</b> 书 on Sundays. ", 160),
		"halves": strings.Repeat("<pri", 1000) + strings.Repeat("<private>x</private>vate>", 200),
		"spaces": strings.Repeat("<"+strings.Repeat(" ", 79), 100),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				redact.StripPrivate(text)
			}
		})
	}
}
