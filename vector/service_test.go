package vector_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/vector"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// hashed stands for a model: each word has a direction of its own, so that texts that
// share words are near each other. It can be made to fail, as a server does.
type hashed struct {
	dim  int
	down atomic.Bool
}

var errDown = errors.New("connection refused")

func (h *hashed) Space() embedding.Space {
	return embedding.Space{Protocol: "test", Model: "hashed", Dim: h.dim, Version: "1"}
}

func (h *hashed) embed(text string) []float32 {
	v := make([]float32, h.dim)
	var sum float64
	for _, w := range strings.Fields(strings.ToLower(text)) {
		f := fnv.New64a()
		f.Write([]byte(w))
		x := f.Sum64()
		for range 8 {
			x = x*6364136223846793005 + 1442695040888963407
			v[(x>>33)%uint64(h.dim)] += 1
		}
	}
	for _, x := range v {
		sum += float64(x * x)
	}
	if sum == 0 {
		return nil
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (h *hashed) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	if h.down.Load() {
		return nil, errDown
	}
	return h.embed(text), nil
}

func (h *hashed) EmbedDocuments(_ context.Context, texts []string) ([]embedding.Passages, error) {
	if h.down.Load() {
		return nil, errDown
	}
	out := make([]embedding.Passages, len(texts))
	for i, t := range texts {
		if v := h.embed(t); v != nil {
			out[i] = embedding.Passages{v}
		}
	}
	return out, nil
}

// home is a store, as one process sees it.
type home struct {
	*vector.Service
	db  *store.DB
	emb *hashed
}

// openHome opens a store in a file.
func openHome(t testing.TB, path string, o vector.Options) *home {
	t.Helper()
	return openAt(t, storetest.Home{Path: path}, o)
}

// newHome makes a store in a file.
func newHome(t testing.TB, o vector.Options) *home {
	t.Helper()
	return openHome(t, filepath.Join(t.TempDir(), "v.db"), o)
}

// newOn makes a store with an engine.
func newOn(t testing.TB, e storetest.Engine, o vector.Options) *home {
	t.Helper()
	return openAt(t, e.New(t), o)
}

func openAt(t testing.TB, at storetest.Home, o vector.Options) *home {
	t.Helper()
	db := at.Open(t)
	emb := &hashed{dim: 64}
	s, err := vector.New(t.Context(), db, emb, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &home{s, db, emb}
}

var (
	ann = caller.Caller{User: "ann", Platform: "Local"}
	bob = caller.Caller{User: "bob", Platform: "Local"}
)

func in(c caller.Caller, group string, role caller.Role) caller.Caller {
	c.Group, c.Role = group, role
	return c
}

func (h *home) write(t testing.TB, c caller.Caller, d vector.Draft) vector.Written {
	t.Helper()
	w, err := h.Write(t.Context(), c, d)
	if err != nil {
		t.Fatalf("write %q: %v", d.Content, err)
	}
	return w
}

func (h *home) find(t testing.TB, c caller.Caller, q vector.Query) []string {
	t.Helper()
	r, err := h.Search(t.Context(), c, q)
	if err != nil {
		t.Fatalf("search %q: %v", q.Text, err)
	}
	var out []string
	for _, hit := range r.Hits {
		out = append(out, hit.Content)
	}
	return out
}

func TestWriteAndSearch(t *testing.T) { storetest.Each(t, testWriteAndSearch) }

func testWriteAndSearch(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	w := h.write(t, ann, vector.Draft{Content: "Ann keeps bees in Porto", Tags: []string{"hobby", "hobby", " "}, Importance: vector.High})
	if len(w.Memory.ID) != 32 || !slices.Equal(w.Memory.Tags, []string{"hobby"}) || w.Memory.SaidBy != "ann" {
		t.Errorf("written as %+v", w.Memory)
	}
	h.write(t, ann, vector.Draft{Content: "the boiler was serviced in March"})
	r, err := h.Search(t.Context(), ann, vector.Query{Text: "who keeps bees?"})
	if err != nil || len(r.Hits) == 0 || r.Hits[0].ID != w.Memory.ID {
		t.Fatalf("search gives %+v, %v", r, err)
	}
	if r.Total != 2 || r.Degraded != "" || r.Hits[0].Distance == nil {
		t.Errorf("result %+v: want total 2, not degraded, with a distance", r)
	}
	if got := h.find(t, bob, vector.Query{Text: "bees"}); len(got) != 0 {
		t.Errorf("bob finds ann's memories: %q", got)
	}
}

func TestDuplicate(t *testing.T) { storetest.Each(t, testDuplicate) }

func testDuplicate(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	first := h.write(t, ann, vector.Draft{Content: "likes  green tea"})
	again := h.write(t, ann, vector.Draft{Content: "likes green\ntea", Tags: []string{"other"}})
	if again.DuplicateOf != first.Memory.ID || again.Memory.Seen != 2 || len(again.Memory.Tags) != 0 {
		t.Errorf("the same content again gives %+v", again)
	}
	private := h.write(t, ann, vector.Draft{Content: "likes green tea", Private: true})
	if private.DuplicateOf != first.Memory.ID || !private.Memory.Private {
		t.Errorf("asking for privacy the second time gives %+v", private)
	}
	if again = h.write(t, ann, vector.Draft{Content: "likes green tea"}); !again.Memory.Private {
		t.Error("saying it again without privacy made it public")
	}
	page, err := h.List(t.Context(), ann, vector.ListQuery{})
	if err != nil || page.Total != 1 {
		t.Errorf("list %+v, %v: want one memory", page, err)
	}
}

func TestSupersede(t *testing.T) { storetest.Each(t, testSupersede) }

func testSupersede(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{Limit: 1})
	old := h.write(t, ann, vector.Draft{Content: "I love Chinese food"})
	now := h.write(t, ann, vector.Draft{Content: "I hate Chinese food", Supersedes: old.Memory.ID})
	if now.Superseded != old.Memory.ID {
		t.Errorf("superseded %q", now.Superseded)
	}
	if got := h.find(t, ann, vector.Query{Text: "Chinese food"}); !slices.Equal(got, []string{"I hate Chinese food"}) {
		t.Errorf("found %q", got)
	}
	m, err := h.Get(t.Context(), ann, "", old.Memory.ID)
	if err != nil || m.State != vector.Superseded || m.SupersededBy != now.Memory.ID {
		t.Errorf("the old one is %+v, %v", m, err)
	}
	if _, err := h.Write(t.Context(), ann, vector.Draft{Content: "third", Supersedes: old.Memory.ID}); !errors.Is(err, vector.ErrState) {
		t.Errorf("superseding twice: %v", err)
	}
	if _, err := h.Write(t.Context(), bob, vector.Draft{Content: "bob's", Supersedes: now.Memory.ID}); !errors.Is(err, vector.ErrNotFound) {
		t.Errorf("superseding another's memory: %v", err)
	}
	if got := h.find(t, bob, vector.Query{Text: "bob's"}); len(got) != 0 {
		t.Errorf("a refused write stored %q", got)
	}
}

func TestFullPartition(t *testing.T) { storetest.Each(t, testFullPartition) }

func testFullPartition(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{Limit: 6})
	for i := range 6 {
		imp := vector.High
		if i == 4 {
			imp = vector.Low
		}
		h.write(t, ann, vector.Draft{Content: fmt.Sprintf("fact number%d about thing%d", i, i), Importance: imp})
	}
	_, err := h.Write(t.Context(), ann, vector.Draft{Content: "fact number2 about thing2 and more"})
	var full *vector.LimitError
	if !errors.As(err, &full) || full.Count != 6 || full.Limit != 6 || len(full.Candidates) != 5 {
		t.Fatalf("seventh write: %v, %+v", err, full)
	}
	if full.Candidates[0].Content != "fact number2 about thing2" {
		t.Errorf("the first candidate is %+v, want the one to merge with", full.Candidates[0])
	}
	if !slices.ContainsFunc(full.Candidates, func(m vector.Memory) bool { return m.Importance == vector.Low }) {
		t.Errorf("the candidates are %+v, want the unimportant one among them", full.Candidates)
	}
	h.write(t, ann, vector.Draft{Content: "one more", Supersedes: full.Candidates[0].ID})
	h.write(t, bob, vector.Draft{Content: "bob has room"})
}

func TestChange(t *testing.T) { storetest.Each(t, testChange) }

func testChange(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	w := h.write(t, ann, vector.Draft{Content: "the car is red", Tags: []string{"car"}})
	id := w.Memory.ID
	text, high := "the car is blue", vector.High
	u, err := h.Update(t.Context(), ann, "", id, vector.Patch{Content: &text, Importance: &high})
	if err != nil || u.Memory.Content != text || !slices.Equal(u.Memory.Tags, []string{"car"}) || !u.Memory.CreatedAt.Equal(w.Memory.CreatedAt) {
		t.Fatalf("update gives %+v, %v", u.Memory, err)
	}
	if got := h.find(t, ann, vector.Query{Text: "blue"}); !slices.Equal(got, []string{text}) {
		t.Errorf("after the update found %q", got)
	}
	if _, err := h.Update(t.Context(), ann, "", id, vector.Patch{}); !errors.Is(err, vector.ErrInvalid) {
		t.Errorf("an update of nothing: %v", err)
	}
	if _, err := h.Delete(t.Context(), bob, "", id); !errors.Is(err, vector.ErrNotFound) {
		t.Errorf("deleting another's memory: %v", err)
	}
	if _, err := h.Delete(t.Context(), ann, "", id); err != nil {
		t.Fatal(err)
	}
	if got := h.find(t, ann, vector.Query{Text: "blue car"}); len(got) != 0 {
		t.Errorf("a deleted memory is found: %q", got)
	}
	if _, err := h.Delete(t.Context(), ann, "", id); !errors.Is(err, vector.ErrState) {
		t.Errorf("deleting twice: %v", err)
	}
	if _, err := h.Restore(t.Context(), ann, "", id); err != nil {
		t.Fatal(err)
	}
	if got := h.find(t, ann, vector.Query{Text: "blue car"}); !slices.Equal(got, []string{text}) {
		t.Errorf("after restoring found %q", got)
	}
	entries, err := h.History(t.Context(), ann, "", id)
	var actions []string
	for _, e := range entries {
		actions = append(actions, string(e.Action))
	}
	if want := []string{"restore", "delete", "update", "create"}; err != nil || !slices.Equal(actions, want) {
		t.Errorf("history %q, %v; want %q", actions, err, want)
	}
	if !strings.Contains(string(entries[2].Before), "red") {
		t.Errorf("the entry of the update has lost what stood before: %s", entries[2].Before)
	}
}

func TestRevert(t *testing.T) { storetest.Each(t, testRevert) }

func testRevert(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	w := h.write(t, ann, vector.Draft{Content: "the car is red", Tags: []string{"car"}})
	text := "the car is blue"
	if _, err := h.Update(t.Context(), ann, "", w.Memory.ID, vector.Patch{Content: &text, Tags: &[]string{}}); err != nil {
		t.Fatal(err)
	}
	entries, err := h.History(t.Context(), ann, "", w.Memory.ID)
	if err != nil || len(entries) != 2 {
		t.Fatalf("history %+v, %v", entries, err)
	}
	r, err := h.Revert(t.Context(), ann, "", w.Memory.ID, entries[1].Seq)
	if err != nil || r.Memory.Content != "the car is red" || !slices.Equal(r.Memory.Tags, []string{"car"}) {
		t.Errorf("reverted to %+v, %v", r.Memory, err)
	}
	if got := h.find(t, ann, vector.Query{Text: "red car"}); !slices.Equal(got, []string{"the car is red"}) {
		t.Errorf("found %q", got)
	}
	other := h.write(t, ann, vector.Draft{Content: "the bike is green"})
	if _, err := h.Revert(t.Context(), ann, "", other.Memory.ID, entries[1].Seq); !errors.Is(err, vector.ErrNotFound) {
		t.Errorf("reverting to another memory's change: %v", err)
	}
}

func TestGroupRules(t *testing.T) { storetest.Each(t, testGroupRules) }

func testGroupRules(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	member, admin := in(ann, "g", caller.RoleMember), in(bob, "g", caller.RoleAdmin)
	w := h.write(t, member, vector.Draft{Content: "the group meets on Friday", Scope: caller.ScopeGroup})
	id := w.Memory.ID
	text := "the group meets on Sunday"
	refusals := map[string]func(c caller.Caller) error{
		"update": func(c caller.Caller) error {
			_, err := h.Update(t.Context(), c, caller.ScopeGroup, id, vector.Patch{Content: &text})
			return err
		},
		"delete": func(c caller.Caller) error { _, err := h.Delete(t.Context(), c, caller.ScopeGroup, id); return err },
		"supersede": func(c caller.Caller) error {
			_, err := h.Write(t.Context(), c, vector.Draft{Content: text, Scope: caller.ScopeGroup, Supersedes: id})
			return err
		},
		"restore": func(c caller.Caller) error { _, err := h.Restore(t.Context(), c, caller.ScopeGroup, id); return err },
	}
	for name, do := range refusals {
		for _, c := range []caller.Caller{member, in(ann, "g", caller.RoleNone)} {
			if err := do(c); !errors.Is(err, caller.ErrForbidden) {
				t.Errorf("%s by role %q: %v, want forbidden", name, c.Role, err)
			}
		}
	}
	if _, err := h.Write(t.Context(), ann, vector.Draft{Content: "x", Scope: caller.ScopeGroup}); !errors.Is(err, caller.ErrNoGroup) {
		t.Errorf("group scope in private: %v", err)
	}
	if _, err := h.Write(t.Context(), member, vector.Draft{Content: "x", Scope: caller.ScopeGroup, Private: true}); !errors.Is(err, vector.ErrInvalid) {
		t.Errorf("private in group scope: %v", err)
	}
	if err := refusals["delete"](admin); err != nil {
		t.Errorf("an admin deletes: %v", err)
	}
}

func TestPrivateDoesNotExistInGroups(t *testing.T) {
	storetest.Each(t, testPrivateDoesNotExistInGroups)
}

func testPrivateDoesNotExistInGroups(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{Limit: 3})
	secret := h.write(t, ann, vector.Draft{Content: "ann is expecting a child", Private: true})
	h.write(t, ann, vector.Draft{Content: "ann likes jazz"})
	g := in(ann, "g", caller.RoleOwner)
	if got := h.find(t, g, vector.Query{Text: "ann expecting child"}); !slices.Equal(got, []string{"ann likes jazz"}) {
		t.Errorf("in the group found %q", got)
	}
	if page, err := h.List(t.Context(), g, vector.ListQuery{}); err != nil || page.Total != 1 {
		t.Errorf("in the group listed %+v, %v", page, err)
	}
	if w := h.write(t, g, vector.Draft{Content: "ann is expecting a child now"}); len(w.Similar) != 0 {
		t.Errorf("the private memory shows up as similar: %+v", w.Similar)
	}
	for name, err := range map[string]error{
		"get":     second(h.Get(t.Context(), g, "", secret.Memory.ID)),
		"delete":  second(h.Delete(t.Context(), g, "", secret.Memory.ID)),
		"history": second(h.History(t.Context(), g, "", secret.Memory.ID)),
		"prefix":  second(h.Resolve(t.Context(), g, "", secret.Memory.ID[:12], "")),
	} {
		if !errors.Is(err, vector.ErrNotFound) {
			t.Errorf("%s of a private memory in a group: %v", name, err)
		}
	}
	_, err := h.Write(t.Context(), g, vector.Draft{Content: "a fourth"})
	var full *vector.LimitError
	if !errors.As(err, &full) {
		t.Fatalf("fourth write: %v", err)
	}
	for _, m := range full.Candidates {
		if m.Private {
			t.Errorf("the private memory is offered as a candidate: %+v", m)
		}
	}
	if st, err := h.Stats(t.Context(), g, ""); err != nil || st.ByState[vector.Live] != 2 {
		t.Errorf("statistics in the group: %+v, %v", st, err)
	}
}

// Who says in a group what they once kept private does not learn there that it was.
func TestPrivateTwin(t *testing.T) { storetest.Each(t, testPrivateTwin) }

func testPrivateTwin(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	g := in(ann, "g", caller.RoleOwner)
	secret := h.write(t, ann, vector.Draft{Content: "ann is expecting a child", Private: true, Tags: []string{"health"}})
	open := h.write(t, g, vector.Draft{Content: "ann is expecting a child"})
	if open.DuplicateOf != "" || open.Memory.ID == secret.Memory.ID || open.Memory.Private || len(open.Memory.Tags) != 0 {
		t.Errorf("said in the group: %+v", open)
	}
	if again := h.write(t, g, vector.Draft{Content: "ann is expecting a child"}); again.DuplicateOf != open.Memory.ID {
		t.Errorf("said in the group again: %+v", again)
	}
	if got := h.find(t, g, vector.Query{Text: "expecting"}); len(got) != 1 {
		t.Errorf("in the group found %q", got)
	}
	// Asking for privacy in the group takes the open one away and tells nothing more.
	kept := h.write(t, g, vector.Draft{Content: "ann is expecting a child", Private: true})
	if kept.DuplicateOf != "" || !kept.Memory.Private || len(kept.Memory.Tags) != 0 {
		t.Errorf("kept private in the group: %+v", kept)
	}
	if got := h.find(t, g, vector.Query{Text: "expecting"}); len(got) != 0 {
		t.Errorf("in the group still found %q", got)
	}
	p, err := h.List(t.Context(), ann, vector.ListQuery{})
	if err != nil || p.Total != 1 || p.Items[0].ID != secret.Memory.ID {
		t.Errorf("in private: %+v, %v; want the first memory alone", p, err)
	}
	if _, err := h.Restore(t.Context(), ann, "", open.Memory.ID); !errors.Is(err, vector.ErrInvalid) {
		t.Errorf("restoring the open twin in private: %v", err)
	}
	var counted int
	err = h.db.Read(t.Context(), func(g *gorm.DB) error {
		return g.Raw("SELECT live FROM partitions WHERE key = 'Local_Private_ann'").Row().Scan(&counted)
	})
	if err != nil || counted != 1 {
		t.Errorf("counted %d, %v", counted, err)
	}
}

// The id of a private memory does not show through what it replaced.
func TestPrivateSuccessor(t *testing.T) { storetest.Each(t, testPrivateSuccessor) }

func testPrivateSuccessor(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	g := in(ann, "g", caller.RoleOwner)
	old := h.write(t, ann, vector.Draft{Content: "ann lives in Porto"})
	secret := h.write(t, ann, vector.Draft{Content: "ann hides in Faro", Private: true, Supersedes: old.Memory.ID})
	m, err := h.Get(t.Context(), g, "", old.Memory.ID)
	if err != nil || m.SupersededBy != "" {
		t.Errorf("in the group the old memory is %+v, %v", m, err)
	}
	entries, err := h.History(t.Context(), g, "", old.Memory.ID)
	if err != nil || len(entries) != 2 || strings.Contains(string(entries[0].After), secret.Memory.ID) {
		t.Errorf("in the group its history is %+v, %v", entries, err)
	}
	text := "ann lives in Braga"
	if _, err := h.Update(t.Context(), g, "", old.Memory.ID, vector.Patch{Content: &text}); !errors.Is(err, vector.ErrState) || strings.Contains(err.Error(), secret.Memory.ID) {
		t.Errorf("in the group an update says %v", err)
	}
	if m, err = h.Get(t.Context(), ann, "", old.Memory.ID); err != nil || m.SupersededBy != secret.Memory.ID {
		t.Errorf("in private the old memory is %+v, %v", m, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestDenyGroups(t *testing.T) { storetest.Each(t, testDenyGroups) }

func testDenyGroups(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{DenyGroups: true})
	h.write(t, ann, vector.Draft{Content: "ann likes jazz"})
	if _, err := h.Search(t.Context(), in(ann, "g", ""), vector.Query{Text: "jazz"}); !errors.Is(err, vector.ErrDenied) {
		t.Errorf("search in a group: %v", err)
	}
	if got := h.find(t, ann, vector.Query{Text: "jazz"}); len(got) != 1 {
		t.Errorf("in private found %q", got)
	}
}

func TestFiltersComeBeforeRanking(t *testing.T) { storetest.Each(t, testFiltersComeBeforeRanking) }

func testFiltersComeBeforeRanking(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{Limit: 1000})
	for i := range 200 {
		h.write(t, ann, vector.Draft{Content: fmt.Sprintf("apple pie recipe %d apple", i), Tags: []string{"100"}})
	}
	h.write(t, ann, vector.Draft{Content: "an apple a day", Tags: []string{`100%_done\*[`, "x"}, Importance: vector.High})
	for _, q := range []vector.Query{
		{Text: "apple pie recipe", Tags: []string{`100%_done\*[`}},
		{Text: "apple pie recipe", Importance: vector.High},
		{Text: "apple pie recipe", Tags: []string{"x"}, Importance: vector.High},
	} {
		if got := h.find(t, ann, q); !slices.Equal(got, []string{"an apple a day"}) {
			t.Errorf("%+v finds %q", q, got)
		}
	}
	page, err := h.List(t.Context(), ann, vector.ListQuery{Tags: []string{`100%_done\*[`}})
	if err != nil || page.Total != 1 {
		t.Errorf("list by an odd tag: %+v, %v", page, err)
	}
}

func TestListPages(t *testing.T) { storetest.Each(t, testListPages) }

func testListPages(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	for i := range 25 {
		h.write(t, ann, vector.Draft{Content: fmt.Sprintf("memory %d", i)})
	}
	var seen []string
	cursor := ""
	for {
		p, err := h.List(t.Context(), ann, vector.ListQuery{Cursor: cursor})
		if err != nil || p.Total != 25 {
			t.Fatalf("page: %+v, %v", p, err)
		}
		for _, m := range p.Items {
			seen = append(seen, m.Content)
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 25 || seen[0] != "memory 24" || seen[24] != "memory 0" {
		t.Errorf("the pages give %q", seen)
	}
	for _, bad := range []string{"x", "!!", "MQ"} {
		if _, err := h.List(t.Context(), ann, vector.ListQuery{Cursor: bad}); !errors.Is(err, vector.ErrInvalid) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

func TestBadInput(t *testing.T) { storetest.Each(t, testBadInput) }

func testBadInput(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	for name, d := range map[string]vector.Draft{
		"empty":      {Content: ""},
		"blank":      {Content: " \n\t"},
		"too long":   {Content: strings.Repeat("界", 8001)},
		"importance": {Content: "x", Importance: "urgent"},
		"tag":        {Content: "x", Tags: []string{strings.Repeat("t", 65)}},
		"tags":       {Content: "x", Tags: manyTags(33)},
		"supersedes": {Content: "x", Supersedes: "1234"},
	} {
		if _, err := h.Write(t.Context(), ann, d); !errors.Is(err, vector.ErrInvalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	for _, k := range []int{-1, 51, 1_000_000} {
		if _, err := h.Search(t.Context(), ann, vector.Query{Text: "x", TopK: k}); !errors.Is(err, vector.ErrInvalid) {
			t.Errorf("top_k %d: %v", k, err)
		}
	}
	if _, err := h.Search(t.Context(), ann, vector.Query{Text: "x", Scope: "everyone"}); !errors.Is(err, caller.ErrInvalid) {
		t.Errorf("unknown scope: %v", err)
	}
	h.write(t, ann, vector.Draft{Content: strings.Repeat("界", 8000), Tags: manyTags(32)})
	for _, q := range []string{"", "?!…。", "\x00\xff", "don't", "NOTE: fix", strings.Repeat("a ", 10000)} {
		h.find(t, ann, vector.Query{Text: q})
	}
}

func manyTags(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("tag%d", i)
	}
	return out
}

func TestDamagedTagsKeepTheMemory(t *testing.T) { storetest.Each(t, testDamagedTagsKeepTheMemory) }

func testDamagedTagsKeepTheMemory(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	w := h.write(t, ann, vector.Draft{Content: "the spare key is under the mat", Tags: []string{"home"}})
	h.write(t, ann, vector.Draft{Content: "the boiler was serviced in March"})
	if err := h.db.Exec(t.Context(), "UPDATE memories SET tags = '[\"ho' WHERE id = ?", w.Memory.ID); err != nil {
		t.Fatal(err)
	}
	if got := h.find(t, ann, vector.Query{Text: "spare key"}); len(got) == 0 || got[0] != "the spare key is under the mat" {
		t.Errorf("found %q", got)
	}
	if p, err := h.List(t.Context(), ann, vector.ListQuery{Tags: []string{"home"}}); err != nil || p.Total != 0 {
		t.Errorf("list by a tag: %+v, %v", p, err)
	}
	text := "the spare key is in the shed"
	if _, err := h.Update(t.Context(), ann, "", w.Memory.ID, vector.Patch{Content: &text}); err != nil {
		t.Errorf("update: %v", err)
	}
	tags := []string{"home"}
	if u, err := h.Update(t.Context(), ann, "", w.Memory.ID, vector.Patch{Tags: &tags}); err != nil || !slices.Equal(u.Memory.Tags, tags) {
		t.Errorf("new tags: %+v, %v", u.Memory, err)
	}
	if p, err := h.List(t.Context(), ann, vector.ListQuery{Tags: tags}); err != nil || p.Total != 1 {
		t.Errorf("list by the new tag: %+v, %v", p, err)
	}
}

// Memories written without an embedder get their vectors once there is one. The time of
// the test stands still while anyone waits for a server, so this and others of its kind
// are tests of the file alone.
func TestEmbedderComesLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	synctest.Test(t, func(t *testing.T) {
		db, err := store.Open(t.Context(), path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		emb := &hashed{dim: 64}
		for i, with := range []vector.Embedder{emb, nil, emb} {
			s, err := vector.New(t.Context(), db, with, vector.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(t.Context(), ann, vector.Draft{Content: fmt.Sprintf("written by program %d", i)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			st, err := s.Stats(t.Context(), ann, "")
			if err != nil || with != nil && st.Pending != 0 {
				t.Errorf("program %d: %+v, %v", i, st, err)
			}
			s.Close()
		}
		var missing int
		err = db.Read(t.Context(), func(g *gorm.DB) error {
			return g.Raw("SELECT COUNT(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = m.rid)").Row().Scan(&missing)
		})
		if err != nil || missing != 0 {
			t.Errorf("%d memories have no vector, %v", missing, err)
		}
		db.Close()
	})
}

func TestDamagedVectorKeepsTheMemory(t *testing.T) {
	storetest.Each(t, testDamagedVectorKeepsTheMemory)
}

func testDamagedVectorKeepsTheMemory(t *testing.T, e storetest.Engine) {
	at := e.New(t)
	h := openAt(t, at, vector.Options{})
	w := h.write(t, ann, vector.Draft{Content: "the spare key is under the mat"})
	h.write(t, ann, vector.Draft{Content: "the boiler was serviced in March"})
	if err := h.db.Exec(t.Context(), "UPDATE vectors SET emb = ? WHERE rid = (SELECT rid FROM memories WHERE id = ?)", []byte{0x07, 0xff}, w.Memory.ID); err != nil {
		t.Fatal(err)
	}
	other := openAt(t, at, vector.Options{})
	if got := other.find(t, ann, vector.Query{Text: "spare key"}); len(got) == 0 || got[0] != "the spare key is under the mat" {
		t.Errorf("found %q", got)
	}
}
