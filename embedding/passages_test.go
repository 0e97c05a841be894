package embedding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Pieces 0 to 3 of a made-up vocabulary: inside a word, a word's beginning, the
// end of a sentence inside a word, and as a word.
var testFlags = string([]byte{0, flagWordStart, flagSentenceEnd, flagWordStart | flagSentenceEnd})

func TestDivideClosesAtSentences(t *testing.T) {
	ids := make([]uint16, 110) // words of one piece; sentences end at 37, 50 and 109
	for i := range ids {
		ids[i] = 1
	}
	ids[36], ids[49], ids[108] = 3, 3, 3
	if diff := cmp.Diff([]span{{0, 50}, {50, 110}}, divide(ids, testFlags), cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDivideOverlapsInsideSentences(t *testing.T) {
	ids := make([]uint16, 110)
	for i := range ids {
		ids[i] = uint16(1 - i%2) // words of two pieces
	}
	got := divide(ids, testFlags)
	if len(got) != 2 || got[1].from != got[0].to-overlap || got[0].to%2 != 0 {
		t.Errorf("divide = %v", got)
	}
}

func TestDivide(t *testing.T) {
	if got := divide(nil, testFlags); got != nil {
		t.Errorf("divide of nothing = %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 3), func(i int) uint16 { return uint16(i) }), 1, 900).Draw(t, "ids")
		spans := divide(ids, testFlags)
		end := 0
		for i, s := range spans {
			switch {
			case s.to-s.from < 1 || s.to-s.from > wholeDocument:
				t.Fatalf("passage %d is %v", i, s)
			case s.from > end || s.to <= end || end-s.from > overlap:
				t.Fatalf("passage %d is %v after %d", i, s, end)
			}
			end = s.to
		}
		if spans[0].from != 0 || end != len(ids) {
			t.Fatalf("%v does not cover %d pieces", spans, len(ids))
		}
		if len(ids) <= wholeDocument && len(spans) != 1 {
			t.Fatalf("%d passages for %d pieces", len(spans), len(ids))
		}
	})
}
