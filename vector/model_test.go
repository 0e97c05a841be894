package vector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"
	"pgregory.net/rapid"

	"reverie/internal/caller"
	"reverie/internal/raceflag"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/vector"
)

// TestModel drives two services on one file, as two processes are, with any sequence of
// calls, and holds them to a plain map: what is live, what is found by either at once,
// and that the newest journal entry of each memory agrees with its row.
func TestModel(t *testing.T) { storetest.Each(t, testModel) }

func testModel(t *testing.T, e storetest.Engine) {
	at := e.New(t)
	homes := []*home{openAt(t, at, vector.Options{Limit: 5}), openAt(t, at.Elsewhere(t), vector.Options{Limit: 5})}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 30 && raceflag.Enabled { // a partition of its own for each sequence
			return
		}
		if e.Name == store.Postgres && n > 6 {
			return // the rules are the same, and a server takes ten times the time
		}
		m := &model{t: t, homes: homes, who: caller.Caller{User: fmt.Sprint(n), Platform: "Local"}, live: map[string]string{}, all: map[string]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"write": m.write, "supersede": m.supersede, "update": m.update, "delete": m.remove, "restore": m.restore, "audit": m.audit, "": m.check,
		})
	})
}

type model struct {
	t     *testing.T
	homes []*home
	who   caller.Caller
	live  map[string]string // id to content
	all   map[string]string
}

func (m *model) any(rt *rapid.T) *home { return rapid.SampledFrom(m.homes).Draw(rt, "process") }

func (m *model) text(rt *rapid.T) string {
	return fmt.Sprintf("fact about topic%d", rapid.IntRange(0, 8).Draw(rt, "topic"))
}

func (m *model) id(rt *rapid.T) (string, bool) {
	ids := []string{}
	for id := range m.all {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return "", false
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(rt, "id"), true
}

func (m *model) holder(content string) string {
	for id, c := range m.live {
		if c == content {
			return id
		}
	}
	return ""
}

func (m *model) write(rt *rapid.T) { m.put(rt, m.text(rt), "") }

func (m *model) supersede(rt *rapid.T) {
	if id, ok := m.id(rt); ok {
		m.put(rt, m.text(rt), id)
	}
}

func (m *model) put(rt *rapid.T, text, supersedes string) {
	twin := m.holder(text)
	w, err := m.any(rt).Write(m.t.Context(), m.who, vector.Draft{Content: text, Supersedes: supersedes})
	_, oldLive := m.live[supersedes]
	var full *vector.LimitError
	switch {
	case supersedes != "" && !oldLive:
		if !errors.Is(err, vector.ErrState) {
			rt.Fatalf("superseding what is not live: %v", err)
		}
		return
	case twin == "" && len(m.live) == 5 && supersedes == "":
		if !errors.As(err, &full) {
			rt.Fatalf("writing to a full partition: %v", err)
		}
		return
	case err != nil:
		rt.Fatalf("write: %v", err)
	case w.DuplicateOf != twin:
		rt.Fatalf("duplicate of %q, want %q", w.DuplicateOf, twin)
	}
	m.live[w.Memory.ID], m.all[w.Memory.ID] = text, text
	if supersedes != "" && supersedes != w.Memory.ID {
		delete(m.live, supersedes)
	}
}

func (m *model) update(rt *rapid.T) {
	id, ok := m.id(rt)
	if !ok {
		return
	}
	text := m.text(rt)
	_, err := m.any(rt).Update(m.t.Context(), m.who, "", id, vector.Patch{Content: &text})
	twin := m.holder(text)
	_, live := m.live[id]
	switch {
	case !live:
		if !errors.Is(err, vector.ErrState) {
			rt.Fatalf("updating what is not live: %v", err)
		}
	case twin != "" && twin != id:
		if !errors.Is(err, vector.ErrInvalid) {
			rt.Fatalf("updating to another's content: %v", err)
		}
	case err != nil:
		rt.Fatalf("update: %v", err)
	default:
		m.live[id], m.all[id] = text, text
	}
}

func (m *model) remove(rt *rapid.T) {
	id, ok := m.id(rt)
	if !ok {
		return
	}
	got, err := m.any(rt).Get(m.t.Context(), m.who, "", id)
	if err != nil {
		rt.Fatalf("get: %v", err)
	}
	_, err = m.any(rt).Delete(m.t.Context(), m.who, "", id)
	if (err == nil) != (got.State != vector.Deleted) {
		rt.Fatalf("delete of a %s memory: %v", got.State, err)
	}
	delete(m.live, id)
}

func (m *model) restore(rt *rapid.T) {
	id, ok := m.id(rt)
	if !ok {
		return
	}
	_, err := m.any(rt).Restore(m.t.Context(), m.who, "", id)
	_, live := m.live[id]
	want := !live && m.holder(m.all[id]) == "" && len(m.live) < 5
	if (err == nil) != want {
		rt.Fatalf("restore: %v, live %v", err, live)
	}
	if err == nil {
		m.live[id] = m.all[id]
	}
}

func (m *model) check(rt *rapid.T) {
	for _, h := range m.homes {
		r, err := h.Search(m.t.Context(), m.who, vector.Query{Text: "fact about topic", TopK: 50})
		if err != nil {
			rt.Fatalf("search: %v", err)
		}
		got := map[string]string{}
		for _, hit := range r.Hits {
			got[hit.ID] = hit.Content
		}
		if r.Total != len(m.live) || len(got) != len(m.live) {
			rt.Fatalf("found %d of %d, want %d", len(got), r.Total, len(m.live))
		}
		for id, text := range m.live {
			if got[id] != text {
				rt.Fatalf("memory %s is %q, want %q", id, got[id], text)
			}
		}
	}
}

// audit holds the journal and the counter to the rows.
func (m *model) audit(rt *rapid.T) {
	for id, text := range m.all {
		h, err := m.any(rt).History(m.t.Context(), m.who, "", id)
		if err != nil || len(h) == 0 {
			rt.Fatalf("history of %s: %v", id, err)
		}
		var after vector.Memory
		if err := json.Unmarshal(h[0].After, &after); err != nil {
			rt.Fatal(err)
		}
		if _, live := m.live[id]; after.Content != text || (after.State == vector.Live) != live {
			rt.Fatalf("the journal's last word on %s is %s %q, want %q, live %v", id, after.State, after.Content, text, live)
		}
	}
	var counted int
	err := m.homes[0].db.Read(m.t.Context(), func(g *gorm.DB) error {
		return g.Raw("SELECT COALESCE(SUM(live), 0) FROM partitions WHERE key = ?", "Local_Private_"+m.who.User).Row().Scan(&counted)
	})
	if err != nil || counted != len(m.live) {
		rt.Fatalf("the partition counts %d live memories, want %d (%v)", counted, len(m.live), err)
	}
}

// Many writers of two processes at once: the limit holds exactly, nothing is lost.
func TestParallelWritesKeepTheLimit(t *testing.T) { storetest.Each(t, testParallelWritesKeepTheLimit) }

func testParallelWritesKeepTheLimit(t *testing.T, e storetest.Engine) {
	at := e.New(t)
	homes := []*home{openAt(t, at, vector.Options{Limit: 30}), openAt(t, at.Elsewhere(t), vector.Options{Limit: 30})}
	var wg sync.WaitGroup
	var mu sync.Mutex
	stored, refused := 0, 0
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				_, err := homes[i%2].Write(context.Background(), ann, vector.Draft{Content: fmt.Sprintf("writer%d says thing%d", i, j)})
				var full *vector.LimitError
				mu.Lock()
				switch {
				case err == nil:
					stored++
				case errors.As(err, &full):
					refused++
				default:
					t.Errorf("write: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if stored != 30 || refused != 50 {
		t.Errorf("%d stored, %d refused; want 30 and 50", stored, refused)
	}
	if p, err := homes[0].List(t.Context(), ann, vector.ListQuery{}); err != nil || p.Total != 30 {
		t.Errorf("listed %d, %v", p.Total, err)
	}
}

// An embedder that is down costs meaning, never a memory; the vectors follow.
func TestEmbedderDown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.db")
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t, path, vector.Options{})
		h.emb.down.Store(true)
		w, err := h.Write(t.Context(), ann, vector.Draft{Content: "the spare key is under the mat"})
		if err != nil || !w.Memory.Pending || len(w.Notices) == 0 {
			t.Fatalf("write while down: %+v, %v", w, err)
		}
		r, err := h.Search(t.Context(), ann, vector.Query{Text: "spare key"})
		if err != nil || r.Degraded == "" || len(r.Hits) != 1 || r.Hits[0].Distance != nil || r.Hits[0].Match != vector.ByWords {
			t.Fatalf("search while down: %+v, %v", r, err)
		}
		h.emb.down.Store(false)
		time.Sleep(6 * time.Minute) // beyond the longest wait between tries
		m, err := h.Get(t.Context(), ann, "", w.Memory.ID)
		if err != nil || m.Pending {
			t.Fatalf("after the embedder came back: %+v, %v", m, err)
		}
		if r, err = h.Search(t.Context(), ann, vector.Query{Text: "spare key"}); err != nil || r.Degraded != "" || r.Hits[0].Distance == nil {
			t.Errorf("search afterwards: %+v, %v", r, err)
		}
		h.Close()
		h.db.Close()
	})
}

func TestExpiry(t *testing.T) {
	const day = 24 * time.Hour
	path := filepath.Join(t.TempDir(), "e.db")
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t, path, vector.Options{ArchiveLow: 7 * day, ArchiveMid: 90 * day})
		low := h.write(t, ann, vector.Draft{Content: "it rained on the picnic", Importance: vector.Low})
		h.write(t, ann, vector.Draft{Content: "parking ticket paid", Importance: vector.Low})
		h.write(t, ann, vector.Draft{Content: "prefers window seats"})
		h.write(t, ann, vector.Draft{Content: "allergic to peanuts", Importance: vector.High})

		time.Sleep(5 * day)
		h.find(t, ann, vector.Query{Text: "parking ticket", TopK: 1}) // a use begins its time anew
		time.Sleep(3 * day)
		p, err := h.List(t.Context(), ann, vector.ListQuery{})
		if err != nil || p.Total != 3 {
			t.Fatalf("after eight days %d are live, %v; want 3", p.Total, err)
		}
		if p, _ = h.List(t.Context(), ann, vector.ListQuery{State: vector.Archived}); p.Total != 1 || p.Items[0].ID != low.Memory.ID {
			t.Errorf("archived: %+v", p)
		}
		if _, err := h.Restore(t.Context(), ann, "", low.Memory.ID); err != nil {
			t.Error(err)
		}
		if got := h.find(t, ann, vector.Query{Text: "picnic rained", TopK: 1}); len(got) != 1 || got[0] != "it rained on the picnic" {
			t.Errorf("restored, but found %q", got)
		}
		time.Sleep(400 * day)
		if p, _ = h.List(t.Context(), ann, vector.ListQuery{}); p.Total != 1 || p.Items[0].Importance != vector.High {
			t.Errorf("after a year %+v are live; want the important one", p.Items)
		}
		h.Close()
		h.db.Close()
	})
}

func TestUsageSurvivesClose(t *testing.T) { storetest.Each(t, testUsageSurvivesClose) }

func testUsageSurvivesClose(t *testing.T, e storetest.Engine) {
	at := e.New(t)
	h := openAt(t, at, vector.Options{})
	w := h.write(t, ann, vector.Draft{Content: "the spare key is under the mat"})
	h.find(t, ann, vector.Query{Text: "key"})
	if err := h.Service.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := openAt(t, at, vector.Options{}).Get(t.Context(), ann, "", w.Memory.ID)
	if err != nil || m.LastUsedAt.IsZero() {
		t.Errorf("after closing: %+v, %v", m, err)
	}
}

// The cache of partitions is bounded: many partitions are searched under a small budget.
func TestCacheBudget(t *testing.T) { storetest.Each(t, testCacheBudget) }

func testCacheBudget(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{CacheBytes: 1})
	for i := range 20 {
		c := caller.Caller{User: fmt.Sprintf("user%d", i), Platform: "Local"}
		h.write(t, c, vector.Draft{Content: fmt.Sprintf("secret number%d", i)})
	}
	for i := range 20 {
		c := caller.Caller{User: fmt.Sprintf("user%d", i), Platform: "Local"}
		if got := h.find(t, c, vector.Query{Text: "secret"}); !slices.Equal(got, []string{fmt.Sprintf("secret number%d", i)}) {
			t.Errorf("user%d finds %q", i, got)
		}
	}
}
