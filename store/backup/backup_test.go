package backup_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/caller"
	"reverie/store"
	"reverie/store/backup"
	"reverie/vector"
)

// onlyHere are the files of a lived home that no backup takes.
var onlyHere = []string{".env", "state/x.lock", "memories/global/x.tmp", "profile/x.damaged-1", "other.txt"}

func TestEverythingComesBack(t *testing.T) {
	h := newHome(t)
	h.live(t, 3, 20)
	rows, files := h.rows(t), h.files(t)
	for _, table := range allTables {
		if len(rows[table]) == 0 {
			t.Fatalf("table %s is empty: nothing is tested", table)
		}
	}
	made := h.create(t, backup.Options{Reason: "test", Version: "v1"})
	if made.Memories != int64(len(rows["memories"])) || made.Files != len(files)-len(onlyHere) || made.Kind != backup.Manual || made.Reason != "test" {
		t.Errorf("made: %+v", made)
	}
	for path, want := range map[string]os.FileMode{made.Path: 0o600, filepath.Dir(made.Path): 0o700} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", path, st.Mode().Perm(), err, want)
		}
	}
	if d := cmp.Diff([]string{made.Name}, visible(h.zips(t))); d != "" {
		t.Errorf("files in the folder (-want +got):\n%s", d)
	}
	r, err := backup.Verify(t.Context(), made.Path, nil)
	if err != nil || r.Rows == 0 || r.Unpacked == 0 {
		t.Fatalf("verify: %+v, %v", r, err)
	}

	wiped := newHome(t)
	res := wiped.restore(t, made.Path)
	if d := cmp.Diff(rows, wiped.rows(t)); d != "" {
		t.Errorf("rows (-were +are):\n%s", d)
	}
	for _, p := range onlyHere {
		delete(files, p)
	}
	if d := cmp.Diff(files, wiped.files(t)); d != "" {
		t.Errorf("files (-were +are):\n%s", d)
	}
	if len(res.Files.Added) != len(files) || res.Before.Kind != backup.Auto || res.Before.Reason != "before restore" {
		t.Errorf("result: %+v", res)
	}
	sound(t, wiped)

	// The backup of before leads back to the empty home.
	wiped.restore(t, res.Before.Path)
	if got := wiped.rows(t); len(got["memories"])+len(got["journal"])+len(got["memos"]) != 0 || len(wiped.files(t)) != 0 {
		t.Errorf("after going back there are still %d memories and files %q", len(got["memories"]), slices.Collect(maps.Keys(wiped.files(t))))
	}
	for _, p := range wiped.rows(t)["partitions"] {
		if !strings.Contains(p, "live=0 ") {
			t.Errorf("a partition counts memories that are gone: %s", p)
		}
	}
	sound(t, wiped)
}

// visible leaves out the lock.
func visible(names []string) []string {
	return slices.DeleteFunc(names, func(s string) bool { return strings.HasPrefix(s, ".") })
}

// A restore into the home from which the backup is, later: all is as it was, and no number
// by which others know what they have read comes back.
func TestReplaceLater(t *testing.T) {
	h := newHome(t)
	h.live(t, 3, 12)
	h.exec(t, "DELETE FROM pending") // or the other process fills it in at some moment
	rows, files := h.rows(t), h.files(t)
	made := h.create(t, backup.Options{})

	other := openHome(t, h.dir) // as another process has it
	svc := other.memories(t)
	find := func(c caller.Caller, text string) (ids []string) {
		t.Helper()
		res, err := svc.Search(t.Context(), c, vector.Query{Text: text, TopK: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range res.Hits {
			ids = append(ids, x.ID)
		}
		slices.Sort(ids)
		return ids
	}
	was := find(user(1), "fact")
	versions := map[string]int64{}
	marks := map[string]store.Mark{}
	w, err := svc.Write(t.Context(), user(1), vector.Draft{Content: "written after the backup"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Write(t.Context(), user(77), vector.Draft{Content: "of somebody who is not in the backup"}); err != nil {
		t.Fatal(err)
	}
	gone := was[0]
	if _, err := svc.Delete(t.Context(), user(1), caller.ScopeUser, gone); err != nil {
		t.Fatal(err)
	}
	if ids := find(user(1), "fact"); slices.Contains(ids, gone) || !slices.Contains(ids, w.Memory.ID) {
		t.Fatalf("before the restore: %q", ids)
	}
	if len(find(user(77), "somebody")) != 1 {
		t.Fatal("the stranger is not found")
	}
	for _, part := range []string{"Local_Private_u1", "Local_Private_u77", "Local_Private_u2"} {
		m, err := h.db.Mark(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		versions[part], marks[part] = m.Version, m
	}
	h.file(t, "config.toml", "# changed\n")
	h.file(t, "profile/new.md", "new")
	os.Remove(filepath.Join(h.dir, "prompt", "a.md.jinja2"))

	h.restore(t, made.Path)

	if d := cmp.Diff(files, h.files(t)); d != "" {
		t.Errorf("files (-were +are):\n%s", d)
	}
	got := h.rows(t)
	delete(rows, "partitions") // risen
	delete(got, "partitions")
	if d := cmp.Diff(rows, got); d != "" {
		t.Errorf("rows (-were +are):\n%s", d)
	}
	for part, old := range marks {
		m, err := h.db.Mark(t.Context(), part)
		if err != nil || m.Version != versions[part]+1 || m.Generation <= old.Generation {
			t.Errorf("%s: version %d generation %d after %d and %d, %v", part, m.Version, m.Generation, versions[part], old.Generation, err)
		}
	}
	if d := cmp.Diff(was, find(user(1), "fact")); d != "" {
		t.Errorf("what the other process finds (-before +after):\n%s", d)
	}
	if ids := find(user(77), "somebody"); len(ids) != 0 {
		t.Errorf("the other process still finds %q", ids)
	}
	if _, err := svc.Write(t.Context(), user(77), vector.Draft{Content: "and again"}); err != nil {
		t.Error(err)
	}
	sound(t, h)
	// A second time it is the same again, and higher.
	h.restore(t, made.Path)
	if m, _ := h.db.Mark(t.Context(), "Local_Private_u1"); m.Version != versions["Local_Private_u1"]+2 {
		t.Errorf("version %d after the second restore", m.Version)
	}
	sound(t, h)
}

// A space keeps its row id for whoever knows it, also if the backup has another one there.
func TestSpacesKeepTheirNumbers(t *testing.T) {
	h := newHome(t)
	h.live(t, 1, 4) // space 1 is of model a
	made := h.create(t, backup.Options{})
	other := newHome(t)
	svc, err := vector.New(t.Context(), other.db, coarse{"b"}, vector.Options{})
	if err != nil {
		t.Fatal(err)
	}
	svc.Close()
	other.exec(t, "INSERT INTO vectors (rid, space, emb) VALUES (99, 1, ?)", []byte{1})
	other.restore(t, made.Path)
	rows := other.rows(t)
	if len(rows["spaces"]) != 2 || !strings.Contains(rows["spaces"][0], `model="b"`) || !strings.Contains(rows["spaces"][1], `model="a"`) {
		t.Errorf("spaces: %q", rows["spaces"])
	}
	for _, v := range append(append(rows["vectors"], rows["pending"]...), rows["canaries"]...) {
		if !strings.Contains(v, "space=2 ") {
			t.Errorf("not moved to the new number: %s", v)
		}
	}
	if !strings.Contains(rows["serving"][0], "space=2 ") {
		t.Errorf("serving: %q", rows["serving"])
	}
	sound(t, other)
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.md")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	h.file(t, "prompt/real.md", "real")
	h.file(t, "memories/global/x.md", "x")
	for from, to := range map[string]string{"profile": outside, "prompt/link.md": secret} {
		if err := os.Symlink(to, filepath.Join(h.dir, from)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	made := h.create(t, backup.Options{})
	if made.Files != 2 || len(made.Left) != 2 || !strings.Contains(strings.Join(made.Left, "\n"), "prompt/link.md: a symbolic link") {
		t.Errorf("made: %+v", made)
	}
	// Where a folder has become a link since, nothing is written through it.
	if err := os.RemoveAll(filepath.Join(h.dir, "memories")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(h.dir, "memories")); err != nil {
		t.Fatal(err)
	}
	res := h.restore(t, made.Path)
	if !strings.Contains(strings.Join(res.Notes, "\n"), "memories/global/x.md is not restored: memories is a symbolic link") {
		t.Errorf("notes: %q", res.Notes)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside of the home: %v, %v", entries, err)
	}
}

func TestRotation(t *testing.T) {
	h := newHome(t)
	manual := h.create(t, backup.Options{})
	var auto []backup.Info
	for range 5 {
		auto = append(auto, h.create(t, backup.Options{Kind: backup.Auto, Keep: 2}))
	}
	want := []string{manual.Name, auto[3].Name, auto[4].Name}
	slices.Sort(want)
	if d := cmp.Diff(want, visible(h.zips(t))); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
	// The one that is being restored is not rotated away by the backup before it.
	h.restoreKeep(t, auto[3].Path, 1)
	if left := visible(h.zips(t)); len(left) != 3 || !slices.Contains(left, auto[3].Name) || !slices.Contains(left, manual.Name) {
		t.Errorf("kept: %q", left)
	}
	// Less than one is the default and not none.
	last := h.create(t, backup.Options{Kind: backup.Auto, Keep: -1})
	if !slices.Contains(h.zips(t), last.Name) {
		t.Error("the one just written is gone")
	}
	if _, err := backup.Create(t.Context(), h.db, h.dir, backup.Options{Kind: "weekly"}); err == nil {
		t.Error("an unknown kind is taken")
	}
	l, err := backup.List(h.dir)
	if err != nil || len(l) != len(visible(h.zips(t))) || l[0].Name != last.Name {
		t.Errorf("list: %+v, %v", l, err)
	}
}

func (h *home) restoreKeep(tb testing.TB, path string, keep int) {
	tb.Helper()
	if _, err := backup.Restore(tb.Context(), h.db, h.dir, path, backup.RestoreOptions{Keep: keep}); err != nil {
		tb.Fatal(err)
	}
}

func TestManyAtOnce(t *testing.T) {
	h := newHome(t)
	h.live(t, 2, 5)
	errs, n := make(chan error), 8
	for range n {
		go func() {
			_, err := backup.Create(t.Context(), h.db, h.dir, backup.Options{})
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	all := visible(h.zips(t))
	if len(all) != n {
		t.Fatalf("%d backups, want %d: %q", len(all), n, all)
	}
	for _, name := range all {
		if _, err := backup.Verify(t.Context(), filepath.Join(h.dir, "backups", name), nil); err != nil {
			t.Error(err)
		}
	}
}
