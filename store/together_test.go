package store_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/storetest"
)

// Three servers on one store: what one has stored the others see at once, and the
// versions of a partition have no gap.
func TestThreeServers(t *testing.T) { storetest.Each(t, testThreeServers) }

func testThreeServers(t *testing.T, e storetest.Engine) {
	const servers, parts, writes = 3, 5, 60
	h := e.New(t)
	dbs := make([]*store.DB, servers)
	for i := range dbs {
		dbs[i] = h.Elsewhere(t).Open(t)
	}
	var mu sync.Mutex
	seen := map[string][]int64{} // by partition
	var stale, reads atomic.Int64
	var wg sync.WaitGroup
	for w := range 2 * servers {
		wg.Go(func() {
			for i := range writes {
				part := fmt.Sprint("p", (w+i)%parts)
				var v int64
				err := dbs[w%servers].Write(t.Context(), part, func(tx *store.Tx) error {
					v = tx.Version
					return tx.Exec("INSERT INTO memos (part, content, version, updated_at) VALUES (?, ?, ?, 1)", fmt.Sprint(part, "-", v), part, v).Error
				})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[part] = append(seen[part], v)
				mu.Unlock()
				other := dbs[(w+1+i%2)%servers]
				got, err := other.Version(t.Context(), part)
				m, merr := other.Mark(t.Context(), part)
				var rows, inside int64
				rerr := other.Read(t.Context(), func(g *gorm.DB) error {
					if err := g.Raw("SELECT COUNT(*) FROM memos WHERE content = ?", part).Row().Scan(&rows); err != nil {
						return err
					}
					time.Sleep(time.Duration(i%3) * 100 * time.Microsecond)
					return g.Raw("SELECT version FROM partitions WHERE key = ?", part).Row().Scan(&inside)
				})
				if err != nil || merr != nil || rerr != nil {
					t.Error(err, merr, rerr)
					return
				}
				reads.Add(3)
				if got < v || m.Version < v || inside < v {
					stale.Add(1)
				}
				if rows != inside {
					t.Errorf("one read saw %d rows and version %d", rows, inside)
				}
			}
		})
	}
	wg.Wait()
	if n := stale.Load(); n > 0 {
		t.Errorf("%d of %d reads were stale", n, reads.Load())
	}
	for part, versions := range seen {
		slices.Sort(versions)
		for i, v := range versions {
			if v != int64(i+1) {
				t.Fatalf("partition %s: change %d has version %d", part, i+1, v)
			}
		}
	}
	t.Logf("%d writes, %d reads right after, %d stale", 2*servers*writes, reads.Load(), stale.Load())
}

// Nothing changes during an exclusive change, from whichever server, and changes before
// and after it are whole.
func TestExclusive(t *testing.T) { storetest.Each(t, testExclusive) }

func testExclusive(t *testing.T, e storetest.Engine) {
	h := e.New(t)
	a, b := h.Open(t), h.Elsewhere(t).Open(t)
	stop := make(chan struct{})
	var changes atomic.Int64
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				db := []*store.DB{a, b}[w%2]
				var err error
				if i%4 == 0 {
					err = db.Exec(t.Context(), "INSERT INTO meta (name, value) VALUES (?, ?)", fmt.Sprint(w, "-", i), []byte("x"))
				} else {
					err = db.Write(t.Context(), fmt.Sprint("p", w), func(tx *store.Tx) error {
						return tx.Exec("INSERT INTO meta (name, value) VALUES (?, ?)", fmt.Sprint(w, "-", i), []byte("x")).Error
					})
				}
				if err != nil {
					t.Error(err)
					return
				}
				changes.Add(1)
			}
		})
	}
	look := func(g *gorm.DB) (rows, versions int) {
		if err := g.Raw("SELECT (SELECT COUNT(*) FROM meta), (SELECT COALESCE(SUM(version), 0) FROM partitions)").Row().Scan(&rows, &versions); err != nil {
			t.Error(err)
		}
		return rows, versions
	}
	for range 20 {
		before := changes.Load()
		err := a.Exclusive(t.Context(), func(g *gorm.DB) error {
			rows, versions := look(g)
			time.Sleep(2 * time.Millisecond)
			if r, v := look(g); r != rows || v != versions {
				t.Errorf("during an exclusive change %d rows became %d and %d versions %d", rows, r, versions, v)
			}
			return store.NextGeneration(g)
		})
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(5 * time.Second); changes.Load() == before && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if changes.Load() == before {
			t.Fatal("no change is made any more after an exclusive one")
		}
	}
	close(stop)
	wg.Wait()
	if m, err := b.Mark(t.Context(), "p0"); err != nil || m.Generation != 21 {
		t.Errorf("mark %+v, %v; want generation 21", m, err)
	}
}

// Writers of different partitions do not wait for one another with PostgreSQL, those of
// one do.
func TestPostgresWritersOfOnePartition(t *testing.T) {
	e := storetest.Postgres(t)
	h := e.New(t)
	db := open(t, h.Path, store.Options{DSN: h.DSN, BusyTimeout: 200 * time.Millisecond})
	other := open(t, h.Elsewhere(t).Path, store.Options{DSN: h.DSN, BusyTimeout: 200 * time.Millisecond})
	err := db.Write(t.Context(), "p", func(*store.Tx) error {
		write(t, other, "q", 1)
		write(t, db, "r", 1)
		err := other.Write(t.Context(), "p", func(*store.Tx) error { return nil })
		wants(t, err, store.ErrBusy, "nothing was stored", "call again")
		err = other.Exclusive(t.Context(), func(*gorm.DB) error { return nil })
		wants(t, err, store.ErrBusy)
		return nil
	})
	if err != nil || version(t, db, "p") != 1 {
		t.Errorf("%v, version %d", err, version(t, db, "p"))
	}
	write(t, other, "p", 1)
}
