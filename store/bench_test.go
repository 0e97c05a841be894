package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/storetest"
)

// oneRow is the smallest change that a domain package makes: one row, one entry.
func oneRow(tx *store.Tx, i int) error {
	err := tx.Exec(`INSERT INTO memories (id, part, rev, state, scope, content, hash, importance, source, created_at, updated_at)
		VALUES (?, ?, ?, 'live', 'user', ?, ?, 'medium', 'tool', ?, ?)`,
		fmt.Sprintf("%032x", i), tx.Part, tx.Version, fmt.Sprintf("fact number %d, of the length that facts have: about eighty characters in all", i),
		fmt.Appendf(nil, "%016x", i), tx.Now.UnixMicro(), tx.Now.UnixMicro()).Error
	if err != nil {
		return err
	}
	return tx.Exec("UPDATE partitions SET live = live + 1 WHERE key = ?", tx.Part).Error
}

// servers are the engines of a benchmark: with the settings of a home, and "normal"; and
// PostgreSQL as it is set up by default, which waits for the disk, and without that.
func servers(b *testing.B, run func(b *testing.B, db *store.DB)) {
	for _, sync := range []string{"full", "normal"} {
		b.Run("sqlite/"+sync, func(b *testing.B) {
			run(b, open(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Synchronous: sync}))
		})
	}
	b.Run("postgres/durable", func(b *testing.B) { run(b, storetest.Durable(b).Open(b)) })
	b.Run("postgres/fsync=off", func(b *testing.B) { run(b, storetest.Postgres(b).Open(b)) })
}

func BenchmarkWrite(b *testing.B) {
	servers(b, func(b *testing.B, db *store.DB) {
		i := 0
		for b.Loop() {
			i++
			if err := db.Write(b.Context(), "p", func(tx *store.Tx) error { return oneRow(tx, i) }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWriteParallel is writers of different partitions.
func BenchmarkWriteParallel(b *testing.B) {
	servers(b, func(b *testing.B, db *store.DB) {
		var next atomic.Int64
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			part := fmt.Sprint("p", next.Add(1))
			for pb.Next() {
				i := int(next.Add(1))
				if err := db.Write(b.Context(), part, func(tx *store.Tx) error { return oneRow(tx, i) }); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkWriteEmpty is what a transaction costs without anything in it.
func BenchmarkWriteEmpty(b *testing.B) {
	servers(b, func(b *testing.B, db *store.DB) {
		for b.Loop() {
			if err := db.Write(b.Context(), "p", func(*store.Tx) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkVersion(b *testing.B) {
	servers(b, func(b *testing.B, db *store.DB) {
		write(b, db, "p", 1)
		b.Run("serial", func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Version(b.Context(), "p"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := db.Version(b.Context(), "p"); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	})
}

func BenchmarkMark(b *testing.B) {
	servers(b, func(b *testing.B, db *store.DB) {
		write(b, db, "p", 1)
		for b.Loop() {
			if _, err := db.Mark(b.Context(), "p"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	servers(b, func(b *testing.B, db *store.DB) {
		write(b, db, "p", 1)
		for b.Loop() {
			err := db.Read(b.Context(), func(g *gorm.DB) error {
				var v int64
				return g.Raw("SELECT version FROM partitions WHERE key = ?", "p").Row().Scan(&v)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen opens an existing file; the size should not matter.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "b.db")
			fill(b, path, n)
			if st, err := os.Stat(path); err == nil {
				b.ReportMetric(float64(st.Size())/1e6, "MB")
			}
			for b.Loop() {
				db, err := store.Open(b.Context(), path, store.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := db.Version(b.Context(), "p0"); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				db.Close()
				b.StartTimer()
			}
		})
	}
}

// fill makes a database of n memories with vectors, 50 a partition, by plain SQL.
func fill(tb testing.TB, path string, n int) {
	tb.Helper()
	open(tb, path, store.Options{}).Close()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	defer raw.Close()
	_, err = raw.Exec(`
		WITH RECURSIVE c(i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM c WHERE i < ?1)
		INSERT INTO memories (id, part, rev, state, scope, content, hash, importance, source, created_at, updated_at)
		SELECT printf('%032x', i), 'p' || (i / 50), i, 'live', 'user', 'fact ' || i || ?2, CAST(printf('%016x', i) AS BLOB), 'medium', 'tool', i, i FROM c`,
		n, strings.Repeat(" and more of it", 5))
	if err != nil {
		tb.Fatal(err)
	}
	_, err = raw.Exec(`INSERT INTO spaces (fingerprint, protocol, model, dim, state, created_at) VALUES ('f', 'test', 'm', 384, 'active', 1);
		INSERT INTO vectors (rid, space, emb) SELECT rid, 1, zeroblob(400) FROM memories;
		INSERT INTO partitions (key, version, live) SELECT part, MAX(rev), COUNT(*) FROM memories GROUP BY part;
		INSERT INTO journal (part, version, at, kind, object, action, after) SELECT part, rev, 1, 'memory', id, 'create',
			json_object('id', id, 'partition', part, 'state', state, 'scope', scope, 'content', content, 'importance', importance, 'source', source, 'seen', 1) FROM memories`)
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkCheck and BenchmarkSalvage are what `reverie doctor` waits for.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "b.db")
			fill(b, path, n)
			for b.Loop() {
				if r, err := store.Check(b.Context(), path); err != nil || len(r.Problems) != 0 {
					b.Fatal(r.Problems, err)
				}
			}
		})
	}
}

func BenchmarkSalvage(b *testing.B) {
	path := filepath.Join(b.TempDir(), "b.db")
	fill(b, path, 10_000)
	image := contents(b, path)
	clear(image[:pageSize])
	for b.Loop() {
		if err := os.WriteFile(path, image, 0o600); err != nil {
			b.Fatal(err)
		}
		r, err := store.Salvage(b.Context(), path)
		if err != nil || r.Read["memories"]+r.Rebuilt["memories"] != 10_000 {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}
