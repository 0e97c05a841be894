package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/journal"
	"reverie/memo"
	"reverie/store"
	"reverie/store/backup"
	"reverie/vector"
)

// twoTexts embeds by the length of a text: enough to tell a vector that is there from one
// that is missing.
type twoTexts struct{ model string }

func (x twoTexts) Space() embedding.Space {
	return embedding.Space{Protocol: "test", Model: x.model, Dim: 4, Version: "1"}
}

func (x twoTexts) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	v := []float32{0, 0, 0, 0}
	v[len(text)%4] = 1
	return v, nil
}

func (x twoTexts) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Passages, error) {
	var out []embedding.Passages
	for _, t := range texts {
		v, _ := x.EmbedQuery(ctx, t)
		out = append(out, embedding.Passages{v})
	}
	return out, nil
}

// house is a home with its parts, without the command line.
type house struct {
	dir      string
	db       *store.DB
	memories *vector.Service
	memos    *memo.Store
}

func newHouse(t *testing.T, model string) *house {
	t.Helper()
	h := &house{dir: t.TempDir()}
	var err error
	if h.db, err = store.Open(t.Context(), filepath.Join(h.dir, databaseName), store.Options{Synchronous: "normal"}); err != nil {
		t.Fatal(err)
	}
	if h.memories, err = vector.New(t.Context(), h.db, twoTexts{model}, vector.Options{}); err != nil {
		t.Fatal(err)
	}
	h.memos = memo.New(h.db, memo.Options{})
	t.Cleanup(func() {
		h.memories.Close()
		h.db.Close()
	})
	return h
}

var ann = caller.Caller{User: "ann", Platform: "Local"}

func (h *house) write(t *testing.T, c caller.Caller, text string) vector.Memory {
	t.Helper()
	w, err := h.memories.Write(t.Context(), c, vector.Draft{Content: text, Tags: []string{"tag of " + text}})
	if err != nil {
		t.Fatal(err)
	}
	return w.Memory
}

func (h *house) get(t *testing.T, c caller.Caller, id string) vector.Memory {
	t.Helper()
	m, err := h.memories.Get(t.Context(), c, caller.ScopeUser, id)
	if err != nil {
		t.Fatal(err)
	}
	m.LastUsedAt = time.Time{}
	return m
}

func (h *house) edit(t *testing.T, id, text string) {
	t.Helper()
	if _, err := h.memories.Update(t.Context(), ann, caller.ScopeUser, id, vector.Patch{Content: &text}); err != nil {
		t.Fatal(err)
	}
}

func (h *house) trash(t *testing.T, id string) {
	t.Helper()
	if _, err := h.memories.Delete(t.Context(), ann, caller.ScopeUser, id); err != nil {
		t.Fatal(err)
	}
}

func (h *house) remember(t *testing.T, c caller.Caller, text string) {
	t.Helper()
	if _, _, err := h.memos.Set(t.Context(), c, text, nil); err != nil {
		t.Fatal(err)
	}
}

func (h *house) file(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *house) create(t *testing.T) string {
	t.Helper()
	i, err := backup.Create(t.Context(), h.db, h.dir, backup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return i.Path
}

func (h *house) restore(t *testing.T, path string, mode backup.Mode) backup.Result {
	t.Helper()
	o := backup.RestoreOptions{Mode: mode, Domain: &restorer{h.memories, memo.New(h.db, memo.Options{Source: restoreSource}), caller.Caller{User: "operator", Platform: "Local"}}}
	plan, err := backup.Plan(t.Context(), h.db, h.dir, path, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := backup.Restore(t.Context(), h.db, h.dir, path, o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plan, r.Changes); d != "" && mode == backup.Merge {
		t.Errorf("what was planned and what was done (-plan +done):\n%s", d)
	}
	return r
}

// Two homes that were the same and went apart are brought together: nothing is lost on
// either side.
func TestMerge(t *testing.T) {
	there, here := newHouse(t, "a"), newHouse(t, "a")
	same := there.write(t, ann, "same in both")
	newer := there.write(t, ann, "to be edited there")
	older := there.write(t, ann, "to be edited here")
	goneThere := there.write(t, ann, "to be deleted there")
	goneHere := there.write(t, ann, "to be deleted here")
	bob, carl := caller.Caller{User: "bob", Platform: "Local"}, caller.Caller{User: "carl", Platform: "Local"}
	there.remember(t, bob, "bob's memo, common")
	there.remember(t, carl, "carl's memo, common")
	here.restore(t, there.create(t), backup.Replace)

	here.edit(t, older.ID, "edited here later")
	here.trash(t, goneHere.ID)
	twin := here.write(t, ann, "said in both homes")
	own := here.write(t, ann, "only here")
	here.remember(t, carl, "carl's memo, newer here")
	here.file(t, "profile/differs.md", "here")
	here.file(t, "profile/own.md", "here")

	there.edit(t, newer.ID, "edited there later")
	there.edit(t, goneThere.ID, "edited there, then deleted")
	there.trash(t, goneThere.ID)
	there.write(t, ann, "said in both homes")
	there.write(t, ann, "said twice")
	twice := there.write(t, ann, "said twice")
	added := there.write(t, ann, "only there")
	addedGone := there.write(t, ann, "only there, deleted")
	there.trash(t, addedGone.ID)
	dora := caller.Caller{User: "dora", Platform: "Local"}
	hers := there.write(t, dora, "of somebody who is not here")
	there.remember(t, ann, "ann's memo, only there")
	there.remember(t, bob, "bob's memo, newer there")
	there.file(t, "profile/differs.md", "there")
	there.file(t, "profile/added.md", "there")
	path := there.create(t)

	r := here.restore(t, path, backup.Merge)

	for _, tt := range []struct {
		name, id, content string
		state             vector.State
	}{
		{"same", same.ID, "same in both", vector.Live},
		{"edited there", newer.ID, "edited there later", vector.Live},
		{"edited here", older.ID, "edited here later", vector.Live},
		{"edited and deleted there: nothing is removed", goneThere.ID, "to be deleted there", vector.Live},
		{"deleted here", goneHere.ID, "to be deleted here", vector.Deleted},
		{"said in both", twin.ID, "said in both homes", vector.Live},
		{"only here", own.ID, "only here", vector.Live},
		{"only there", added.ID, "only there", vector.Live},
		{"said twice there", twice.ID, "said twice", vector.Live},
		{"only there and deleted", addedGone.ID, "only there, deleted", vector.Deleted},
	} {
		if m := here.get(t, ann, tt.id); m.Content != tt.content || m.State != tt.state || m.Pending {
			t.Errorf("%s: %q is %s, pending %v; want %q %s", tt.name, m.Content, m.State, m.Pending, tt.content, tt.state)
		}
	}
	for _, x := range []struct {
		c  caller.Caller
		id string
	}{{ann, added.ID}, {ann, twice.ID}, {ann, addedGone.ID}, {dora, hers.ID}} {
		if d := cmp.Diff(there.get(t, x.c, x.id), here.get(t, x.c, x.id)); d != "" {
			t.Errorf("%s (-there +here):\n%s", x.id, d)
		}
	}
	if got, want := *r.Tables["memories"], (backup.Counts{Added: 4, Replaced: 1, Kept: 5}); got != want {
		t.Errorf("memories: %+v, want %+v", got, want)
	}
	for c, want := range map[caller.Caller]string{ann: "ann's memo, only there", bob: "bob's memo, newer there", carl: "carl's memo, newer here"} {
		if m, err := here.memos.Get(t.Context(), c); err != nil || m.Content != want {
			t.Errorf("memo of %s: %q, %v; want %q", c.User, m.Content, err, want)
		}
	}
	if h, err := here.memos.History(t.Context(), bob); err != nil || len(h) != 2 || !strings.Contains(string(h[0].Before), "common") || h[0].Source != restoreSource {
		t.Errorf("history of bob's memo: %+v, %v", h, err)
	}
	for name, want := range map[string]string{"differs.md": "here", "own.md": "here", "added.md": "there"} {
		if b, err := os.ReadFile(filepath.Join(here.dir, "profile", name)); err != nil || string(b) != want {
			t.Errorf("file %s: %q, %v; want %q", name, b, err, want)
		}
	}
	if d := cmp.Diff(backup.FileChanges{Added: []string{"profile/added.md"}, Differ: []string{"profile/differs.md"}}, r.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}

	// It is in the history, as one run, and can be undone.
	h, err := here.memories.History(t.Context(), ann, caller.ScopeUser, newer.ID)
	if err != nil || h[0].Source != restoreSource || h[0].Run != r.ID || h[0].Action != journal.Update || h[0].Actor != "operator" {
		t.Fatalf("history: %+v, %v", h, err)
	}
	if w, err := here.memories.Revert(t.Context(), ann, caller.ScopeUser, newer.ID, h[1].Seq); err != nil || w.Memory.Content != "to be edited there" {
		t.Errorf("undone: %q, %v", w.Memory.Content, err)
	}
	here.sound(t)

	// Merging again changes nothing but what was undone since, which is newer.
	before := here.all(t)
	r = here.restore(t, path, backup.Merge)
	if d := cmp.Diff(before, here.all(t)); d != "" {
		t.Errorf("merged again (-before +after):\n%s", d)
	}
	if c := *r.Tables["memories"]; c.Added+c.Replaced+c.Removed != 0 {
		t.Errorf("merged again: %+v", c)
	}
}

// Memories that come from another embedding space wait for their vectors, and ids that
// belong to somebody else here stay where they are.
func TestMergeForeignSpaceAndForeignIDs(t *testing.T) {
	there, here := newHouse(t, "a"), newHouse(t, "b")
	m := there.write(t, ann, "in another space")
	taken := there.write(t, ann, "its id is somebody else's here")
	bob := caller.Caller{User: "bob", Platform: "Local"}
	bobs := here.write(t, bob, "bob's")
	if err := here.db.Exec(t.Context(), "UPDATE memories SET id = ? WHERE id = ?", taken.ID, bobs.ID); err != nil {
		t.Fatal(err)
	}
	if err := here.db.Exec(t.Context(), "UPDATE journal SET object = ? WHERE object = ?", taken.ID, bobs.ID); err != nil {
		t.Fatal(err)
	}
	here.memories.Close() // nobody fills in vectors
	path := there.create(t)
	r := here.restore(t, path, backup.Merge)
	if got := here.get(t, ann, m.ID); !got.Pending || r.Pending != 1 {
		t.Errorf("pending %v, %d in all", got.Pending, r.Pending)
	}
	if got := here.get(t, bob, taken.ID); got.Content != "bob's" {
		t.Errorf("bob's memory is %q now", got.Content)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "belongs to another partition") {
		t.Errorf("notes: %q", r.Notes)
	}
	here.sound(t)
}

func (h *house) sound(t *testing.T) {
	t.Helper()
	r, err := store.Check(t.Context(), h.db.Path())
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("check: %q, %v", r.Problems, err)
	}
}

// all is every memory of ann with the version of her partition.
func (h *house) all(t *testing.T) (out []string) {
	t.Helper()
	for _, state := range []vector.State{vector.Live, vector.Deleted} {
		p, err := h.memories.List(t.Context(), ann, vector.ListQuery{State: state, Limit: vector.MaxListLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Items {
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(b))
		}
	}
	v, err := h.db.Version(t.Context(), "Local_Private_ann")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, fmt.Sprintf("version %d", v))
}

// A memory as a backup hands it over is the memory that the store has: no field is lost
// on the way.
func TestRestorerKeepsEveryField(t *testing.T) {
	there, here := newHouse(t, "a"), newHouse(t, "a")
	w, err := there.memories.Write(t.Context(), ann, vector.Draft{
		Content: "everything", Tags: []string{"a b", "c"}, Importance: vector.High, Private: true, Source: vector.FromExtraction, SaidBy: "somebody",
		EventTime: time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC), Conversation: "c1",
	})
	if err != nil {
		t.Fatal(err)
	}
	next, err := there.memories.Write(t.Context(), ann, vector.Draft{Content: "next", Supersedes: w.Memory.ID})
	if err != nil {
		t.Fatal(err)
	}
	here.restore(t, there.create(t), backup.Merge)
	for _, id := range []string{w.Memory.ID, next.Memory.ID} {
		if d := cmp.Diff(there.get(t, ann, id), here.get(t, ann, id)); d != "" {
			t.Errorf("(-there +here):\n%s", d)
		}
	}
}
