package embedding

import (
	"slices"
	"strings"
	"testing"

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
		{"words repeated inside a sentence", "one two three four five six seven eight nine ten eleven twelve", 14_00,
			[]string{"one two three four five six seven eight nine ten eleven", "ten eleven twelve"}},
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

// Every part is of bounded size and does not cut a character, and together they
// are the whole text, with not more repeated than allowed.
func TestDivideText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := readable(drawText(t))
		most := rapid.IntRange(leastPassage, fullCost).Draw(t, "most")
		borders := map[int]bool{0: true}
		for _, c := range clusters(text) {
			borders[c.end] = true
		}
		end := 0
		for _, s := range divideText(text, most) {
			switch part := text[s.from:s.to]; {
			case cost(part) > most:
				t.Fatalf("%v costs %d of %d", s, cost(part), most)
			case !borders[s.from] || !borders[s.to]:
				t.Fatalf("%v cuts a character", s)
			case s.from > end || s.to <= end || cost(text[s.from:end]) > overlapCost:
				t.Fatalf("%v after %d", s, end)
			}
			end = s.to
		}
		if end != len(text) {
			t.Fatalf("only %d of %d bytes", end, len(text))
		}
		if parts := passages(text, most); slices.ContainsFunc(parts, func(s string) bool { return !hasReadable(s) || cost(s) > most }) {
			t.Fatalf("passages %q", parts)
		}
	})
}

// A cluster is what a person takes for a character, however many runes it has.
func TestClusters(t *testing.T) {
	want := []string{"e\u0301\u0323", "👨\u200d👩\u200d👧", "🇩🇪", "天", "हि"}
	if diff := cmp.Diff(want, clusterTexts(strings.Join(want, ""))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// 24 marks cost as much as the smallest passage.
	if n := len(clusterTexts("e" + strings.Repeat("\u0301", 1000))); n != 42 {
		t.Errorf("an endless character is cut into %d", n)
	}
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
