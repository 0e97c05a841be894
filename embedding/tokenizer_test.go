package embedding

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// texts maps pieces to their text, read off the trie.
func (t *tokenizer) texts() map[uint16]string {
	out := map[uint16]string{}
	var walk func(node int, prefix string)
	walk = func(node int, prefix string) {
		if id := t.ends(node); id != 0 {
			out[id] = prefix
		}
		for i := t.children(node); i < t.children(node+1); i++ {
			walk(i, prefix+string([]byte{t.label[i]}))
		}
	}
	walk(0, "")
	return out
}

func TestTokenize(t *testing.T) {
	tokens := &testModel(t).tokens
	texts := tokens.texts()
	if len(texts) < 7900 {
		t.Fatalf("%d pieces", len(texts))
	}
	tests := []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"space", " \t\n\u00a0\u3000\u200b", nil},
		{"words", "good  world\n", []string{"▁good", "▁world"}},
		{"punctuation", "Yes.", []string{"▁Yes", "."}},
		{"compatibility characters", "ｇｏｏｄ　①", []string{"▁good", "▁1"}},
		{"unknown script is one piece a word", "日本語 東京", []string{"▁", "?", "▁", "?"}},
		{"unknown inside a word", "ok日本ok", []string{"▁ok", "?", "o", "k"}},
		{"invalid bytes", "\xff\xfe a", []string{"▁", "?", "▁a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, id := range tokens.tokenize(nil, tt.in, maxInt) {
				text, ok := texts[id]
				if !ok {
					text = "?"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	tokens := &testModel(t).tokens
	for id, text := range tokens.texts() {
		if got := tokens.lookup(text); got != id {
			t.Fatalf("lookup(%q) = %d, want %d", text, got, id)
		}
	}
	for _, s := range []string{"", "▁xqzzy", "\xff", "▁goodgood"} {
		if got := tokens.lookup(s); got != unknown {
			t.Errorf("lookup(%q) = %d, want unknown", s, got)
		}
	}
}

// The pieces of a word are the best: cutting it in two anywhere and each part
// its best way gives no higher score. And they spell the word.
func TestTokenizeIsBest(t *testing.T) {
	tokens := &testModel(t).tokens
	texts := tokens.texts()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z.,'-]{1,30}`).Draw(t, "word")
		var spelled strings.Builder
		var score float64
		for _, id := range tokens.tokenize(nil, word, maxInt) {
			spelled.WriteString(texts[id])
			score += float64(tokens.score[id])
		}
		if spelled.String() != wordStart+word {
			t.Fatalf("%q becomes %q", word, spelled.String())
		}
		if best := bestScore(tokens, wordStart+word); math.Abs(best-score) > 1e-6 {
			t.Fatalf("%q scores %v, best is %v", word, score, best)
		}
	})
}

// bestScore is the plain recursion over all first pieces.
func bestScore(tokens *tokenizer, s string) float64 {
	memo := map[string]float64{"": 0}
	var best func(s string) float64
	best = func(s string) float64 {
		if v, ok := memo[s]; ok {
			return v
		}
		top := math.Inf(-1)
		for i := 1; i <= len(s); i++ {
			if id := tokens.lookup(s[:i]); id != unknown {
				top = max(top, float64(tokens.score[id])+best(s[i:]))
			}
		}
		memo[s] = top
		return top
	}
	return best(s)
}

func TestTokenizeAnything(t *testing.T) {
	tokens := &testModel(t).tokens
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		all := tokens.tokenize(nil, s, maxInt)
		some := tokens.tokenize(nil, s, limit)
		if len(some) < min(limit, len(all)) {
			t.Fatalf("%d pieces, %d with limit %d", len(all), len(some), limit)
		}
		if diff := cmp.Diff(all[:len(some)], some); diff != "" {
			t.Fatal(diff)
		}
		for _, id := range all {
			if int(id) >= len(tokens.score) {
				t.Fatalf("piece %d", id)
			}
		}
	})
}

func TestCutAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		n := rapid.IntRange(4, 40).Draw(t, "n")
		got := cutAt(s, n)
		if got > len(s) || got > n || got < min(n-3, len(s)) || !utf8.ValidString(s[:got]) {
			t.Fatalf("cutAt(%q, %d) = %d", s, n, got)
		}
	})
	if got := cutAt(strings.Repeat("\x80", 10), 5); got != 5 {
		t.Errorf("cutAt of continuation bytes = %d, want 5", got)
	}
}
