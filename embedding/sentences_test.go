package embedding

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReadable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a b", "a b"},
		{"blanks", "  a \t\u00a0 b\u3000\n\n c \r\n", "a b\nc"},
		{"control characters", "a\x00\x1bb", "a b"},
		{"invalid bytes", "a\xff\xfeb\xc3", "a b"},
		{"nothing", " ?! --- … ", ""},
		{"replacement character", "\ufffd", ""},
		{"pictogram", "😀", "😀"},
		{"combining", "e\u0301", "e\u0301"},
	}
	for _, tt := range tests {
		if got := readable(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPassages(t *testing.T) {
	tests := []struct {
		name, in string
		most     int
		want     []string
	}{
		{"short", "One sentence.", fullCost, []string{"One sentence."}},
		{"nothing", "...", fullCost, nil},
		{"sentences", "One two three four. Five six seven eight. Nine ten eleven twelve.", 13_00,
			[]string{"One two three four. Five six seven eight.", "Nine ten eleven twelve."}},
		{"Chinese", "今天天气很好。我们去公园玩。晚上一起吃饭。", 15_00, []string{"今天天气很好。我们去公园玩。", "晚上一起吃饭。"}},
		{"lines", "buy milk and bread today\ncall the doctor about it", 10_00, []string{"buy milk and bread today", "call the doctor about it"}},
		{"one word", strings.Repeat("x", 100), 14_00, []string{strings.Repeat("x", 50), strings.Repeat("x", 50)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, passages(tt.in, tt.most)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// texts of all kinds, with combining sequences and pictograms of several runes.
func drawText(t *rapid.T) string {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
		"word", "a", "Longerword", ".", "! ", "? ", " ", "\n", ", ", "今天", "。", "e\u0301\u0323", "👨‍👩‍👧‍👦", "🇩🇪", "123", "ß", "한국", "ไทย", "हिन्दी", "(", ")", "مرحبا", "x\u0301",
	}), 1, 300).Draw(t, "pieces")
	return strings.Join(pieces, "")
}

// Every passage is of bounded size and a part of the text that does not cut a
// character, and every word of the text is in one.
func TestPassagesCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := readable(drawText(t))
		if text == "" {
			return
		}
		most := rapid.IntRange(leastPassage, fullCost).Draw(t, "most")
		whole := map[string]bool{}
		for _, c := range clusterTexts(text) {
			whole[c] = true
		}
		covered := 0
		for _, p := range passages(text, most) {
			if got := cost(p); got > most {
				t.Fatalf("a passage costs %d of %d", got, most)
			}
			at := strings.Index(text[max(0, covered-len(p)-1):], p)
			if at < 0 || !utf8.ValidString(p) {
				t.Fatalf("passage %q is not in the text", p)
			}
			at += max(0, covered-len(p)-1)
			if at > covered && hasReadable(text[covered:at]) {
				t.Fatalf("%q is in no passage", text[covered:at])
			}
			covered = max(covered, at+len(p))
			for _, c := range clusterTexts(p) {
				if !whole[c] {
					t.Fatalf("character %q was cut", c)
				}
			}
		}
		if hasReadable(text[covered:]) {
			t.Fatalf("the end %q is in no passage", text[covered:])
		}
	})
}

func clusterTexts(text string) (out []string) {
	from := 0
	for _, c := range clusters(text) {
		out = append(out, text[from:c.end])
		from = c.end
	}
	return out
}

func TestHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := readable(drawText(t))
		if text == "" {
			return
		}
		parts := halves(text)
		if len(parts) == 0 && cost(text) > 2*leastPassage && len(clusters(text)) > 1 && hasReadable(text) {
			t.Fatalf("%q is not divided", text)
		}
		for _, p := range parts {
			if len(p) >= len(text) || !hasReadable(p) || !strings.Contains(text, p) {
				t.Fatalf("%q of %q", p, text)
			}
		}
	})
}

// Texts made to be slow are not: if time grew with the square of their length,
// this would take minutes.
func TestPassagesOfHostileTexts(t *testing.T) {
	for name, unit := range map[string]string{
		"marks": "e" + strings.Repeat("\u0301", 50_000), "brackets": "." + strings.Repeat(")", 50_000), "points": strings.Repeat(".", 50_000) + "1",
		"joiners": strings.Repeat("👨\u200d", 30_000), "numbers": "a. " + strings.Repeat("1 ", 40_000), "flags": strings.Repeat("🇩", 40_000),
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range passages(readable(unit+unit), 100_00) {
				if cost(p) > 100_00 {
					t.Errorf("a passage costs %d", cost(p))
				}
			}
		})
	}
}
