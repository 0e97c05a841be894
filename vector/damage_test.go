package vector_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"reverie/vector"
)

// A page of vectors that cannot be read takes away meaning, not memories.
func TestDamagedVectorPageKeepsThePartition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	h := openHome(t, path, vector.Options{Limit: 1000})
	const n = 200
	for i := range n {
		h.write(t, ann, vector.Draft{Content: fmt.Sprintf("fact%d about the house", i)})
	}
	var root int64
	err := h.db.Read(t.Context(), func(g *gorm.DB) error {
		return g.Raw("SELECT rootpage FROM sqlite_master WHERE name = 'vectors'").Row().Scan(&root)
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	h.db.Close()
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 4096
	page := image[(root-1)*size:][:size]
	if page[0] != 0x05 {
		t.Fatalf("the table's root is a page of type %d; want one with pages below", page[0])
	}
	first := int(page[12])<<8 | int(page[13]) // the first cell begins with its child's number
	child := int64(page[first])<<24 | int64(page[first+1])<<16 | int64(page[first+2])<<8 | int64(page[first+3])
	for name, spoilt := range map[string]int64{"leaf": child, "root": root} {
		b := slices.Clone(image)
		clear(b[(spoilt-1)*size:][:size])
		path := filepath.Join(t.TempDir(), "v.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		h := openHome(t, path, vector.Options{Limit: 1000})
		for i := 0; i < n; i += 20 {
			want := fmt.Sprintf("fact%d about the house", i)
			if got := h.find(t, ann, vector.Query{Text: fmt.Sprintf("fact%d", i)}); len(got) == 0 || got[0] != want {
				t.Errorf("%s: found %q; want %q first", name, got, want)
			}
		}
	}
}

// A row with a value that cannot be read hides itself and no other.
func TestDamagedRowKeepsThePartition(t *testing.T) {
	for _, damage := range []string{"created_at = 'abc'", "private = 'x'", "event_time = x'00'", "private = 2"} {
		h := newHome(t, vector.Options{})
		w := h.write(t, ann, vector.Draft{Content: "the spare key is under the mat"})
		h.write(t, ann, vector.Draft{Content: "the spare boiler was serviced in March"})
		h.find(t, ann, vector.Query{Text: "spare"}) // it is in the index
		spoil := "UPDATE memories SET rev = 3, " + damage + " WHERE id = ?"
		if err := h.db.Exec(t.Context(), spoil, w.Memory.ID); err != nil {
			t.Fatal(err)
		}
		h.write(t, ann, vector.Draft{Content: "the spare tyre is flat"}) // and now it is brought up to date
		got := h.find(t, ann, vector.Query{Text: "spare"})
		if len(got) != 2 || slices.ContainsFunc(got, func(c string) bool { return strings.Contains(c, "key") }) {
			t.Errorf("%s: found %q", damage, got)
		}
	}
}
