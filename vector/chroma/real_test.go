package chroma_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/vector/chroma"
	"reverie/vector/chroma/chromatest"
)

// The client against a real server, in the order of a collection's life.
func TestRealServer(t *testing.T) {
	srv := chromatest.Start(t)
	ctx := t.Context()
	c := client(t, chroma.Options{URL: srv.URL, Tenant: "ten ant/ü", Database: "data base", Headers: map[string]string{"X-Any": "x"}})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.Heartbeat(ctx))
	if err := c.CheckDatabase(ctx); !chroma.IsNotFound(err) {
		t.Errorf("database that is not there: %v", err)
	}
	for range 2 {
		check(c.EnsureDatabase(ctx))
	}
	check(c.CheckDatabase(ctx))
	meta := map[string]any{"fingerprint": "f", "dim": 4, "ok": true}
	col, err := c.Ensure(ctx, "reverie_s1_b00", meta, 4)
	check(err)
	again, err := c.Ensure(ctx, "reverie_s1_b00", meta, 4)
	check(err)
	if again.ID != col.ID || col.Space != "l2" || col.Dimension != 0 {
		t.Errorf("%+v, %+v", col, again)
	}
	var m *chroma.MismatchError
	if _, err := c.Ensure(ctx, "reverie_s1_b00", map[string]any{"fingerprint": "g"}, 4); !errors.As(err, &m) {
		t.Errorf("another fingerprint: %v", err)
	}

	var recs []chroma.Record
	for i := range 1203 {
		a := float64(i) / 400
		recs = append(recs, chroma.Record{
			ID: fmt.Sprint("r", i), Embedding: []float32{float32(math.Cos(a)), float32(math.Sin(a)), 0, 1e-20}, Document: strings.Repeat("字", i%3),
			Metadata: map[string]any{"part": fmt.Sprint("p", i%2), "n": i, "private": i%5 == 0},
		})
	}
	for range 2 { // the second time changes nothing
		check(c.Upsert(ctx, col.ID, recs))
	}
	if n, err := c.Count(ctx, col.ID); err != nil || n != len(recs) {
		t.Fatalf("%d records, %v", n, err)
	}
	if got, err := c.Collection(ctx, "reverie_s1_b00"); err != nil || got.Dimension != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Ensure(ctx, "reverie_s1_b00", meta, 5); !errors.As(err, &m) {
		t.Errorf("another dimension: %v", err)
	}
	var back []chroma.Record
	for page, err := range c.Pages(ctx, col.ID, chroma.GetQuery{Include: chroma.Include{Embeddings: true, Metadata: true, Documents: true}}) {
		check(err)
		back = append(back, page...)
	}
	for i := range recs {
		recs[i].Metadata["n"] = float64(i)
	}
	if d := cmp.Diff(recs, back); d != "" {
		t.Errorf("read back (-sent +got):\n%.2000s", d)
	}
	near, err := c.Query(ctx, col.ID, recs[400].Embedding, 3, chroma.Equal("part", "p0"))
	check(err)
	if len(near) != 3 || near[0].ID != "r400" || near[0].Distance > 1e-9 || near[1].Metadata["part"] != "p0" || math.Abs(near[1].Distance-(2-2*math.Cos(2.0/400))) > 1e-6 {
		t.Errorf("near: %+v", near)
	}
	if got, err := c.Get(ctx, col.ID, chroma.GetQuery{Where: chroma.All(chroma.Equal("part", "p1"), chroma.In("n", nil))}); err == nil {
		t.Errorf("an empty list of values: %v", got)
	}
	check(c.Delete(ctx, col.ID, []string{"r1", "nobody"}))
	check(c.DeleteWhere(ctx, col.ID, chroma.Equal("part", "p0")))
	if n, err := c.Count(ctx, col.ID); err != nil || n != 600 {
		t.Errorf("%d records, %v", n, err)
	}
	var e *chroma.Error
	if err := c.Upsert(ctx, col.ID, []chroma.Record{{ID: "x", Embedding: []float32{1}}}); !errors.As(err, &e) || e.Status != 400 || e.Retryable {
		t.Errorf("wrong dimension: %v", err)
	}

	check(c.Modify(ctx, col.ID, "reverie_s1_b01", map[string]any{"k": "v"}))
	if l, err := c.List(ctx); err != nil || len(l) != 1 || l[0].Name != "reverie_s1_b01" || !cmp.Equal(l[0].Metadata, map[string]any{"k": "v"}) {
		t.Errorf("%+v, %v", l, err)
	}
	srv.Kill()
	if err := c.Heartbeat(ctx); !errors.As(err, &e) || !e.Gone() {
		t.Errorf("after the kill: %v", err)
	}
	srv.Restart()
	if n, err := c.Count(ctx, col.ID); err != nil || n != 600 {
		t.Errorf("after the restart %d records, %v", n, err)
	}
	for range 2 {
		check(c.DeleteCollection(ctx, "reverie_s1_b01"))
	}
	if err := c.Upsert(ctx, col.ID, recs[:1]); !chroma.IsNotFound(err) {
		t.Errorf("into a deleted collection: %v", err)
	}
}
