package backup_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/store/backup"
	"reverie/store/storetest"
	"reverie/vector"
)

func engineHome(t *testing.T, e storetest.Engine) *home {
	t.Helper()
	h := e.New(t)
	return &home{filepath.Dir(h.Path), h.Open(t)}
}

// A backup of one engine restores into the other, row for row, and what is stored
// afterwards gets numbers that nothing else has.
func TestEngines(t *testing.T) {
	storetest.Each(t, func(t *testing.T, from storetest.Engine) {
		h := engineHome(t, from)
		h.live(t, 3, 12)
		rows, files := h.rows(t), h.files(t)
		made := h.create(t, backup.Options{})
		if made.Engine != from.Name {
			t.Errorf("the manifest says engine %q", made.Engine)
		}
		storetest.Each(t, func(t *testing.T, to storetest.Engine) {
			other := engineHome(t, to)
			for round := range 2 { // into an empty home, and over what is there
				p, err := backup.Plan(t.Context(), other.db, other.dir, made.Path, backup.RestoreOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if got, all := *p.Tables["memories"], int64(len(rows["memories"])); round == 0 && got != (backup.Counts{Added: all}) || round == 1 && (got.Kept+got.Replaced != all || got.Removed != 1 || got.Kept < all/2) {
					t.Errorf("plan %d: %+v of %d memories", round, got, all)
				}
				res := other.restore(t, made.Path)
				got, want := other.rows(t), rows
				if round == 1 {
					delete(got, "partitions") // risen
					want = map[string][]string{}
					for k, v := range rows {
						if k != "partitions" {
							want[k] = v
						}
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("round %d: rows (-were +are):\n%s", round, d)
				}
				_, config := other.files(t)["config.toml"]
				if want := from.Name == to.Name; config != want {
					t.Errorf("round %d: config.toml is there: %v, want %v", round, config, want)
				}
				if from.Name != to.Name && !strings.Contains(strings.Join(res.Notes, "\n"), "config.toml is not restored") {
					t.Errorf("nothing is said of config.toml: %q", res.Notes)
				}
				for p, s := range files {
					if _, ok := other.files(t)[p]; !ok && p != "config.toml" && !strings.Contains(strings.Join(onlyHere, " "), p) {
						t.Errorf("file %s (%d bytes) is missing", p, len(s))
					}
				}
				svc := other.memories(t)
				w, err := svc.Write(t.Context(), user(1), vector.Draft{Content: "written afterwards"})
				if err != nil {
					t.Fatal(err)
				}
				r, err := svc.Search(t.Context(), user(1), vector.Query{Text: "written afterwards"})
				if err != nil || len(r.Hits) == 0 || r.Hits[0].ID != w.Memory.ID {
					t.Errorf("search: %+v, %v", r.Hits, err)
				}
				svc.Close()
				sound(t, other)
			}
		})
	})
}
