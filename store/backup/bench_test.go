package backup_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/store/backup"
	"reverie/vector/index"
)

// benchEnv is how many memories TestMeasure makes.
const benchEnv = "REVERIE_BACKUP_MEASURE"

// TestMeasure prints how long a backup of that many memories takes, and how much memory,
// each with a vector of 512 numbers and a journal entry, in partitions of 50.
func TestMeasure(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(benchEnv))
	if err != nil {
		n = 300 // shows that the measurement works; figures need more
	}
	debug.SetGCPercent(50)
	h := newHome(t)
	began := time.Now()
	bulk(t, h, n)
	t.Logf("made %d memories in %v", n, time.Since(began).Round(time.Millisecond))
	measure := func(what string, fn func() error) {
		t.Helper()
		runtime.GC()
		var peak atomic.Uint64
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc))
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}()
		began := time.Now()
		err := fn()
		took := time.Since(began)
		close(stop)
		<-done
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-24s %8v  peak heap %d MB", what, took.Round(time.Millisecond), peak.Load()>>20)
	}
	var made backup.Info
	measure("create", func() (err error) {
		made, err = backup.Create(t.Context(), h.db, h.dir, backup.Options{})
		return err
	})
	st, _ := os.Stat(h.db.Path())
	t.Logf("file %.1f MB of a database of %.1f MB", float64(made.Bytes)/1e6, float64(st.Size())/1e6)
	measure("verify", func() error { _, err := backup.Verify(t.Context(), made.Path, nil); return err })
	measure("plan, all there", func() error {
		_, err := backup.Plan(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{})
		return err
	})
	empty := newHome(t)
	measure("plan, nothing there", func() error {
		_, err := backup.Plan(t.Context(), empty.db, empty.dir, made.Path, backup.RestoreOptions{})
		return err
	})
	measure("restore, nothing there", func() error {
		_, err := backup.Restore(t.Context(), empty.db, empty.dir, made.Path, backup.RestoreOptions{})
		return err
	})
	measure("restore, all there", func() error {
		_, err := backup.Restore(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{})
		return err
	})
}

// bulk stores memories as the program would, without its checks.
func bulk(t *testing.T, h *home, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("tea coffee cat dog Berlin Paris likes hates works lives with her his sister brother at the old new red 小米 猫 北京 喜欢")
	err := h.db.Maintain(context.Background(), func(g *gorm.DB) error {
		exec := func(q string, args ...any) error { return g.Exec(q, args...).Error }
		if err := exec("INSERT INTO spaces (fingerprint, protocol, model, dim, state, created_at) VALUES ('f', 'p', 'm', 512, 'active', 1)"); err != nil {
			return err
		}
		if err := exec("UPDATE serving SET space = 1"); err != nil {
			return err
		}
		for i := range n {
			part := fmt.Sprintf("Local_Private_u%d", i/50)
			if i%50 == 0 {
				if err := exec("INSERT INTO partitions (key, version, live) VALUES (?, 50, ?)", part, min(50, n-i)); err != nil {
					return err
				}
			}
			var b strings.Builder
			for b.Len() < 100 {
				b.WriteString(words[r.IntN(len(words))] + " ")
			}
			content := b.String() + strconv.Itoa(i)
			sum := sha256.Sum256([]byte(content))
			id := fmt.Sprintf("%032x", sum[:16])
			if err := exec(`INSERT INTO memories (id, part, rev, state, scope, content, hash, tags, importance, said_by, source, created_at, updated_at)
				VALUES (?, ?, ?, 'live', 'user', ?, ?, '["tea","likes"]', 'medium', 'u', 'assistant', ?, ?)`, id, part, i%50+1, content, sum[:16], 1_700_000_000_000_000+i, 1_700_000_000_000_000+i); err != nil {
				return err
			}
			v := make([]float32, 512)
			for j := range v {
				v[j] = float32(r.NormFloat64())
			}
			q, err := index.Quantize(unit(v))
			if err != nil {
				return err
			}
			emb, err := index.EncodeVecs([]index.Vec{q})
			if err != nil {
				return err
			}
			if err := exec("INSERT INTO vectors (rid, space, emb) VALUES (?, 1, ?)", i+1, emb); err != nil {
				return err
			}
			after := fmt.Sprintf(`{"id":%q,"partition":%q,"scope":"user","content":%q,"tags":["tea","likes"],"importance":"medium","source":"assistant","state":"live","seen":1}`, id, part, content)
			if err := exec(`INSERT INTO journal (part, version, at, source, kind, object, action, after) VALUES (?, ?, ?, 'tool', 'memory', ?, 'create', ?)`, part, i%50+1, 1_700_000_000_000_000+i, id, after); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func unit(v []float32) []float32 {
	var sum float32
	for _, x := range v {
		sum += x * x
	}
	root := sqrt(sum)
	for i := range v {
		v[i] /= root
	}
	return v
}
