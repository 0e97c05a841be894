package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/storetest"
)

func TestLease(t *testing.T) { storetest.Each(t, testLease) }

func testLease(t *testing.T, e storetest.Engine) {
	h := e.New(t)
	a, b := h.Open(t), h.Elsewhere(t).Open(t)
	if held, err := b.Held(t.Context(), "work"); held != nil || err != nil {
		t.Fatalf("a lease that nobody took is held by %v, %v", held, err)
	}
	l, err := a.Lease(t.Context(), "work", 0)
	if err != nil {
		t.Fatal(err)
	}
	var held *store.HeldError
	if _, err := b.Lease(t.Context(), "work", 0); !errors.As(err, &held) {
		t.Fatalf("a held lease was taken: %v", err)
	}
	if left := time.Until(held.Until); held.Name != "work" || left <= 0 || left > store.DefaultLeaseTTL {
		t.Errorf("held: %+v, for %v", held, left)
	}
	if other, err := b.Lease(t.Context(), "another", 0); err != nil {
		t.Error(err)
	} else if err := other.Release(); err != nil {
		t.Error(err)
	}
	mine := func(db *store.DB) (yes bool) {
		err := db.Exclusive(t.Context(), func(g *gorm.DB) (err error) { yes, err = l.Mine(g); return err })
		if err != nil {
			t.Error(err)
		}
		return yes
	}
	if !mine(a) {
		t.Error("the lease is not the holder's")
	}
	if err := errors.Join(l.Release(), l.Release()); err != nil {
		t.Errorf("release twice: %v", err)
	}
	if l.Context().Err() == nil || mine(a) {
		t.Error("a released lease is still held")
	}
	again, err := b.Lease(t.Context(), "work", 0)
	if err != nil {
		t.Fatal(err)
	}
	if mine(a) {
		t.Error("a lease of another is taken for one's own")
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

// Of many who ask at once, one gets the lease, and it goes to another when its holder is
// gone.
func TestLeaseGoesToOne(t *testing.T) { storetest.Each(t, testLeaseGoesToOne) }

func testLeaseGoesToOne(t *testing.T, e storetest.Engine) {
	h := e.New(t)
	dbs := []*store.DB{h.Open(t), h.Elsewhere(t).Open(t)}
	for round := range 5 {
		var got atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		leases := make(chan *store.Lease, 8)
		for i := range 8 {
			wg.Go(func() {
				<-start
				l, err := dbs[i%2].Lease(t.Context(), "work", time.Minute)
				var held *store.HeldError
				switch {
				case err == nil:
					got.Add(1)
					leases <- l
				case !errors.As(err, &held):
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		if got.Load() != 1 {
			t.Fatalf("round %d: %d of 8 got the lease", round, got.Load())
		}
		if err := (<-leases).Release(); err != nil {
			t.Error(err)
		}
	}
	// A holder that is renewed keeps it beyond its time; one whose renewals stopped loses it.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l, err := dbs[0].Lease(ctx, "work", 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	l.Note("half of it")
	time.Sleep(600 * time.Millisecond)
	held, err := dbs[1].Held(t.Context(), "work")
	if err != nil || held == nil || held.Note != "half of it" {
		t.Errorf("held by %+v, %v", held, err)
	}
	cancel()
	var heir *store.Lease
	for deadline := time.Now().Add(5 * time.Second); heir == nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		heir, _ = dbs[1].Lease(t.Context(), "work", time.Minute)
	}
	if heir == nil {
		t.Fatal("the lease of one who is gone was never free")
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if held, err := dbs[0].Held(t.Context(), "work"); err != nil || held == nil {
		t.Errorf("the former holder's release took it from the new one: %v, %v", held, err)
	}
	if err := heir.Release(); err != nil {
		t.Error(err)
	}
}

// One whose lease was taken hears of it.
func TestLeaseLost(t *testing.T) { storetest.Each(t, testLeaseLost) }

func testLeaseLost(t *testing.T, e storetest.Engine) {
	db := e.Open(t)
	l, err := db.Lease(t.Context(), "work", 60*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), "UPDATE leases SET holder = 'another'"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Context().Done():
	case <-time.After(5 * time.Second):
		t.Fatal("it goes on")
	}
	if err := context.Cause(l.Context()); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("the cause is %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}
