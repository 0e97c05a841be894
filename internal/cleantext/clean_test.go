package cleantext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"reverie/internal/cleantext"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		removed        int
	}{
		{"plain", "likes tea", "likes tea", 0},
		{"empty", "", "", 0},
		{"outer white space", " \t\n likes tea \u3000\n", "likes tea", 0},
		{"inner white space stays", "a  b\n\n\tc", "a  b\n\n\tc", 0},
		{"crlf", "a\r\nb\r\n\r\nc", "a\nb\n\nc", 0},
		{"lone cr", "a\rb", "a\nb", 0},
		{"cr cr lf", "a\r\r\nb", "a\n\nb", 0},
		{"unicode line ends", "a\u2028b\u2029c\u0085d", "a\nb\nc\nd", 0},
		{"chinese", "我喜欢喝茶。", "我喜欢喝茶。", 0},
		{"zero-width space", "pass\u200bword", "password", 1},
		{"word joiner, BOM, soft hyphen", "\ufeffa\u2060b\u00adc", "abc", 3},
		{"bidi override", "safe\u202Eexe.txt\u202C", "safeexe.txt", 2},
		{"bidi isolates", "a\u2066b\u2069c", "abc", 2},
		{"bidi embedding in arabic goes too", "\u202bسلام\u202c", "سلام", 2},
		{"tags hide ascii", "hello\U000E0069\U000E0067\U000E006E", "hello", 3},
		{"language tag", "a\U000E0001b", "ab", 1},
		{"mongolian vowel separator", "a\u180eb", "ab", 1},
		{"annotation", "\ufff9漢字\ufffaかんじ\ufffb", "漢字かんじ", 3},
		{"hangul filler as an empty name", "a\u3164b\uffa0", "ab", 2},
		{"c1 controls and delete", "a\u0090b\x7fc", "abc", 2},
		{"noncharacters", "a\ufffe\ufdd0\U0001ffffb", "ab", 3},
		{"invisible operators", "f\u2061(x)", "f(x)", 1},
		{"invalid bytes are marked", "a\xffb\u200b", "a\ufffdb", 1},

		{"zwj emoji family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧", 0},
		{"heart on fire", "❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥", 0},
		{"skin tone and profession", "👩🏽\u200d🚀", "👩🏽\u200d🚀", 0},
		{"flag of Wales", "🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F!", "🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F!", 0},
		{"a message under a flag", "🏴\U000E0067\U000E0062\U000E0078\U000E007F", "🏴", 4},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3", 0},
		{"persian non-joiner", "می\u200cخواهم", "می\u200cخواهم", 0},
		{"hindi joiner", "क्\u200dष", "क्\u200dष", 0},
		{"malayalam chillu at the end", "ന്\u200d", "ന്\u200d", 0},
		{"joiner in latin", "pass\u200dword", "password", 1},
		{"non-joiner in latin", "pass\u200cword", "password", 1},
		{"joiner after chinese", "密\u200d码", "密码", 1},
		{"joiner alone", "\u200d", "", 1},
		{"run of joiners", "می\u200c\u200c\u200cخواهم", "می\u200cخواهم", 2},
		{"joiner behind a zero-width space", "می\u200b\u200cخواهم", "می\u200cخواهم", 1},
		{"direction mark in hebrew", "שלום\u200f!", "שלום\u200f!", 0},
		{"direction mark in latin", "pass\u200eword", "password", 1},
		{"grapheme joiner between marks", "\u05d0\u05b8\u034f\u05b7", "\u05d0\u05b8\u034f\u05b7", 0},
		{"grapheme joiner in a word", "a\u034fb", "ab", 1},

		{"selector after a symbol", "☀\ufe0f ☀\ufe0e", "☀\ufe0f ☀\ufe0e", 0},
		{"ideographic variation", "葛\U000E0100城", "葛\U000E0100城", 0},
		{"selectors on their own", "\ufe00\ufe00", "", 2},
		{"mathematical variant", "∩\ufe00", "∩\ufe00", 0},
		{"selector after a letter", "a\ufe0fb\U000E0101c", "abc", 2},
		{"selector after a space", " \ufe0f x", "x", 1},
		{"bytes hidden behind an emoji", "😀\U000E0148\U000E0155\ufe01\ufe02", "😀", 4},
		{"selectors after a good one", "☀\ufe0f\ufe01\ufe02\ufe0f", "☀\ufe0f", 3},
		{"mongolian selector", "\u1820\u180b", "\u1820\u180b", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, removed := cleantext.Clean(tt.in)
			if got != tt.want || removed != tt.removed {
				t.Errorf("Clean(%+q) = %+q, %d, want %+q, %d", tt.in, got, removed, tt.want, tt.removed)
			}
		})
	}
}

// alphabet has what the rules are about, so that random texts meet them.
var alphabet = []rune("ab1# \t\n\r我密é☀😀👩🏽🏴❤می\u064eक््\u1820\u1100\u05d0\u05b8" +
	"\u200b\u200c\u200d\u200e\u200f\u061c\u202e\u2066\u2060\ufeff\u00ad\u034f\u180b\u180e\u115f\u1160\u3164" +
	"\ufe00\ufe0e\ufe0f\u2028\u0085\u0090\U000E0067\U000E0062\U000E0065\U000E006E\U000E007F\U000E0100")

func TestCleanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 40, -1).Draw(t, "in")
		checkClean(t, in)
	})
}

func FuzzClean(f *testing.F) {
	f.Add(string(alphabet))
	f.Add("🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F\xff\r\n")
	f.Fuzz(func(t *testing.T, in string) { checkClean(t, in) })
}

func checkClean(t interface{ Fatalf(string, ...any) }, in string) {
	once, _ := cleantext.Clean(in)
	twice, again := cleantext.Clean(once)
	if twice != once || again != 0 {
		t.Fatalf("not idempotent: %+q, then %+q, then %+q (%d)", in, once, twice, again)
	}
	if !utf8.ValidString(once) {
		t.Fatalf("%+q became the invalid %+q", in, once)
	}
	if strings.ContainsAny(once, "\r\u200b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u2028") {
		t.Fatalf("left a banned character in %+q", once)
	}
	if strings.TrimSpace(once) != once {
		t.Fatalf("outer white space left in %+q", once)
	}
}

func BenchmarkClean(b *testing.B) {
	for name, text := range map[string]string{
		"english": strings.Repeat("The quick brown fox jumps over the lazy dog. ", 178),
		"chinese": strings.Repeat("我喜欢在周末早上喝一杯茶，然后读书。", 445),
		"dirty":   strings.Repeat("a\u200bb☀\ufe0f می\u200cخ\r\n", 600),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				cleantext.Clean(text)
			}
		})
	}
}
