package mirror_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/internal/gloss"
	"reverie/internal/lexical"
	"reverie/store"
	"reverie/vector"
	"reverie/vector/chroma"
	"reverie/vector/chroma/chromatest"
	"reverie/vector/index"
	"reverie/vector/mirror"
)

// sentence makes one of many million facts.
func sentence(r *rand.Rand) string {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	who := pick("Ana", "my brother", "the neighbour", "Dr. Weiss", "our team", "Mei", "the new intern", "grandmother", "the landlord", "Tom")
	verb := pick("bought", "sold", "likes", "repaired", "lost", "dreams of", "talked about", "is allergic to", "paints", "wrote a note about", "moved away from", "asked for")
	what := pick("a red bicycle", "the old piano", "green tea", "a flat in Lisbon", "three cats", "the database cluster", "a recipe for lentil soup", "his passport", "the summer holidays", "a book on birds", "Chinese lessons", "the tax return", "a wooden boat", "strong coffee")
	when := pick("in March", "last year", "on Monday", "before the storm", "during the exam", "after work", "at the conference", "every winter")
	return fmt.Sprintf("%s %s %s %s, number %d", who, verb, what, when, r.IntN(5000))
}

// filled is a home with partitions of the built-in embedder's vectors, mirrored to a server.
type filled struct {
	db   *store.DB
	emb  *embedding.Builtin
	m    *mirror.Mirror
	took time.Duration // of the rebuild
	did  mirror.Rebuilt
}

func fill(b *testing.B, sizes map[string]int) *filled {
	b.Helper()
	ctx := b.Context()
	srv := chromatest.Start(b)
	f := &filled{emb: embedding.NewBuiltin(embedding.BuiltinOptions{})}
	var err error
	if f.db, err = store.Open(ctx, b.TempDir()+"/bench.db", store.Options{Synchronous: "normal"}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.db.Close() })
	s, err := vector.New(ctx, f.db, f.emb, vector.Options{Limit: 100_000})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for name, n := range sizes {
		for n > 0 {
			var drafts []vector.Draft
			for range min(n, 500) {
				drafts = append(drafts, vector.Draft{Content: sentence(r)})
			}
			if _, err := s.WriteAll(ctx, person(name), caller.ScopeUser, drafts); err != nil {
				b.Fatal(err)
			}
			n -= len(drafts)
		}
	}
	c, err := chroma.New(chroma.Options{URL: srv.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	f.m = mirror.New(f.db, c, mirror.Options{})
	b.Cleanup(func() { f.m.Close() })
	begun := time.Now()
	if f.did, err = f.m.Rebuild(ctx, mirror.RebuildOptions{}); err != nil {
		b.Fatal(err)
	}
	f.took = time.Since(begun)
	return f
}

// BenchmarkRebuild fills a server with 10,000 memories of one person, and of 200 people.
func BenchmarkRebuild(b *testing.B) {
	for _, people := range []int{1, 200} {
		b.Run(fmt.Sprint("people=", people), func(b *testing.B) {
			sizes := map[string]int{}
			for i := range people {
				sizes[fmt.Sprint("p", i)] = 10_000 / people
			}
			f := fill(b, sizes)
			for b.Loop() {
				begun := time.Now()
				if _, err := f.m.Rebuild(b.Context(), mirror.RebuildOptions{}); err != nil {
					b.Fatal(err)
				}
				f.took = time.Since(begun)
			}
			b.ReportMetric(float64(f.did.Memories)/f.took.Seconds(), "memories/s")
			begun := time.Now()
			v, err := f.m.Verify(b.Context(), mirror.VerifyOptions{})
			if err != nil || !v.Equal() {
				b.Fatalf("%+v, %v", v, err)
			}
			b.ReportMetric(float64(v.Records)/time.Since(begun).Seconds(), "verified/s")
		})
	}
}

// BenchmarkNearest compares a search on the server with the same in memory: how long it
// takes, and how many of the ten that are truly nearest it finds.
func BenchmarkNearest(b *testing.B) {
	sizes := map[string]int{"fifty": 50, "thousand": 1000, "many": 10_000}
	f := fill(b, sizes)
	for _, name := range []string{"fifty", "thousand", "many"} {
		docs, ids := load(b, f.db, part(name))
		local := index.New(lexical.New(gloss.Default()))
		for _, d := range docs {
			if err := local.Put(d); err != nil {
				b.Fatal(err)
			}
		}
		r := rand.New(rand.NewPCG(3, 4))
		queries := make([][]float32, 100)
		for i := range queries {
			var err error
			if queries[i], err = f.emb.EmbedQuery(b.Context(), sentence(r)); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("memories=%d/server", sizes[name]), func(b *testing.B) {
			i, found, times := 0, 0, []time.Duration{}
			for b.Loop() {
				q := queries[i%len(queries)]
				i++
				begun := time.Now()
				near, err := f.m.Nearest(b.Context(), part(name), q, 10)
				times = append(times, time.Since(begun))
				if err != nil {
					b.Fatal(err)
				}
				for _, id := range exact(docs, ids, q, 10) {
					if _, ok := near[id]; ok {
						found++
					}
				}
			}
			slices.Sort(times)
			b.ReportMetric(float64(found)/float64(10*i), "recall@10")
			b.ReportMetric(float64(times[0].Microseconds()), "min-µs")
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), "p95-µs")
		})
		b.Run(fmt.Sprintf("memories=%d/local", sizes[name]), func(b *testing.B) {
			i := 0
			for b.Loop() {
				local.Search(index.Query{Vector: queries[i%len(queries)], DenseTrusted: true}, nil, 10)
				i++
			}
		})
	}
}

// load reads a partition's vectors, and the memory of each.
func load(b *testing.B, db *store.DB, part string) (docs []index.Doc, ids []string) {
	b.Helper()
	err := db.Read(b.Context(), func(g *gorm.DB) error {
		rows, err := g.Raw("SELECT m.rid, m.id, m.content, v.emb FROM memories m JOIN vectors v ON v.rid = m.rid WHERE m.part = ? AND m.state = 'live'", part).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var d index.Doc
			var id string
			var emb []byte
			if err := rows.Scan(&d.RID, &id, &d.Text, &emb); err != nil {
				return err
			}
			if d.Vectors, err = index.DecodeVecs(emb); err != nil {
				return err
			}
			docs, ids = append(docs, d), append(ids, id)
		}
		return rows.Err()
	})
	if err != nil {
		b.Fatal(err)
	}
	return docs, ids
}

// exact ranks all memories by the cosine of their best passage.
func exact(docs []index.Doc, ids []string, q []float32, n int) []string {
	type scored struct {
		id  string
		cos float64
	}
	all := make([]scored, len(docs))
	for i, d := range docs {
		best := -2.0
		for _, v := range d.Vectors {
			var dot, norm float64
			for j, x := range v.Float() {
				dot += float64(x) * float64(q[j])
				norm += float64(x) * float64(x)
			}
			best = max(best, dot/math.Sqrt(norm))
		}
		all[i] = scored{ids[i], best}
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.cos, a.cos) })
	out := make([]string, min(n, len(all)))
	for i := range out {
		out[i] = all[i].id
	}
	return out
}
