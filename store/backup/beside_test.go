package backup_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/store"
	"reverie/store/backup"
	"reverie/store/storetest"
	"reverie/vector"
)

// idsIn are the ids of the memories in a backup.
func idsIn(tb testing.TB, path string) map[string]bool {
	tb.Helper()
	out := map[string]bool{}
	lines := strings.Split(strings.TrimSpace(string(unpack(tb, path).data["tables/memories.jsonl"])), "\n")
	for _, l := range lines[1:] {
		var row []any
		if err := json.Unmarshal([]byte(l), &row); err != nil {
			tb.Fatal(err)
		}
		out[fmt.Sprint(row[1])] = true
	}
	return out
}

// idsOf are the ids of the memories of a home.
func (h *home) idsOf(tb testing.TB) map[string]bool {
	tb.Helper()
	return idsIn(tb, h.create(tb, backup.Options{}).Path)
}

// What was answered as stored while a restore is under way is in the backup that it made
// first, or in the home afterwards.
func TestNothingWrittenBesideIsLost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, e storetest.Engine) {
		h := engineHome(t, e)
		h.live(t, 2, 10)
		made := h.create(t, backup.Options{})
		svc := h.memories(t)
		defer svc.Close()

		t.Run("once behind the backup", func(t *testing.T) {
			var id string
			o := backup.RestoreOptions{Progress: func(step string, done, total int64) {
				if step != "back up" || done < total || id != "" {
					return
				}
				w, err := svc.Write(t.Context(), user(1), vector.Draft{Content: "written behind the last row"})
				if err != nil {
					t.Error(err)
				}
				id = w.Memory.ID
			}}
			r, err := backup.Restore(t.Context(), h.db, h.dir, made.Path, o)
			if err != nil || id == "" {
				t.Fatalf("wrote %q, %v", id, err)
			}
			if !idsIn(t, r.Before.Path)[id] {
				t.Error("what was written is lost")
			}
			if l, err := backup.List(h.dir); err != nil || len(l) != 2 {
				t.Errorf("%d backups, %v; the one that was made too early goes", len(l), err)
			}
		})

		t.Run("all the time", func(t *testing.T) {
			var ids []string
			stop, ended, begun := make(chan struct{}), make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
					w, err := svc.Write(t.Context(), user(2), vector.Draft{Content: fmt.Sprintf("written beside, number %d", n)})
					if errors.Is(err, store.ErrBusy) && n > 2 {
						continue // and so not stored
					}
					if err != nil {
						t.Error(err)
						return
					}
					ids = append(ids, w.Memory.ID)
					if n == 2 {
						close(begun)
					}
				}
			}()
			select {
			case <-begun:
			case <-ended: // after an error
			}
			r, err := backup.Restore(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{})
			close(stop)
			<-ended
			if err != nil {
				t.Fatal(err)
			}
			before, after := idsIn(t, r.Before.Path), h.idsOf(t)
			for _, id := range ids {
				if !before[id] && !after[id] {
					t.Errorf("memory %s is lost", id)
				}
			}
		})
		sound(t, h)
	})
}

// A number from which nothing can count on would stay in the home for good.
func TestNumbersThatCannotBe(t *testing.T) {
	for _, tt := range []struct{ table, column, value string }{
		{"partitions", "version", "9223372036854775807"},
		{"partitions", "version", `{"real":1e300}`},
		{"serving", "generation", "9223372036854775807"},
		{"memories", "rid", "9223372036854775807"},
		{"memories", "rev", "-9223372036854775808"},
		{"memories", "rid", "-1"},
		{"journal", "seq", "9223372036854775807"},
		{"spaces", "id", "9007199254740993"},
	} {
		t.Run(tt.table+" "+tt.column+" "+tt.value, func(t *testing.T) {
			h, path := small(t)
			p := unpack(t, path)
			name := "tables/" + tt.table + ".jsonl"
			lines := strings.SplitN(string(p.data[name]), "\n", 3)
			var cols []string
			var row []json.RawMessage
			if err := errors.Join(json.Unmarshal([]byte(lines[0]), &cols), json.Unmarshal([]byte(lines[1]), &row)); err != nil {
				t.Fatal(err)
			}
			for i, c := range cols {
				if c == tt.column {
					row[i] = json.RawMessage(tt.value)
				}
			}
			b, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			lines[1] = string(b)
			p.set(name, []byte(strings.Join(lines, "\n")))
			p.resign(t, func(*backup.Manifest) {})
			refused(t, h, p.write(t), backup.ErrBroken, "column "+tt.column)
		})
	}
}

// A pipe with the name of a backup is no reason to wait for its other end.
func TestListPipe(t *testing.T) {
	h := newHome(t)
	h.create(t, backup.Options{})
	pipe(t, filepath.Join(h.dir, "backups", "reverie-20200101T000000.000Z-auto.zip"))
	l, err := backup.List(h.dir)
	if err != nil || len(l) != 2 || l[1].Problem == "" {
		t.Errorf("listed %+v, %v", l, err)
	}
}

// A P1 backup of which nothing can be taken does not put everything into the trash.
func TestOldOfNothing(t *testing.T) {
	h := newHome(t)
	h.live(t, 1, 3)
	path := filepath.Join(t.TempDir(), "embed_backup_20260101_000000.json")
	text := `{"collection":"c","created_at":"","ids":["x"],"documents":["a fact"],"metadatas":[{"user_id":"nobody"}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before := h.rows(t)["memories"]
	o := backup.RestoreOptions{Mode: backup.Replace, Domain: noDomain{}, MapKey: func(string, string) (string, bool) { return "", false }}
	if _, err := backup.Restore(t.Context(), h.db, h.dir, path, o); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("error %v", err)
	}
	if after := h.rows(t)["memories"]; len(after) != len(before) {
		t.Errorf("%d memories of %d", len(after), len(before))
	}
}

// Without a mode a P1 backup removes nothing, and a restore may count what it changes.
func TestDefaultsOfRestore(t *testing.T) {
	h := newHome(t)
	h.live(t, 1, 3)
	path := filepath.Join(t.TempDir(), "embed_backup_20260101_000000.json")
	if err := os.WriteFile(path, []byte(`{"collection":"c","created_at":"","ids":["x"],"documents":["a fact"],"metadatas":[{"user_id":"nobody"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := backup.RestoreOptions{Domain: noDomain{}, MapKey: func(string, string) (string, bool) { return "", false }}
	if r, err := backup.Restore(t.Context(), h.db, h.dir, path, o); err != nil || r.Mode != backup.Merge || !r.Old || len(r.Notes) != 1 {
		t.Errorf("P1: %+v, %v", r.Changes, err)
	}
	h.exec(t, "DELETE FROM pending") // or the other process fills it in at some moment
	made := h.create(t, backup.Options{})
	h.exec(t, "UPDATE memories SET seen = seen + 1 WHERE rid = (SELECT MIN(rid) FROM memories)")
	want, err := backup.Plan(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := want.Tables["memories"]; c.Replaced != 1 || c.Added != 0 || c.Removed != 0 || c.Kept == 0 {
		t.Fatalf("planned: %+v", c)
	}
	got, err := backup.Restore(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{Compare: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Tables["memories"], got.Tables["memories"]); d != "" || got.Mode != backup.Replace || got.Old {
		t.Errorf("mode %s, old %v, (-planned +restored):\n%s", got.Mode, got.Old, d)
	}
	if d := cmp.Diff(want.Partitions, got.Partitions); d != "" {
		t.Errorf("partitions (-planned +restored):\n%s", d)
	}
	if d := cmp.Diff(want.Files, got.Files); d != "" {
		t.Errorf("files (-planned +restored):\n%s", d)
	}
}

// noDomain is asked for nothing.
type noDomain struct{ backup.Domain }
