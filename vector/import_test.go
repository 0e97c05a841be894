package vector_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"pgregory.net/rapid"

	"reverie/internal/caller"
	"reverie/internal/raceflag"
	"reverie/journal"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/vector"
	"reverie/vector/index"
)

const annPart = "Local_Private_ann"

func id(n int) string { return fmt.Sprintf("%032x", n) }

var day = time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)

// given is a memory as another store may have written it.
func given(n int, content string, change ...func(*vector.Memory)) vector.Memory {
	m := vector.Memory{
		ID: id(n), Scope: caller.ScopeUser, Content: content, Tags: []string{}, Importance: vector.Medium, SaidBy: "ann",
		Source: vector.FromUser, CreatedAt: day, UpdatedAt: day, State: vector.Live, Seen: 1,
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func private(m *vector.Memory) { m.Private = true }

func by(id string) func(*vector.Memory) {
	return func(m *vector.Memory) { m.State, m.SupersededBy = vector.Superseded, id }
}

func state(s vector.State) func(*vector.Memory) { return func(m *vector.Memory) { m.State = s } }

func at(t time.Time) func(*vector.Memory) { return func(m *vector.Memory) { m.UpdatedAt = t } }

func (h *home) bring(t testing.TB, o vector.ImportOptions, ms ...vector.Memory) vector.ImportReport {
	t.Helper()
	r, err := h.Import(t.Context(), annPart, ms, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// counts is what a report says in short.
func counts(r vector.ImportReport) string {
	return fmt.Sprintf("added %d known %d replaced %d kept %d refused %d live %d", r.Added, r.Known, r.Replaced, r.Kept, len(r.Refused), r.Live)
}

// all returns every memory of ann's partition by id, and checks that the store is sound.
func (h *home) all(t testing.TB) map[string]vector.Memory {
	t.Helper()
	out := map[string]vector.Memory{}
	live := 0
	for _, s := range []vector.State{vector.Live, vector.Archived, vector.Superseded, vector.Deleted} {
		for cursor := ""; ; {
			p, err := h.List(t.Context(), ann, vector.ListQuery{State: s, Limit: 100, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range p.Items {
				m.Pending = false
				out[m.ID] = m
			}
			if s == vector.Live {
				live = p.Total
			}
			if cursor = p.Next; cursor == "" {
				break
			}
		}
	}
	err := h.db.Read(t.Context(), func(g *gorm.DB) error {
		var counted int
		if err := g.Raw("SELECT COALESCE(SUM(live), 0) FROM partitions WHERE key = ?", annPart).Row().Scan(&counted); err != nil {
			return err
		}
		if counted != live {
			t.Errorf("the partition counts %d live memories and has %d", counted, live)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportKeepsEverything(t *testing.T) { storetest.Each(t, testImportKeepsEverything) }

func testImportKeepsEverything(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{Limit: 3})
	h.emb.down.Store(true) // or the vectors that are filled in make versions of their own
	later := day.Add(time.Hour)
	ms := []vector.Memory{
		given(1, " kept with its blanks \n", func(m *vector.Memory) {
			m.Tags, m.Importance, m.Private, m.SaidBy, m.Source = []string{`a "b"`, "標籤"}, vector.High, true, "张三", vector.FromConsolidation
			m.Conversation, m.EventTime, m.LastUsedAt, m.Seen, m.UpdatedAt = "c1", later, later, 7, later
		}),
		given(2, "old address", by(id(3))),
		given(3, "new address"),
		given(4, "gone", state(vector.Deleted), func(m *vector.Memory) { m.DeletedAt = later }),
		given(5, "hidden", state(vector.Archived), func(m *vector.Memory) { m.ArchivedAt = later }),
		given(6, "one more"),
		given(7, "more than the limit"),
	}
	r := h.bring(t, vector.ImportOptions{By: journal.Origin{Actor: "op", Source: "command"}}, ms...)
	if got, want := counts(r), "added 7 known 0 replaced 0 kept 0 refused 0 live 4"; got != want || r.Limit != 3 || r.Pending != 4 {
		t.Errorf("%s, limit %d, %d pending; want %s, 3, 4", got, r.Limit, r.Pending, want)
	}
	want := map[string]vector.Memory{}
	for _, m := range ms {
		m.Partition = annPart
		want[m.ID] = m
	}
	if d := cmp.Diff(want, h.all(t)); d != "" {
		t.Errorf("stored (+) is not what was given (-):\n%s", d)
	}
	if found := h.find(t, ann, vector.Query{Text: "new address"}); len(found) == 0 || found[0] != "new address" {
		t.Errorf("search gives %q", found)
	}
	hist, err := h.History(t.Context(), ann, caller.ScopeUser, id(4))
	if err != nil || len(hist) != 1 || hist[0].Action != journal.Create || hist[0].Actor != "op" {
		t.Errorf("history %+v, %v", hist, err)
	}
	v, _ := h.db.Version(t.Context(), annPart)
	if got, want := counts(h.bring(t, vector.ImportOptions{OnConflict: vector.ReplaceAll}, ms...)), "added 0 known 7 replaced 0 kept 0 refused 0 live 4"; got != want {
		t.Errorf("again: %s, want %s", got, want)
	}
	if again, _ := h.db.Version(t.Context(), annPart); again != v {
		t.Errorf("importing the same again made version %d of %d", again, v)
	}
}

func TestImportConflicts(t *testing.T) { storetest.Each(t, testImportConflicts) }

func testImportConflicts(t *testing.T, e storetest.Engine) {
	newer, older := day.Add(time.Hour), day.Add(-time.Hour)
	type mem = vector.Memory
	for _, tt := range []struct {
		name   string
		policy vector.Conflict
		have   []mem
		bring  []mem
		counts string
		want   map[string]string // id: state and content
	}{
		{"kept", "", []mem{given(1, "a")}, []mem{given(1, "b", at(newer))}, "added 0 known 0 replaced 0 kept 1 refused 0 live 1", map[string]string{id(1): "live a"}},
		{"replaced", vector.ReplaceAll, []mem{given(1, "a")}, []mem{given(1, "b", at(older))}, "added 0 known 0 replaced 1 kept 0 refused 0 live 1", map[string]string{id(1): "live b"}},
		{"replaced by a newer one", vector.ReplaceOlder, []mem{given(1, "a")}, []mem{given(1, "b", at(newer))}, "added 0 known 0 replaced 1 kept 0 refused 0 live 1", map[string]string{id(1): "live b"}},
		{"not replaced by an older one", vector.ReplaceOlder, []mem{given(1, "a")}, []mem{given(1, "b", at(older))}, "added 0 known 0 replaced 0 kept 1 refused 0 live 1", map[string]string{id(1): "live a"}},
		{"deleted", vector.ReplaceAll, []mem{given(1, "a")}, []mem{given(1, "a", state(vector.Deleted))}, "added 0 known 0 replaced 1 kept 0 refused 0 live 0", map[string]string{id(1): "deleted a"}},
		{"brought back", vector.ReplaceAll, []mem{given(1, "a", state(vector.Archived))}, []mem{given(1, "a")}, "added 0 known 0 replaced 1 kept 0 refused 0 live 1", map[string]string{id(1): "live a"}},
		{"known under another id", vector.ReplaceAll, []mem{given(1, "a")}, []mem{given(2, " a ")}, "added 0 known 1 replaced 0 kept 0 refused 0 live 1", map[string]string{id(1): "live a"}},
		{"twice in what comes", "", nil, []mem{given(1, "a"), given(2, "a")}, "added 1 known 1 replaced 0 kept 0 refused 0 live 1", map[string]string{id(1): "live a"}},
		{"dead ones may repeat", "", []mem{given(1, "a")}, []mem{given(2, "a", state(vector.Deleted)), given(3, "a", state(vector.Archived))}, "added 2 known 0 replaced 0 kept 0 refused 0 live 1", map[string]string{id(1): "live a", id(2): "deleted a", id(3): "archived a"}},
		{"superseded by a known one", "", []mem{given(9, "new")}, []mem{given(1, "old", by(id(2))), given(2, "new")}, "added 1 known 1 replaced 0 kept 0 refused 0 live 1", map[string]string{id(9): "live new", id(1): "superseded old by " + id(9)}},
		{"superseded by one of its own content", vector.ReplaceAll, []mem{given(1, "a")}, []mem{given(1, "a", by(id(2))), given(2, "a")}, "added 1 known 0 replaced 1 kept 0 refused 0 live 1", map[string]string{id(1): "superseded a by " + id(2), id(2): "live a"}},
		{"a content moves on", vector.ReplaceAll, []mem{given(2, "a")}, []mem{given(1, "a"), given(2, "b")}, "added 1 known 0 replaced 1 kept 0 refused 0 live 2", map[string]string{id(1): "live a", id(2): "live b"}},
		{"both of a pair", "", nil, []mem{given(1, "a", private), given(2, "a")}, "added 2 known 0 replaced 0 kept 0 refused 0 live 2", map[string]string{id(1): "live a private", id(2): "live a"}},
		{"private is not published", "", []mem{given(1, "a", private)}, []mem{given(2, "a")}, "added 0 known 1 replaced 0 kept 0 refused 0 live 1", map[string]string{id(1): "live a private"}},
		{"what is there becomes private", "", []mem{given(1, "a")}, []mem{given(2, "a", private)}, "added 0 known 1 replaced 1 kept 0 refused 0 live 1", map[string]string{id(1): "live a private"}},
		{"given twice", "", nil, []mem{given(1, "a"), given(1, "b")}, "added 1 known 0 replaced 0 kept 0 refused 1 live 1", map[string]string{id(1): "live a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := e.New(t)
			h := openAt(t, at, vector.Options{})
			h.emb.down.Store(true)
			h.bring(t, vector.ImportOptions{}, tt.have...)
			o := vector.ImportOptions{OnConflict: tt.policy, DryRun: true}
			before, v := h.all(t), version(t, h)
			if r := h.bring(t, o, tt.bring...); counts(r) != tt.counts {
				t.Errorf("dry run: %s, want %s", counts(r), tt.counts)
			}
			if d := cmp.Diff(before, h.all(t)); d != "" || version(t, h) != v {
				t.Errorf("a dry run changed version %d to %d:\n%s", v, version(t, h), d)
			}
			o.DryRun = false
			if r := h.bring(t, o, tt.bring...); counts(r) != tt.counts {
				t.Errorf("%s, want %s", counts(r), tt.counts)
			}
			got := map[string]string{}
			for id, m := range h.all(t) {
				got[id] = fmt.Sprintf("%s %s", m.State, m.Content)
				if m.Private {
					got[id] += " private"
				}
				if m.SupersededBy != "" {
					got[id] += " by " + m.SupersededBy
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("stored (+), wanted (-):\n%s", d)
			}
			after := h.all(t)
			h.bring(t, o, tt.bring...)
			if d := cmp.Diff(after, h.all(t)); d != "" {
				t.Errorf("importing again changed:\n%s", d)
			}
			if err := errors.Join(h.Close(), h.db.Close()); err != nil {
				t.Fatal(err)
			}
			if r, err := at.Open(t).Check(t.Context()); err != nil || len(r.Problems) > 0 {
				t.Errorf("check: %+v, %v", r, err)
			}
		})
	}
}

func version(t testing.TB, h *home) int64 {
	t.Helper()
	v, err := h.db.Version(t.Context(), annPart)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestImportRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*vector.Memory)
		says   string
	}{
		{"malformed id", func(m *vector.Memory) { m.ID = "x" }, "not a memory id"},
		{"upper-case id", func(m *vector.Memory) { m.ID = strings.Repeat("A", 32) }, "not a memory id"},
		{"other partition", func(m *vector.Memory) { m.Partition = "Local_Private_bob" }, "belongs to Local_Private_bob"},
		{"no content", func(m *vector.Memory) { m.Content = " \n" }, "content is empty"},
		{"long content", func(m *vector.Memory) { m.Content = strings.Repeat("密", vector.MaxContentRunes+1) }, "8001 characters"},
		{"broken content", func(m *vector.Memory) { m.Content = "a\xff" }, "content is not valid UTF-8"},
		{"NUL", func(m *vector.Memory) { m.Tags = []string{"a\x00"} }, "a tag has a NUL"},
		{"scope", func(m *vector.Memory) { m.Scope = caller.ScopeGroup }, "scope"},
		{"no scope", func(m *vector.Memory) { m.Scope = "" }, "scope"},
		{"importance", func(m *vector.Memory) { m.Importance = "urgent" }, "importance"},
		{"source", func(m *vector.Memory) { m.Source = "" }, "source"},
		{"state", func(m *vector.Memory) { m.State = "dead" }, "state"},
		{"successor", func(m *vector.Memory) { m.SupersededBy = "it" }, "superseded_by"},
		{"no time", func(m *vector.Memory) { m.CreatedAt = time.Time{} }, "created_at"},
		{"far time", func(m *vector.Memory) { m.EventTime = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) }, "year 12000"},
		{"seen", func(m *vector.Memory) { m.Seen = 0 }, "seen is 0"},
		{"tags", func(m *vector.Memory) { m.Tags = make([]string, 33) }, "33 tags"},
		{"tag twice", func(m *vector.Memory) { m.Tags = []string{"a", "a"} }, "tag 2"},
		{"long tag", func(m *vector.Memory) { m.Tags = []string{strings.Repeat("x", 65)} }, "tag 1"},
		{"long origin", func(m *vector.Memory) { m.SaidBy = strings.Repeat("x", 1001) }, "said_by"},
		{"id of another partition", func(m *vector.Memory) { m.ID = id(77) }, "belongs to another partition"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t, vector.Options{})
			if _, err := h.Import(t.Context(), "Local_Private_bob", []vector.Memory{given(77, "bob's")}, vector.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			ms := []vector.Memory{given(1, "good"), given(2, "bad", tt.change)}
			r, err := h.Import(t.Context(), annPart, ms, vector.ImportOptions{Whole: true})
			if !errors.Is(err, vector.ErrInvalid) || !strings.Contains(err.Error(), tt.says) || len(h.all(t)) != 0 {
				t.Errorf("as a whole: %v, stored %v", err, h.all(t))
			}
			if r = h.bring(t, vector.ImportOptions{OnConflict: vector.ReplaceAll}, ms...); r.Added != 1 || len(r.Refused) != 1 || r.Refused[0].Index != 1 || !strings.Contains(r.Refused[0].Reason, tt.says) {
				t.Errorf("report %+v, want one refusal that says %q", r, tt.says)
			}
			if got := h.find(t, bob, vector.Query{Text: "bob's"}); !slices.Equal(got, []string{"bob's"}) {
				t.Errorf("bob has %q", got)
			}
		})
	}
	h := newHome(t, vector.Options{})
	if _, err := h.Import(t.Context(), annPart, nil, vector.ImportOptions{OnConflict: "ask"}); !errors.Is(err, vector.ErrInvalid) {
		t.Errorf("unknown policy: %v", err)
	}
	if _, err := h.Import(t.Context(), annPart, nil, vector.ImportOptions{Vectors: [][]byte{nil}}); !errors.Is(err, vector.ErrInvalid) {
		t.Errorf("vectors without memories: %v", err)
	}
}

// Text of another program is cleaned as any writer's; what is left nothing of is refused.
func TestImportForeign(t *testing.T) { storetest.Each(t, testImportForeign) }

func testImportForeign(t *testing.T, e storetest.Engine) {
	clean := func(s string) (string, []string, error) {
		switch {
		case strings.Contains(s, "forbidden"):
			return "", nil, errors.New("no such text")
		case strings.Contains(s, "secret"):
			return strings.ReplaceAll(s, "secret", ""), []string{"took something out"}, nil
		}
		return s, nil, nil
	}
	h := newOn(t, e, vector.Options{Clean: clean})
	r := h.bring(t, vector.ImportOptions{Foreign: true},
		given(1, "  the secret code  ", func(m *vector.Memory) { m.Tags = []string{"a  b", "a b", ""} }), given(2, "secret"), given(3, "forbidden"))
	if got, want := counts(r), "added 1 known 0 replaced 0 kept 0 refused 2 live 1"; got != want || r.Notices["took something out"] != 1 {
		t.Errorf("%s, %v; want %s", got, r.Notices, want)
	}
	m := h.all(t)[id(1)]
	if m.Content != "the  code" || !slices.Equal(m.Tags, []string{"a b"}) || m.LastUsedAt.IsZero() {
		t.Errorf("stored %+v", m)
	}
	if r := h.bring(t, vector.ImportOptions{}, given(4, " the secret stays ")); r.Added != 1 || h.all(t)[id(4)].Content != " the secret stays " {
		t.Errorf("one's own text was changed: %q", h.all(t)[id(4)].Content)
	}
}

func TestImportVectors(t *testing.T) { storetest.Each(t, testImportVectors) }

func testImportVectors(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	h.emb.down.Store(true) // nothing is filled in
	var serving store.Serving
	if err := h.db.Read(t.Context(), func(g *gorm.DB) (err error) { serving, err = store.ReadServing(g); return err }); err != nil {
		t.Fatal(err)
	}
	q, err := index.Quantize(h.emb.embed("apples"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := index.EncodeVecs([]index.Vec{q})
	if err != nil {
		t.Fatal(err)
	}
	vectors := [][]byte{packed, {9, 9}, nil}
	ms := []vector.Memory{given(1, "one"), given(2, "two"), given(3, "three")}
	if r := h.bring(t, vector.ImportOptions{Space: serving.Space, Vectors: vectors}, ms...); r.Pending != 2 {
		t.Errorf("%d pending, want those without a usable vector: %+v", r.Pending, r)
	}
	h.emb.down.Store(false)
	r, err := h.Search(t.Context(), ann, vector.Query{Text: "apples"})
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range r.Hits {
		if near := hit.Distance != nil && *hit.Distance < 0.01; near != (hit.Content == "one") {
			t.Errorf("%q has distance %v", hit.Content, hit.Distance)
		}
	}
	if r.Total != 3 {
		t.Errorf("%d memories were ranked, want 3", r.Total)
	}
	if r := h.bring(t, vector.ImportOptions{Space: serving.Space + 1, Vectors: [][]byte{packed}}, given(4, "four")); r.Pending != 1 {
		t.Errorf("a vector of another space was stored: %+v", r)
	}
	if r := h.bring(t, vector.ImportOptions{OnConflict: vector.ReplaceAll}, given(1, "now about pears")); r.Replaced != 1 || r.Pending != 1 {
		t.Errorf("the vector of the old content stayed: %+v", r)
	}
}

// More than one transaction holds is imported all the same.
func TestImportMany(t *testing.T) {
	h := newHome(t, vector.Options{})
	h.emb.down.Store(true)
	n, transactions := 12_000, int64(3)
	if raceflag.Enabled {
		n, transactions = 5_200, 2
	}
	ms := make([]vector.Memory, n)
	for i := range ms {
		ms[i] = given(i+1, fmt.Sprintf("fact %d", i/2)) // each twice
	}
	r := h.bring(t, vector.ImportOptions{}, ms...)
	if got, want := counts(r), fmt.Sprintf("added %d known %d replaced 0 kept 0 refused 0 live %d", n/2, n/2, n/2); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if v := version(t, h); v != transactions {
		t.Errorf("%d transactions, want %d", v, transactions)
	}
}

// Whatever was stored before: an import never loses a live content, never publishes what
// is private, and repeated it changes nothing.
func TestImportLosesNothing(t *testing.T) { storetest.Each(t, testImportLosesNothing) }

func testImportLosesNothing(t *testing.T, e storetest.Engine) {
	h := newOn(t, e, vector.Options{})
	h.emb.down.Store(true)
	n := 0
	memory := rapid.Custom(func(t *rapid.T) vector.Memory {
		m := given(rapid.IntRange(1, 4).Draw(t, "id"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "content"))
		m.State = rapid.SampledFrom([]vector.State{vector.Live, vector.Live, vector.Deleted, vector.Superseded}).Draw(t, "state")
		if m.State == vector.Superseded {
			m.SupersededBy = id(rapid.IntRange(1, 4).Draw(t, "by"))
		}
		m.Private = rapid.Bool().Draw(t, "private")
		m.UpdatedAt = day.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "hours")) * time.Hour)
		return m
	})
	rapid.Check(t, func(rt *rapid.T) {
		n++
		if e.Name == store.Postgres && n > 12 {
			return // the rules are the same, and a server takes ten times the time
		}
		user := fmt.Sprintf("u%d", n)
		part := "Local_Private_" + user
		bring := func(o vector.ImportOptions, ms []vector.Memory) vector.ImportReport {
			own := slices.Clone(ms)
			for i := range own {
				own[i].ID = fmt.Sprintf("%016x%s", n, own[i].ID[16:])
				if own[i].SupersededBy != "" {
					own[i].SupersededBy = fmt.Sprintf("%016x%s", n, own[i].SupersededBy[16:])
				}
			}
			r, err := h.Import(t.Context(), part, own, o)
			if err != nil {
				rt.Fatal(err)
			}
			return r
		}
		live := func() map[string]bool { // content: whether all that have it are private
			p, err := h.List(t.Context(), caller.Caller{User: user, Platform: "Local"}, vector.ListQuery{Limit: 100})
			if err != nil {
				rt.Fatal(err)
			}
			out := map[string]bool{}
			for _, m := range p.Items {
				was, ok := out[m.Content]
				out[m.Content] = m.Private && (was || !ok)
			}
			return out
		}
		bring(vector.ImportOptions{}, rapid.SliceOfN(memory, 0, 4).Draw(rt, "have"))
		before := live()
		what := rapid.SliceOfNDistinct(memory, 0, 4, func(m vector.Memory) string { return m.ID }).Draw(rt, "bring")
		policy := rapid.SampledFrom([]vector.Conflict{vector.KeepStored, vector.ReplaceAll, vector.ReplaceOlder}).Draw(rt, "policy")
		o := vector.ImportOptions{OnConflict: policy}
		bring(o, what)
		after := live()
		if policy == vector.KeepStored {
			for content, was := range before {
				if is, ok := after[content]; !ok || was && !is && !slices.ContainsFunc(what, func(m vector.Memory) bool { return m.Private && m.Content == content }) {
					rt.Fatalf("%q (private: %v) is now there: %v, private: %v", content, was, ok, is)
				}
			}
		}
		if policy == vector.ReplaceAll {
			for _, m := range what {
				if _, ok := after[m.Content]; m.State == vector.Live && !ok {
					rt.Fatalf("%q came in live and is not there: %v", m.Content, slices.Collect(maps.Keys(after)))
				}
			}
		}
		v, _ := h.db.Version(t.Context(), part)
		bring(o, what)
		if again, _ := h.db.Version(t.Context(), part); again != v && policy == vector.KeepStored {
			rt.Fatalf("importing the same again made version %d of %d", again, v)
		}
	})
}
