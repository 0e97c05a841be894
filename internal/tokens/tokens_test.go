package tokens_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"reverie/internal/tokens"
)

func TestEstimate(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"one letter rounds up", "a", 1},
		{"hi", "hi", 1},
		{"ten letters are exactly three", "abcdefghij", 3},
		{"five ideographs are exactly three", "我喜欢喝茶", 3},
		{"one ideograph", "茶", 1},
		{"mixed", "我爱Go", 2},
		{"kana and hangul count as other", "しりとり한국", 2},
		{"chinese punctuation counts as other", "。，！？", 2},
		{"extension A", "㐀䶿", 2},
		{"just outside the ranges", "\u33ff\u4dc0\u4dff\ua000", 2},
		{"first and last of the main block", "\u4e00\u9fff", 2},
		{"invalid bytes count one each", "\xff\xfe\xfd\xfc", 2},
		{"no floating point surprise", strings.Repeat("茶", 1005) + strings.Repeat("a", 10), 606},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tokens.Estimate(tt.text); got != tt.want {
				t.Errorf("Estimate(%q) = %d, want %d", tt.text, got, tt.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		budget     int
		want       string
		cut        bool
	}{
		{"fits", "hello", 2, "hello", false},
		{"letters", "abcdefghij", 2, "abcdef", true},
		{"ideographs", "我喜欢喝茶", 2, "我喜欢", true},
		{"zero", "abc", 0, "", true},
		{"negative", "abc", -5, "", true},
		{"empty needs nothing", "", 0, "", false},
		{"combining mark stays with its letter", "abe\u0301xyz", 1, "ab", true},
		{"emoji family is not split", "a👨‍👩‍👧bc", 1, "a", true},
		{"skin tone", "ab👍🏽cd", 1, "ab", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, cut := tokens.Cut(tt.text, tt.budget)
			if got != tt.want || cut != tt.cut {
				t.Errorf("Cut(%q, %d) = %q, %v, want %q, %v", tt.text, tt.budget, got, cut, tt.want, tt.cut)
			}
		})
	}
}

func TestCutProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 200, -1).Draw(t, "text")
		budget := rapid.IntRange(-1, 80).Draw(t, "budget")
		head, cut := tokens.Cut(text, budget)
		switch {
		case !strings.HasPrefix(text, head):
			t.Fatalf("%q is not a beginning of %q", head, text)
		case cut != (head != text):
			t.Fatalf("cut = %v for %q of %q", cut, head, text)
		case tokens.Estimate(head) > max(budget, 0):
			t.Fatalf("%q is estimated at %d, budget %d", head, tokens.Estimate(head), budget)
		case utf8.ValidString(text) && !utf8.ValidString(head):
			t.Fatalf("cut inside a code point: %q", head)
		case text != "" && tokens.Fits(text, budget) == cut:
			t.Fatalf("Fits and Cut disagree on %q, %d", text, budget)
		}
	})
}

func BenchmarkEstimate(b *testing.B) {
	for name, text := range map[string]string{
		"english": strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2000),
		"chinese": strings.Repeat("我喜欢在周末早上喝一杯茶，然后读书。", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tokens.Estimate(text)
			}
		})
	}
}
