package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/storetest"
)

// Three servers write while connections are ended and the PostgreSQL server is killed and
// restarted again and again. What was acknowledged is there, what was reported as failed
// is not.
func TestPostgresUnderFire(t *testing.T) {
	blows := 6
	if testing.Short() {
		blows = 3
	}
	e := storetest.Postgres(t)
	e.Server().Restart(t) // skips where it may not be
	h := e.New(t)
	straight := h.Open(t)
	dbs := make([]*store.DB, 3)
	for i := range dbs {
		dbs[i] = open(t, h.Elsewhere(t).Path, store.Options{DSN: h.DSN, BusyTimeout: 20 * time.Second})
	}
	type outcome struct {
		part string
		i    int
		err  error
	}
	var mu sync.Mutex
	var all []outcome
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 9 {
		wg.Go(func() {
			part := fmt.Sprint("p", w%5) // some have a partition for themselves, others share one
			for i := w; ; i += 9 {
				select {
				case <-stop:
					return
				default:
				}
				err := dbs[w%3].Write(t.Context(), part, func(tx *store.Tx) error { return ackRow(tx, i) })
				mu.Lock()
				all = append(all, outcome{part, i, err})
				mu.Unlock()
			}
		})
	}
	for blow := range blows {
		time.Sleep(time.Duration(50+rand.IntN(300)) * time.Millisecond)
		switch blow % 3 {
		case 0:
			e.Server().Terminate(t, h.DSN)
		case 1:
			e.Server().Crash(t)
		case 2:
			e.Server().Restart(t)
		}
	}
	close(stop)
	wg.Wait()
	acked, failed, doubtful := 0, 0, 0
	rows := map[string]int{}
	var stored []string
	if err := straight.Read(t.Context(), func(g *gorm.DB) error { return g.Raw("SELECT part FROM memos ORDER BY part").Scan(&stored).Error }); err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		_, there := slices.BinarySearch(stored, ackOf(o.part, o.i))
		if there {
			rows[o.part]++
		}
		switch {
		case o.err == nil:
			acked++
			if !there {
				t.Errorf("%s was acknowledged and is not there", ackOf(o.part, o.i))
			}
		case errors.Is(o.err, store.ErrInDoubt):
			doubtful++
		default:
			failed++
			if there {
				t.Errorf("%s is there although its write failed: %v", ackOf(o.part, o.i), o.err)
			}
			t.Logf("a write failed: %v", o.err)
		}
	}
	if n := len(stored); n < acked || n > acked+doubtful {
		t.Errorf("%d rows; %d were acknowledged, %d are in doubt", n, acked, doubtful)
	}
	for part, n := range rows {
		if v := version(t, straight, part); v != int64(n) {
			t.Errorf("partition %s has %d rows and version %d", part, n, v)
		}
	}
	if acked < 100 || doubtful > 0 || failed > 0 {
		t.Errorf("%d acknowledged, %d failed, %d in doubt: every write can be made within its time", acked, failed, doubtful)
	}
	t.Logf("%d blows, %d writes acknowledged, %d failed, %d in doubt", blows, acked, failed, doubtful)
}
