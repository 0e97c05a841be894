package storetest_test

import (
	"testing"

	"reverie/store"
	"reverie/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestEach(t *testing.T) {
	storetest.Each(t, func(t *testing.T, e storetest.Engine) {
		h := e.New(t)
		a, b, other := h.Open(t), h.Elsewhere(t).Open(t), e.Open(t)
		if a.Engine() != e.Name {
			t.Errorf("the engine is %q, want %q", a.Engine(), e.Name)
		}
		if err := a.Write(t.Context(), "p", func(*store.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for db, want := range map[*store.DB]int64{a: 1, b: 1, other: 0} {
			if v, err := db.Version(t.Context(), "p"); err != nil || v != want {
				t.Errorf("version %d, %v; want %d", v, err, want)
			}
		}
	})
}
