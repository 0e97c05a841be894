package vector_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reverie/vector"
)

// benchWords make facts of ordinary length that share some words and not others.
var benchWords = strings.Fields("harbour canoe walnut grammar bicycle recipe train bonsai choir panel lighthouse bee wall chess piano pond hut coin film garden letter winter Tuesday cellar neighbour cousin museum lantern ferry orchard")

func benchFact(i int) string {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	words := make([]string, 10)
	for j := range words {
		words[j] = benchWords[r.IntN(len(benchWords))]
	}
	return fmt.Sprintf("note %d: %s", i, strings.Join(words, " "))
}

func filled(b *testing.B, n int) *home {
	b.Helper()
	h := newHome(b, vector.Options{Limit: 100_000})
	for i := 0; i < n; i += 500 {
		batch := make([]vector.Draft, min(500, n-i))
		for j := range batch {
			batch[j].Content = benchFact(i + j)
		}
		if _, err := h.WriteAll(b.Context(), ann, "", batch); err != nil {
			b.Fatal(err)
		}
	}
	return h
}

// What a search costs beside the embedder: the budget is 1 ms for 50 memories and 6 ms
// for 10,000, the protocol included.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{50, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := filled(b, n)
			i := 0
			for b.Loop() {
				i++
				if _, err := h.Search(b.Context(), ann, vector.Query{Text: benchFact(i * 7)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a write costs beside the embedder, commit to disk included: the budget is 2 ms.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{50, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := filled(b, n)
			i := n
			for b.Loop() {
				i++
				if _, err := h.Write(b.Context(), ann, vector.Draft{Content: benchFact(i)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A search after a write by another process fetches what changed, not everything.
func BenchmarkSearchAfterWrite(b *testing.B) {
	h := filled(b, 10_000)
	other := openHome(b, h.db.Path(), vector.Options{Limit: 100_000})
	i := 10_000
	for b.Loop() {
		i++
		b.StopTimer()
		if _, err := other.Write(b.Context(), ann, vector.Draft{Content: benchFact(i)}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := h.Search(b.Context(), ann, vector.Query{Text: "harbour canoe"}); err != nil {
			b.Fatal(err)
		}
	}
}
