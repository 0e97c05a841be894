package mirror_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gorm.io/gorm"

	"reverie/embedding/spaces"
	"reverie/store"
	"reverie/vector/chroma/chromatest"
	"reverie/vector/mirror"
)

// exclusive changes rows as a restored backup or moved partitions do.
func exclusive(t *testing.T, db *store.DB, statements ...string) {
	t.Helper()
	err := db.Exclusive(t.Context(), func(g *gorm.DB) error {
		for _, s := range statements {
			if err := g.Exec(s).Error; err != nil {
				return err
			}
		}
		return store.NextGeneration(g)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reembed moves the store to the space of the world's embedder.
func reembed(t *testing.T, w *world) {
	t.Helper()
	m := spaces.New(w.db, w.emb, spaces.Options{})
	w.memories.Close()
	w.memories = w.serviceOn(m)
	if _, err := m.Reembed(context.Background(), spaces.ReembedOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
}

func TestNearest(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	ctx := t.Context()
	ids := w.write("ana", append(texts("fact", 30), "x\nfact 3\ny")...)
	w.write("bob", texts("fact", 30)...)
	m := w.run()
	w.await(m)
	q := w.emb.vector("fact 3")
	near, err := m.Nearest(ctx, part("ana"), q, 2)
	if err != nil || len(near) != 2 || near[ids[3]] > 1e-3 || near[ids[30]] > 1e-3 {
		t.Errorf("%v, %v; want %s and %s", near, err, ids[3], ids[30])
	}
	all, err := m.Nearest(ctx, part("ana"), q, 100)
	if err != nil || len(all) != 31 {
		t.Errorf("%d, %v", len(all), err)
	}
	for i := range 30 {
		v := w.emb.vector(fmt.Sprint("fact ", i))
		dot := 0.0
		for j := range v {
			dot += float64(v[j]) * float64(q[j])
		}
		if d := all[ids[i]]; math.Abs(d-(2-2*dot)) > 0.02 { // vectors are stored in int8
			t.Errorf("fact %d: distance %v, want %v", i, d, 2-2*dot)
		}
	}
	if near, err := m.Nearest(ctx, part("nobody"), q, 5); err != nil || len(near) != 0 {
		t.Errorf("nobody: %v, %v", near, err)
	}
	if _, err := m.Nearest(ctx, part("ana"), q[:5], 5); err == nil {
		t.Error("a vector of another space was compared")
	}
	for _, n := range []int{0, -1, mirror.MaxNearest + 1} {
		if _, err := m.Nearest(ctx, part("ana"), q, n); err == nil {
			t.Errorf("n = %d", n)
		}
	}
	// What was not delivered yet is not answered for.
	m.Close()
	w.write("ana", "news")
	if near, err := m.Nearest(ctx, part("ana"), q, 5); err == nil {
		t.Errorf("from a mirror that is behind: %v", near)
	}
	if _, err := m.Nearest(ctx, part("bob"), q, 5); err != nil {
		t.Errorf("of another partition: %v", err)
	}
}
