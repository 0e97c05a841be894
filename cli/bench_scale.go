package cli

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/store"
	"reverie/vector"
)

// benchScaleCmd fills a store with very many memories and searches it. Vectors are made
// up, so that the filling takes minutes and not hours; what is measured is everything
// but the embedder, as with a cached query.
type benchScaleCmd struct {
	Memories   int    `help:"Memories in all." default:"1000000"`
	Partitions int    `help:"Partitions that share them." default:"20000"`
	CacheMB    int64  `help:"Budget of the in-memory indexes in MB." default:"256"`
	Queries    int    `help:"Searches to measure." default:"20000"`
	Dir        string `help:"Keep the store in this folder, and use it if it is there already." placeholder:"DIR"`
}

type scaleReport struct {
	Memories   int       `json:"memories"`
	Partitions int       `json:"partitions"`
	FillS      float64   `json:"fill_seconds,omitempty"`
	FileMB     float64   `json:"file_mb"`
	CacheMB    int64     `json:"cache_mb"`
	Search     quantiles `json:"search"`
	RSSMB      float64   `json:"rss_mb"`
}

// Run fills and measures.
func (b *benchScaleCmd) Run(ctx context.Context, e *env) error {
	dir := b.Dir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "reverie-scale-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	if b.Partitions < 1 || b.Memories < b.Partitions {
		return usage(errors.New("bench scale: give at least one partition and one memory a partition"))
	}
	path := filepath.Join(dir, databaseName)
	_, err := os.Stat(path)
	r := scaleReport{Memories: b.Memories, Partitions: b.Partitions, CacheMB: b.CacheMB}
	if err != nil {
		began := time.Now()
		if err := b.fill(ctx, e, path); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		r.FillS = time.Since(began).Seconds()
	}
	if r.Search, err = b.search(ctx, path); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	r.RSSMB = residentMB(os.Getpid())
	if fi, err := os.Stat(path); err == nil {
		r.FileMB = float64(fi.Size()) / 1e6
	}
	if e.json {
		return e.printJSON(r)
	}
	e.printf("%d memories in %d partitions, %d MB of cache, partitions drawn by Zipf's law\n", r.Memories, r.Partitions, r.CacheMB)
	if r.FillS > 0 {
		e.printf("  filled in %.0f s (%.0f memories/s)\n", r.FillS, float64(r.Memories)/r.FillS)
	}
	e.printf("  database file %.0f MB, RSS %.0f MB\n", r.FileMB, r.RSSMB)
	e.printf("  search, vector at hand  %s\n", r.Search)
	return nil
}

func (b *benchScaleCmd) open(ctx context.Context, path, synchronous string) (*store.DB, *vector.Service, error) {
	db, err := store.Open(ctx, path, store.Options{Synchronous: synchronous})
	if err != nil {
		return nil, nil, err
	}
	s, err := vector.New(ctx, db, madeUp{}, vector.Options{Limit: 100_000, CacheBytes: b.CacheMB << 20, Source: "bench"})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, s, nil
}

func (b *benchScaleCmd) fill(ctx context.Context, e *env, path string) error {
	db, s, err := b.open(ctx, path, "normal")
	if err != nil {
		return err
	}
	bar := e.progress(b.Memories, "storing made-up memories")
	each, rest := b.Memories/b.Partitions, b.Memories%b.Partitions
	next := 0
	for p := 0; p < b.Partitions && err == nil; p++ {
		n := each
		if p < rest {
			n++
		}
		batch := make([]vector.Draft, n)
		for i := range batch {
			batch[i].Content = fact(next)
			next++
		}
		_, err = s.WriteAll(ctx, partitionOwner(p), "", batch)
		bar.Add(n)
	}
	bar.Finish()
	return errors.Join(err, s.Close(), db.Close())
}

func partitionOwner(p int) caller.Caller {
	return caller.Caller{User: fmt.Sprintf("user%d", p), Platform: caller.DefaultPlatform}
}

func (b *benchScaleCmd) search(ctx context.Context, path string) (quantiles, error) {
	db, s, err := b.open(ctx, path, "full")
	if err != nil {
		return quantiles{}, err
	}
	defer db.Close()
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	// Zipf with exponent 1.1: a few partitions are busy, most are rarely used.
	z := rand.NewZipf(r, 1.1, 1, uint64(b.Partitions-1))
	var took spread
	for i := range b.Queries {
		c := partitionOwner(int(z.Uint64()))
		began := time.Now()
		if _, err := s.Search(ctx, c, vector.Query{Text: question(i)}); err != nil {
			return quantiles{}, err
		}
		took = append(took, time.Since(began))
	}
	return took.quantiles(), nil
}

// madeUp is an embedder that costs next to nothing: each word has a random direction.
type madeUp struct{}

const madeUpDim = 512

var madeUpSeed = maphash.MakeSeed()

func (madeUp) Space() embedding.Space {
	return embedding.Space{Protocol: "bench", Model: "made-up", Dim: madeUpDim, Version: "1"}
}

func (madeUp) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, madeUpDim)
	for w := range strings.FieldsSeq(text) {
		h := maphash.String(madeUpSeed, w)
		for range 16 {
			h = h*6364136223846793005 + 1442695040888963407
			v[h>>55] += 1 - float32(h>>54&1)*2
		}
	}
	var sum float64
	for _, x := range v {
		sum += float64(x * x)
	}
	if sum == 0 {
		return nil, nil
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v, nil
}

func (m madeUp) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Passages, error) {
	out := make([]embedding.Passages, len(texts))
	for i, t := range texts {
		if v, _ := m.EmbedQuery(ctx, t); v != nil {
			out[i] = embedding.Passages{v}
		}
	}
	return out, nil
}
