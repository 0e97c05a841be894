package index_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"reverie/internal/gloss"
	"reverie/internal/lexical"
	"reverie/vector/index"
)

const benchDim = 512

// corpus makes n memories of about 25 words each. Words are made of syllables
// and drawn so that few are common and most are rare, as in a language.
func corpus(n int) []index.Doc {
	rng := rand.New(rand.NewPCG(7, 11))
	syllables := strings.Fields("ba co di fu ga he ki lo mu na po ra se ti vo wu xe ya zo tan ber mit lon ser pal kin dor ves")
	word := func(i int) string {
		var b strings.Builder
		for range 2 + i%3 {
			b.WriteString(syllables[i%len(syllables)])
			i = i/len(syllables) + 7*i%13
		}
		return b.String()
	}
	docs := make([]index.Doc, n)
	for i := range docs {
		words := make([]string, 15+rng.IntN(20))
		for j := range words {
			x := rng.Float64()
			words[j] = word(int(40000 * x * x * x * x))
		}
		v, err := index.Quantize(randomVector(rng))
		if err != nil {
			panic(err)
		}
		docs[i] = index.Doc{
			Meta: index.Meta{
				RID: int64(i + 1), Created: int64(i) * 1e6, Conversation: fmt.Sprint("c", i/40),
				Tags: []string{"bench"}, Importance: uint8(i % 3),
			},
			Text:    strings.Join(words, " "),
			Vectors: []index.Vec{v},
		}
	}
	return docs
}

func randomVector(rng *rand.Rand) []float32 {
	v := make([]float32, benchDim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func build(tb testing.TB, docs []index.Doc) *index.Partition {
	p := index.New(lexical.New(gloss.Default()))
	for _, d := range docs {
		if err := p.Put(d); err != nil {
			tb.Fatal(err)
		}
	}
	return p
}

var sizes = []int{50, 1000, 10000}

func BenchmarkSearch(b *testing.B) {
	for _, n := range sizes {
		docs := corpus(n)
		p := build(b, docs)
		rng := rand.New(rand.NewPCG(1, 2))
		queries := make([]index.Query, 64)
		for i := range queries {
			words := strings.Fields(docs[rng.IntN(n)].Text)
			queries[i] = index.Query{Text: strings.Join(words[:12], " "), Vector: randomVector(rng), DenseTrusted: true}
		}
		for _, mode := range []string{"hybrid", "words", "filtered"} {
			b.Run(fmt.Sprintf("%s/%d", mode, n), func(b *testing.B) {
				var keep func(*index.Meta) bool
				if mode == "filtered" {
					keep = func(m *index.Meta) bool { return m.Importance == 1 }
				}
				i := 0
				for b.Loop() {
					q := queries[i%len(queries)]
					i++
					if mode == "words" {
						q.Vector = nil
					}
					p.Search(q, keep, 10)
				}
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		docs := corpus(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				build(b, docs)
			}
		})
	}
}

// BenchmarkPut replaces memories of a full partition.
func BenchmarkPut(b *testing.B) {
	docs := corpus(10000)
	p := build(b, docs)
	other := corpus(10500)[10000:]
	i := 0
	for b.Loop() {
		d := other[i%len(other)]
		d.RID = int64(1 + i*7919%10000)
		i++
		if err := p.Put(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRemove(b *testing.B) {
	docs := corpus(10000)
	p := build(b, docs)
	i := 0
	for b.Loop() {
		d := docs[i*7919%len(docs)]
		i++
		p.Remove(d.RID)
		b.StopTimer()
		if err := p.Put(d); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkSimilar(b *testing.B) {
	docs := corpus(10000)
	p := build(b, docs)
	i := 0
	for b.Loop() {
		d := docs[i*7919%len(docs)]
		i++
		p.Similar(d.Vectors, d.Text, nil, 5)
	}
}

// BenchmarkMemory reports what a memory takes and what Bytes makes of it.
func BenchmarkMemory(b *testing.B) {
	for _, n := range sizes {
		docs := corpus(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const copies = 10
			var before, after runtime.MemStats
			ps := make([]*index.Partition, 0, copies)
			for b.Loop() {
				clear(ps)
				ps = ps[:0]
				runtime.GC()
				runtime.ReadMemStats(&before)
				for range copies {
					ps = append(ps, build(b, docs))
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(copies*n), "heap-B/doc")
			b.ReportMetric(float64(ps[0].Bytes())/float64(n), "counted-B/doc")
		})
	}
}
