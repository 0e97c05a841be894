package mirror_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/caller"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/vector"
	"reverie/vector/chroma"
	"reverie/vector/chroma/chromatest"
	"reverie/vector/mirror"
)

// Every kind of change reaches the server, with both engines.
func TestChangesAreMirrored(t *testing.T) {
	srv := chromatest.Start(t)
	storetest.Each(t, func(t *testing.T, e storetest.Engine) {
		w := newWorld(t, e, srv.URL)
		w.opts.Name = strings.ToLower(e.Name)
		ctx := t.Context()
		ana := person("ana")
		m := w.run()
		check := func(what string, want ...string) {
			t.Helper()
			w.await(m)
			slices.Sort(want)
			var mine []string
			for _, id := range w.ids() {
				if slices.ContainsFunc(want, func(x string) bool { return id[:32] == x[:32] }) {
					mine = append(mine, id)
				}
			}
			if d := cmp.Diff(want, mine); d != "" {
				t.Errorf("%s: records (-want +got):\n%s", what, d)
			}
		}
		ids := w.write("ana", "one", "two\nthree\nfour", "five")
		check("written", ids[0], ids[1], ids[1]+"#1", ids[1]+"#2", ids[2])
		text := "two"
		if _, err := w.memories.Update(ctx, ana, caller.ScopeUser, ids[1], vector.Patch{Content: &text}); err != nil {
			t.Fatal(err)
		}
		check("fewer passages", ids[0], ids[1], ids[2])
		if _, err := w.memories.Delete(ctx, ana, caller.ScopeUser, ids[0]); err != nil {
			t.Fatal(err)
		}
		check("deleted", ids[1], ids[2])
		if _, err := w.memories.Restore(ctx, ana, caller.ScopeUser, ids[0]); err != nil {
			t.Fatal(err)
		}
		out, err := w.memories.Write(ctx, ana, vector.Draft{Content: "six", Supersedes: ids[2], Private: true})
		if err != nil {
			t.Fatal(err)
		}
		check("restored and superseded", ids[0], ids[1], out.Memory.ID)
		w.emb.deaf.Store(true)
		text = "seven\neight"
		if _, err := w.memories.Update(ctx, ana, caller.ScopeUser, ids[1], vector.Patch{Content: &text}); err != nil {
			t.Fatal(err)
		}
		check("without a vector", ids[0], out.Memory.ID)
		w.emb.deaf.Store(false)
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // the retry of the service
			if st, err := w.memories.Totals(ctx); err != nil || st.Pending == 0 || time.Now().After(end) {
				break
			}
		}
		check("its vector is filled in", ids[0], ids[1], ids[1]+"#1", out.Memory.ID)
	})
}

func TestRecordsAreSmall(t *testing.T) {
	srv := chromatest.Start(t)
	for _, documents := range []bool{false, true} {
		t.Run(fmt.Sprint("documents ", documents), func(t *testing.T) {
			w := newWorld(t, sqlite(), srv.URL)
			w.opts.Documents, w.opts.Name = documents, fmt.Sprint("docs_", documents)
			id := w.write("ana", "a secret of Ana")[0]
			w.await(w.run())
			for _, col := range w.collections() {
				got, err := w.client().Get(t.Context(), col.ID, chroma.GetQuery{Include: chroma.Include{Metadata: true, Documents: true}})
				want := []chroma.Record{{ID: id, Metadata: map[string]any{"part": part("ana"), "memory": id, "private": false}}}
				if documents {
					want[0].Document = "a secret of Ana"
				}
				if d := cmp.Diff(want, got); err != nil || d != "" {
					t.Errorf("%v (-want +got):\n%s", err, d)
				}
			}
		})
	}
}

// A server that is killed, restarted and killed again while it is being loaded ends with
// everything.
func TestServerDiesInMidLoad(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	for i := range 20 {
		w.write(fmt.Sprint("p", i), texts("fact", 150)...)
	}
	m := w.run()
	for round := range 4 {
		time.Sleep(150 * time.Millisecond)
		if round%2 == 0 {
			srv.Kill()
			w.write("p3", fmt.Sprint("while it was away ", round))
			if round == 2 { // long enough for the breaker
				st := w.awaitState(m, mirror.StateDown)
				if st.DownSince.IsZero() || st.LastError == "" {
					t.Errorf("%+v", st)
				}
				if _, err := m.Nearest(t.Context(), part("p1"), w.emb.vector("fact 1"), 3); err == nil {
					t.Error("a search got an answer from nobody")
				}
			}
		}
		srv.Restart()
	}
	if v := w.await(m); v.Records != 3002 {
		t.Errorf("%+v", v)
	}
}

func TestCollectionDeletedByHand(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	for i := range 8 {
		w.write(fmt.Sprint("p", i), texts("fact", 5)...)
	}
	m := w.run()
	w.await(m)
	cols := w.collections()
	for i, col := range cols[:2] {
		if err := w.client().DeleteCollection(t.Context(), col.Name); err != nil {
			t.Fatal(err)
		}
		if i == 1 { // noticed by a write, not by the next look
			for i := range 8 {
				w.write(fmt.Sprint("p", i), "one more")
			}
			m.Wake()
		}
		for len(w.collections()) < len(cols) {
			time.Sleep(10 * time.Millisecond)
		}
		w.await(m)
	}
	// Noticed by a search.
	if err := w.client().DeleteCollection(t.Context(), cols[0].Name); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if _, err := m.Nearest(t.Context(), part(fmt.Sprint("p", i)), w.emb.vector("fact 1"), 3); err != nil && !errors.Is(err, mirror.ErrBehind) {
			t.Errorf("p%d: %v", i, err)
		}
	}
	for len(w.collections()) < len(cols) {
		time.Sleep(10 * time.Millisecond)
	}
	if v := w.await(m); v.Records != 48 {
		t.Errorf("%+v", v)
	}
}

// A partition that is refused waits, the others go on, and it follows when it is accepted.
func TestRefusedWrites(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
	}{{"bad request", 400}, {"fault of one", 500}, {"unprocessable", 422}} {
		t.Run(tt.name, func(t *testing.T) {
			srv := chromatest.Start(t)
			g := newGate(t, srv)
			w := newWorld(t, sqlite(), g.URL)
			w.opts.Buckets = 1 // all in one request
			g.set(refuse(tt.status, `"`+part("p2")+`"`))
			for i := range 5 {
				w.write(fmt.Sprint("p", i), texts("fact", 3)...)
			}
			m := w.run()
			st := w.awaitState(m, mirror.StateRefused)
			if len(st.Refused) != 1 || st.Refused[0].Part != part("p2") || !strings.Contains(st.Refused[0].Error, "not today") || st.Delivered != 4 || st.Waiting != 3 {
				t.Errorf("%+v", st)
			}
			if len(w.ids()) != 12 {
				t.Errorf("%d records", len(w.ids()))
			}
			if st := w.awaitState(w.mirror(), mirror.StateRefused); len(st.Refused) != 1 { // another process
				t.Errorf("as others see it: %+v", st)
			}
			w.write("p4", "one more")
			for len(w.ids()) < 13 {
				time.Sleep(10 * time.Millisecond)
			}
			g.set(nil)
			if v := w.await(m); v.Records != 16 {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A proxy that lets only small bodies through gets small bodies.
func TestTooLargeForAProxy(t *testing.T) {
	srv := chromatest.Start(t)
	g := newGate(t, srv)
	w := newWorld(t, sqlite(), g.URL)
	g.set(func(r *http.Request) int {
		if r.ContentLength > 8<<10 {
			return http.StatusRequestEntityTooLarge
		}
		return 0
	})
	w.write("ana", texts("fact", 300)...)
	if v := w.await(w.run()); v.Records != 300 {
		t.Errorf("%+v", v)
	}
}

// A server that lets nobody in is not asked for every partition.
func TestAccessRefused(t *testing.T) {
	srv := chromatest.Start(t)
	g := newGate(t, srv)
	w := newWorld(t, sqlite(), g.URL)
	g.set(func(*http.Request) int { return http.StatusForbidden })
	w.write("ana", "fact")
	m := w.run()
	st := w.awaitState(m, mirror.StateTrouble)
	if len(st.Refused) != 0 || st.LastError == "" {
		t.Errorf("%+v", st)
	}
	g.set(nil)
	w.await(m)
}

// refuse refuses writes that contain a text.
func refuse(status int, text string) func(*http.Request) int {
	return func(r *http.Request) int {
		if !strings.HasSuffix(r.URL.Path, "/upsert") {
			return 0
		}
		b, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(b))
		if err != nil || bytes.Contains(b, []byte(text)) {
			return status
		}
		return 0
	}
}

// Of two processes one delivers; when it goes the other takes over.
func TestTwoProcesses(t *testing.T) {
	srv := chromatest.Start(t)
	storetest.Each(t, func(t *testing.T, e storetest.Engine) {
		w := newWorld(t, e, srv.URL)
		w.opts.Name = "two_" + strings.ToLower(e.Name)
		other := *w
		other.db = w.home.Open(t)
		other.memories = other.service(other.db, w.emb)
		a, b := w.run(), other.run()
		for i := range 10 {
			w.write("ana", fmt.Sprint("from the one ", i))
			other.write("ana", fmt.Sprint("from the other ", i))
			a.Wake()
		}
		w.await(a)
		a.Close()
		w.write("ana", "after the one has gone")
		other.awaitState(b, mirror.StateOK)
		v, err := b.Verify(t.Context(), mirror.VerifyOptions{})
		if err != nil || !v.Equal() || v.Records != 21 || v.Pending != 0 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// A process that died with the lease is replaced when that ends.
func TestHolderDied(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	err := w.db.Exec(t.Context(), "INSERT INTO leases (name, holder, note, expires_at) VALUES ('mirror', 'the dead', '', ?)", time.Now().Add(500*time.Millisecond).UnixMicro())
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	w.write("ana", "fact")
	m := w.run()
	if st, err := m.Status(t.Context()); err != nil || st.Holder != "the dead" || st.State != mirror.StateBehind {
		t.Errorf("%+v, %v", st, err)
	}
	w.await(m)
	if d := time.Since(begun); d < 450*time.Millisecond {
		t.Errorf("it did not wait for the lease: %s", d)
	}
}

// Another model: new collections, and the old ones go when the new are complete.
func TestSpaceSwitch(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	for i := range 6 {
		w.write(fmt.Sprint("p", i), texts("fact", 4)...)
	}
	m := w.run()
	w.await(m)
	old := w.collections()
	w.emb = &hashed{model: "two", dim: 40}
	reembed(t, w)
	w.awaitState(m, mirror.StateOK)
	now := w.collections()
	for _, c := range now {
		if slices.ContainsFunc(old, func(o chroma.Collection) bool { return o.Name == c.Name }) || c.Dimension != 40 {
			t.Errorf("collection %+v", c)
		}
	}
	if v := w.await(m); v.Records != 24 {
		t.Errorf("%+v", v)
	}
	near, err := m.Nearest(t.Context(), part("p1"), w.emb.vector("fact 2"), 1)
	if err != nil || len(near) != 1 {
		t.Errorf("%v, %v", near, err)
	}
}

// Whatever makes the store another one (a restored backup, moved partitions) is noticed
// though no version tells.
func TestGeneration(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	ids := w.write("ana", texts("fact", 5)...)
	w.write("bob", texts("bob's fact", 5)...)
	w.write("eve", texts("fact", 5)...)
	m := w.run()
	w.await(m)
	exclusive(t, w.db,
		"UPDATE memories SET part = 'Local_Private_bob' WHERE id = '"+ids[0]+"'",
		"UPDATE memories SET part = 'Local_Private_carl' WHERE part = 'Local_Private_ana'",
		"UPDATE partitions SET key = 'Local_Private_carl', live = 4 WHERE key = 'Local_Private_ana'",
		"DELETE FROM memories WHERE part = 'Local_Private_eve' AND content <> 'fact 1'",
	)
	if _, err := m.Nearest(t.Context(), part("bob"), w.emb.vector("fact 1"), 3); err != nil && !errors.Is(err, mirror.ErrBehind) {
		t.Error(err)
	}
	if v := w.await(m); v.Records != 11 {
		t.Errorf("%+v", v)
	}
}

// Collections of another home are left alone until someone says otherwise.
func TestAnotherHome(t *testing.T) {
	srv := chromatest.Start(t)
	one := newWorld(t, sqlite(), srv.URL)
	one.write("ana", "fact of one")
	m1 := one.run()
	one.await(m1)
	m1.Close()
	two := newWorld(t, sqlite(), srv.URL)
	two.write("ana", "fact of two")
	m2 := two.run()
	st := two.awaitState(m2, mirror.StateForeign)
	if !strings.Contains(st.LastError, "--take-over") {
		t.Errorf("%+v", st)
	}
	if _, err := m2.Rebuild(t.Context(), mirror.RebuildOptions{}); !errors.Is(err, mirror.ErrForeign) {
		t.Errorf("rebuild over another home: %v", err)
	}
	if v := one.verify(m1); v.Records != 1 {
		t.Errorf("%+v", v)
	}
	if _, err := m2.Rebuild(t.Context(), mirror.RebuildOptions{TakeOver: true}); err != nil {
		t.Fatal(err)
	}
	two.await(m2)
}

// Metadata that does not fit, or vectors of another dimension: the collection is made anew.
func TestCollectionMismatch(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	for i := range 8 {
		w.write(fmt.Sprint("p", i), texts("fact", 3)...)
	}
	m := w.run()
	w.await(m)
	cols := w.collections()
	if err := w.client().Delete(t.Context(), cols[0].ID, w.ids()); err != nil {
		t.Fatal(err)
	}
	meta := cols[0].Metadata
	meta["fingerprint"] = "another"
	if err := w.client().Modify(t.Context(), cols[0].ID, "", meta); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now := w.collections(); slices.ContainsFunc(now, func(c chroma.Collection) bool { return c.Name == cols[0].Name && c.ID != cols[0].ID }) {
			w.await(m)
			return
		}
	}
	t.Error("the collection was not made anew")
}

func TestRebuildAndVerify(t *testing.T) {
	srv := chromatest.Start(t)
	w := newWorld(t, sqlite(), srv.URL)
	ctx := t.Context()
	for i := range 10 {
		w.write(fmt.Sprint("p", i), texts("fact", 7)...)
	}
	m := w.mirror()
	if v, err := m.Verify(ctx, mirror.VerifyOptions{}); err != nil || v.Pending != 10 || v.Partitions != 0 {
		t.Errorf("before anything was delivered: %+v, %v", v, err)
	}
	var last [2]int
	r, err := m.Rebuild(ctx, mirror.RebuildOptions{Progress: func(done, total int) { last = [2]int{done, total} }})
	if err != nil || r.Memories != 70 || r.Buckets != 4 || last != [2]int{70, 70} {
		t.Fatalf("%+v, %v, %v", r, err, last)
	}
	w.verify(m)

	// Other contents behind the mirror's back: found, and mended.
	c := w.client()
	col := w.collections()[0]
	recs, err := c.Get(ctx, col.ID, chroma.GetQuery{Include: chroma.Include{Embeddings: true, Metadata: true}})
	if err != nil || len(recs) < 3 {
		t.Fatal(len(recs), err)
	}
	recs[0].Embedding[0] += 0.5
	recs[1].Metadata["private"] = true
	stranger := recs[2]
	stranger.ID = "feedfeedfeedfeedfeedfeedfeedfeed"
	if err := errors.Join(c.Upsert(ctx, col.ID, []chroma.Record{recs[0], recs[1], stranger}), c.Delete(ctx, col.ID, []string{recs[2].ID})); err != nil {
		t.Fatal(err)
	}
	v, err := m.Verify(ctx, mirror.VerifyOptions{Repair: true})
	if err != nil || v.Different != 2 || v.Missing != 1 || v.Extra != 1 || v.Records != 67 || v.Equal() {
		t.Errorf("%+v, %v", v, err)
	}
	w.await(w.run())

	// Another number of buckets counts from the next rebuild on.
	w.opts.Buckets = 9
	m = w.mirror()
	if st, err := m.Status(ctx); err != nil || st.Buckets != 4 || st.State != mirror.StateOK {
		t.Errorf("%+v, %v", st, err)
	}
	if r, err := m.Rebuild(ctx, mirror.RebuildOptions{}); err != nil || r.Buckets != 9 || r.Deleted == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	w.verify(m)
}

// Nothing to mirror, and nobody to mirror to, are no errors of the store.
func TestQuietCases(t *testing.T) {
	w := newWorld(t, sqlite(), "http://127.0.0.1:1")
	w.write("ana", "fact")
	m := w.run()
	if st := w.awaitState(m, mirror.StateDown); st.Waiting != 1 {
		t.Errorf("%+v", st)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	m.Wake()
	m.Run(t.Context()) // ends at once

	empty, err := store.Open(t.Context(), t.TempDir()+"/empty.db", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	c, err := chroma.New(chroma.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m = mirror.New(empty, c, mirror.Options{})
	defer m.Close()
	if st, err := m.Status(t.Context()); err != nil || st.State != mirror.StateNoSpace {
		t.Errorf("%+v, %v", st, err)
	}
}
