package embedding_test

import (
	"fmt"
	"testing"

	"reverie/embedding"
	"reverie/embedding/embedtest"
)

// BenchmarkRemoteQuery is a query through a server on the same machine, whose own work for a
// vector of 768 numbers is in it unless the query is kept.
func BenchmarkRemoteQuery(b *testing.B) {
	for name, cache := range map[string]int{"new": -1, "cached": 0} {
		for protocol := range protocols() {
			b.Run(protocol+"/"+name, func(b *testing.B) {
				s := embedtest.Start(b, embedtest.Model{Name: "m", Dim: 768})
				r := connect(b, protocol, s, embedding.RemoteOptions{QueryCache: cache})
				probe(b, r)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := r.EmbedQuery(b.Context(), "Where did my brother and his wife go last summer?"); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRemoteDocuments is a batch of texts that the server has seen before, so
// that nearly all of it is HTTP, JSON and the check of every vector.
func BenchmarkRemoteDocuments(b *testing.B) {
	s := embedtest.Start(b, embedtest.Model{Name: "m", Dim: 768})
	r := connect(b, "ollama-embed", s, embedding.RemoteOptions{})
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = fmt.Sprintf("A short memory about number %d and the garden.", i)
	}
	for b.Loop() {
		if _, err := r.EmbedDocuments(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(texts)), "ms/text")
}
