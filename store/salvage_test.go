package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/internal/raceflag"
	"reverie/memo"
	"reverie/store"
	"reverie/vector"
)

const pageSize = 4096

// letters stands for a model: a text's vector counts its letters.
type letters struct{}

func (letters) Space() embedding.Space {
	return embedding.Space{Protocol: "test", Model: "letters", Dim: 32, Version: "1"}
}

func (letters) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, 32)
	for _, r := range text {
		v[r%32]++
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil, nil
	}
	for i := range v {
		v[i] /= float32(sum)
	}
	return v, nil
}

func (l letters) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Passages, error) {
	out := make([]embedding.Passages, len(texts))
	for i, t := range texts {
		v, _ := l.EmbedQuery(ctx, t)
		out[i] = embedding.Passages{v}
	}
	return out, nil
}

func user(i int) caller.Caller {
	return caller.Caller{User: fmt.Sprintf("u%d", i), Platform: "Local"}
}

const users = 3

func services(tb testing.TB, db *store.DB) (*vector.Service, *memo.Store) {
	tb.Helper()
	s, err := vector.New(tb.Context(), db, letters{}, vector.Options{Limit: 1000})
	if err != nil {
		tb.Fatal(err)
	}
	return s, memo.New(db, memo.Options{})
}

// lived makes a database that has been lived in: n memories of three users, some of
// them long, changed, superseded, deleted, said again; and memos.
func lived(tb testing.TB, path string, n int) {
	tb.Helper()
	db := open(tb, path, store.Options{Synchronous: "normal"})
	s, memos := services(tb, db)
	if _, err := db.Secret(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	var ids [users][]string
	for i := range n {
		u := i % users
		d := vector.Draft{Content: fmt.Sprintf("memory %d of user %d: 她喜欢在%d点喝茶, and says so", i, u, i), Tags: []string{"tea", fmt.Sprint(i)}}
		if i%40 == 0 {
			d.Content += strings.Repeat(fmt.Sprintf(" and on %d", i), 600) // several pages
		}
		if i%10 == 5 {
			d.Supersedes = ids[u][len(ids[u])-1]
		}
		w, err := s.Write(tb.Context(), user(u), d)
		must(err)
		ids[u] = append(ids[u], w.Memory.ID)
		switch {
		case i%10 == 3:
			text := d.Content + ", as of late"
			_, err = s.Update(tb.Context(), user(u), "", w.Memory.ID, vector.Patch{Content: &text})
		case i%10 == 7:
			_, err = s.Delete(tb.Context(), user(u), "", w.Memory.ID)
		case i%10 == 9:
			_, err = s.Write(tb.Context(), user(u), d)
		}
		must(err)
		if i%25 == 0 {
			_, _, err = memos.Set(tb.Context(), user(u), fmt.Sprintf("memo %d of user %d", i, u), nil)
			must(err)
		}
	}
	must(s.Close())
	must(db.Close())
}

// content is what a database says: memories by id, memos and versions by partition.
type content struct {
	Memories map[string]string
	Memos    map[string]string
	Versions map[string]int64
}

func read(tb testing.TB, path string) content {
	tb.Helper()
	db := open(tb, path, store.Options{})
	defer db.Close()
	c := content{map[string]string{}, map[string]string{}, map[string]int64{}}
	err := db.Read(tb.Context(), func(g *gorm.DB) error {
		rows, err := g.Raw(`SELECT id, part || '|' || state || '|' || content || '|' || tags || '|' || importance || '|' || superseded_by || '|' || created_at || '|' || updated_at || '|' || seen FROM memories`).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, rest string
			if err := rows.Scan(&id, &rest); err != nil {
				return err
			}
			c.Memories[id] = rest
		}
		return errors.Join(rows.Err(), pairs(g, "SELECT part, content || '|' || version FROM memos", c.Memos), pairs(g, "SELECT key, version FROM partitions", c.Versions))
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func pairs[V any](g *gorm.DB, query string, into map[string]V) error {
	rows, err := g.Raw(query).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k string
		var v V
		if err := rows.Scan(&k, &v); err != nil {
			return err
		}
		into[k] = v
	}
	return rows.Err()
}

// sound fails the test unless a check finds nothing.
func sound(tb testing.TB, path string) {
	tb.Helper()
	r, err := store.Check(tb.Context(), path)
	if err != nil || len(r.Problems) != 0 {
		tb.Errorf("check: %q, %v", r.Problems, err)
	}
}

// same fails the test unless the database says what the whole one said. A repair raises
// all versions.
func same(tb testing.TB, path string, want content, repaired bool) {
	tb.Helper()
	got := read(tb, path)
	for part, v := range want.Versions {
		if got.Versions[part] < v || repaired && got.Versions[part] == v {
			tb.Errorf("partition %s has version %d; it was seen with %d", part, got.Versions[part], v)
		}
	}
	got.Versions = want.Versions
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("after the repair (-was +is):\n%s", d)
	}
}

func TestSalvageOfSound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	lived(t, path, 30)
	sound(t, path)
	before := contents(t, path)
	r, err := store.Salvage(t.Context(), path)
	if err != nil || r.Changed || len(r.Problems) != 0 || len(r.Aside) != 0 {
		t.Errorf("salvage of a sound database: %+v, %v", r, err)
	}
	if !bytes.Equal(before, contents(t, path)) {
		t.Error("the sound database was changed")
	}
	if files, _ := filepath.Glob(path + "?*"); len(files) > 2 {
		t.Errorf("left behind: %q", files)
	}
	if _, err := store.Salvage(t.Context(), path+"x"); err == nil {
		t.Error("a missing database was repaired")
	}
}

// everyPage makes TestEveryDamagedPage overwrite every page in every way, which takes
// minutes.
var everyPage = flag.Bool("everypage", false, "damage every page of a larger store in every way, not each in one")

// Every page in turn is overwritten with zeros, noise or another page. Opening must not
// panic; what is served must be what was stored, or the error must say what to do; and
// the repair must bring back everything, since no page holds both a row and its entry.
func TestEveryDamagedPage(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "reverie.db")
	memories := 120
	switch {
	case *everyPage:
		memories = 300
	case raceflag.Enabled:
		memories = 30
	}
	lived(t, whole, memories)
	sound(t, whole)
	want, image := read(t, whole), contents(t, whole)
	rng := rand.New(rand.NewPCG(1, 2))
	pages := len(image) / pageSize
	damage := []struct {
		name  string
		spoil func(page []byte)
	}{
		{"zeros", func(b []byte) { clear(b) }},
		{"noise", func(b []byte) {
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
		}},
		{"another", func(b []byte) { copy(b, image[rng.IntN(pages)*pageSize:][:pageSize]) }},
	}
	for kind, d := range damage {
		t.Run(d.name, func(t *testing.T) {
			refused, wrong, repaired := 0, 0, 0
			for n := range pages {
				if !*everyPage && n != 0 && n%len(damage) != kind || testing.Short() && n%9 != kind {
					continue
				}
				path := filepath.Join(t.TempDir(), fmt.Sprintf("p%d.db", n+1))
				b := slices.Clone(image)
				d.spoil(b[n*pageSize:][:pageSize])
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				r, w := serve(t, path, want)
				refused, wrong = refused+r, wrong+w
				before := contents(t, path)
				rep, err := store.Salvage(t.Context(), path)
				if err != nil {
					t.Fatalf("page %d: %v", n+1, err)
				}
				if rep.Changed { // else an unused page, or one that became what it was
					repaired++
					if len(rep.Aside) == 0 || !bytes.Equal(contents(t, rep.Aside[0]), before) {
						t.Errorf("the damaged file is not kept: %q", rep.Aside)
					}
				}
				sound(t, path)
				same(t, path, want, rep.Changed)
				if t.Failed() {
					t.Fatalf("page %d: %+v", n+1, rep)
				}
			}
			t.Logf("of %d pages %d damaged and repaired; before: %d calls refused, %d memories served with a text they never had", pages, repaired, refused, wrong)
		})
	}
}

// serve uses a damaged database as a server does. It returns how many calls were
// refused, and how many memories came with a text that they never had.
func serve(t *testing.T, path string, want content) (refused, wrong int) {
	t.Helper()
	db, err := store.Open(t.Context(), path, store.Options{Synchronous: "normal"})
	if err != nil {
		wants(t, err, store.ErrDamaged, "reverie doctor --repair")
		return 1, 0
	}
	defer db.Close()
	s, err := vector.New(t.Context(), db, letters{}, vector.Options{Limit: 1000})
	if err != nil {
		wants(t, err, store.ErrDamaged, "reverie doctor --repair")
		return 1, 0
	}
	defer s.Close()
	for u := range users {
		res, err := s.Search(t.Context(), user(u), vector.Query{Text: "tea at 7 点喝茶", TopK: 50})
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) && !strings.Contains(err.Error(), "tags of memory") { // garbage that SQLite takes for a row
				t.Errorf("search: %v", err)
			}
			refused++
		}
		for _, h := range res.Hits {
			if !strings.Contains(want.Memories[h.ID], "|"+h.Content+"|") {
				wrong++
			}
		}
	}
	return refused, wrong
}

// Other partitions go on working when the rows of one sit on a bad page, and a refused
// write leaves nothing behind.
func TestDamageStaysInItsPartition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	db := open(t, path, store.Options{})
	s, _ := services(t, db)
	for u := range users { // one after the other: pages of their own
		for i := range 60 {
			if _, err := s.Write(t.Context(), user(u), vector.Draft{Content: fmt.Sprintf("note %d of user %d about %s", i, u, strings.Repeat("tea ", 60))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Close()
	db.Close()
	b := contents(t, path)
	spoilt := 0
	for n := 0; n < len(b)/pageSize; n++ {
		page := b[n*pageSize:][:pageSize]
		if page[0] == 0x0d && bytes.Contains(page, []byte("note 30 of user 1 ")) && !bytes.Contains(page, []byte(`"content"`)) &&
			!bytes.Contains(page, []byte("of user 0")) && !bytes.Contains(page, []byte("of user 2")) {
			clear(page)
			spoilt++
		}
	}
	if spoilt != 1 {
		t.Fatalf("%d pages are user 1's alone", spoilt)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	db = open(t, path, store.Options{})
	s, _ = services(t, db)
	_, err := s.Search(t.Context(), user(1), vector.Query{Text: "tea"})
	wants(t, err, store.ErrDamaged, "stop all servers of this home", "reverie doctor --repair")
	for _, u := range []int{0, 2} {
		if r, err := s.Search(t.Context(), user(u), vector.Query{Text: "note 30"}); err != nil || len(r.Hits) == 0 {
			t.Errorf("user %d: %d hits, %v", u, len(r.Hits), err)
		}
		if _, err := s.Write(t.Context(), user(u), vector.Draft{Content: "one more"}); err != nil {
			t.Errorf("user %d: %v", u, err)
		}
	}
	s.Close()
	db.Close()
	r, err := store.Salvage(t.Context(), path)
	if err != nil || !r.Changed || len(r.Lost) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	sound(t, path)
	if got := len(read(t, path).Memories); got != 60*users+2 {
		t.Errorf("%d memories after the repair, want %d", got, 60*users+2)
	}
}

// pagesOf finds, with SQLite itself, the pages without which each row of a query cannot
// be read: the leaf it lies on and its overflow pages. The query gives rowid and text.
func pagesOf(t *testing.T, image []byte, query string) map[string][]int {
	t.Helper()
	rows := func(b []byte) map[string]string {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		out := map[string]string{}
		for rowid := 1; rowid < 2000; rowid++ {
			var key, text string
			err := db.QueryRow(query, rowid).Scan(&key, &text)
			if errors.Is(err, sql.ErrNoRows) {
				break
			}
			if err == nil {
				out[key] = text
			}
		}
		return out
	}
	all := rows(image)
	need := map[string][]int{}
	for n := range len(image) / pageSize {
		if image[n*pageSize] == 0x05 || n == 0 {
			continue // inner pages only show the way
		}
		b := slices.Clone(image)
		clear(b[n*pageSize:][:pageSize])
		left := rows(b)
		if len(left) == 0 {
			continue // the schema, which is known
		}
		for key, text := range all {
			if left[key] != text {
				need[key] = append(need[key], n)
			}
		}
	}
	return need
}

// With many pages gone at once, a memory is lost only if its row and all its journal
// entries are, and then the report counts it.
func TestSalvageOfHeavyDamage(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "reverie.db")
	lived(t, whole, 120)
	want, image := read(t, whole), contents(t, whole)
	pages := len(image) / pageSize
	rowPages := pagesOf(t, image, "SELECT id, content || tags || state || seen FROM memories WHERE rid = ?")
	entryPages := pagesOf(t, image, "SELECT object || ' ' || seq, after || kind FROM journal WHERE seq = ?")
	seeds := uint64(10)
	if raceflag.Enabled {
		seeds = 3
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 7))
		path := filepath.Join(t.TempDir(), "reverie.db")
		b := slices.Clone(image)
		gone := map[int]bool{}
		for n := range pages {
			if n == 0 || rng.IntN(4) == 0 {
				gone[n] = true
				clear(b[n*pageSize:][:pageSize])
			}
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		whole := func(pages []int) bool { return !slices.ContainsFunc(pages, func(n int) bool { return gone[n] }) }
		canBe := map[string]bool{}
		for id, pages := range rowPages {
			canBe[id] = canBe[id] || whole(pages)
		}
		for entry, pages := range entryPages {
			if id, _, _ := strings.Cut(entry, " "); len(id) == 32 {
				canBe[id] = canBe[id] || whole(pages)
			}
		}
		r, err := store.Salvage(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		sound(t, path)
		got := read(t, path)
		back := 0
		for id, can := range canBe {
			if can {
				back++
			}
			if can && got.Memories[id] == "" {
				t.Errorf("seed %d: memory %s can be read and was not brought back", seed, id)
			}
		}
		for id, m := range got.Memories {
			if want.Memories[id] == "" || !canBe[id] {
				t.Errorf("seed %d: memory %s cannot have been read: %s", seed, id, m)
			}
		}
		t.Logf("seed %d: %d of %d pages gone: %d of %d memories are back, %d had to be; lost: %v", seed, len(gone), pages, len(got.Memories), len(want.Memories), back, r.Lost)
	}
}

// inLog returns the pages that a write-ahead log holds.
func inLog(wal []byte) map[int]bool {
	out := map[int]bool{}
	for at := 32; at+24 <= len(wal); at += 24 + pageSize {
		out[int(binary.BigEndian.Uint32(wal[at:]))] = true
	}
	return out
}

// A log that the last process left behind is part of the database.
func TestSalvageReadsTheLog(t *testing.T) {
	for _, headless := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "reverie.db")
		lived(t, path, 30)
		db := open(t, path, store.Options{})
		s, _ := services(t, db)
		for i := range 20 {
			if _, err := s.Write(t.Context(), user(0), vector.Draft{Content: fmt.Sprintf("in the log only: %d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		want := read(t, path)
		copied := filepath.Join(t.TempDir(), "reverie.db") // as a kill leaves it
		b, wal := contents(t, path), contents(t, path+"-wal")
		s.Close()
		db.Close()
		if headless {
			clear(b)
		} else {
			logged := inLog(wal)
			for n := range len(b) / pageSize {
				if b[n*pageSize] == 0x0d && !logged[n+1] {
					clear(b[n*pageSize:][:pageSize])
					break
				}
			}
		}
		if err := errors.Join(os.WriteFile(copied, b, 0o600), os.WriteFile(copied+"-wal", wal, 0o600)); err != nil {
			t.Fatal(err)
		}
		r, err := store.Salvage(t.Context(), copied)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Changed || len(r.Aside) != 2 {
			t.Errorf("headless %v: %+v", headless, r)
		}
		sound(t, copied)
		got := read(t, copied)
		n := 0
		for _, m := range got.Memories {
			if strings.Contains(m, "in the log only") {
				n++
			}
		}
		if n != 20 {
			t.Errorf("headless %v: %d of 20 memories of the log are back", headless, n)
		}
		if !headless {
			same(t, copied, want, true)
		}
	}
}

// A repair that was interrupted between its two steps is finished by the next Open.
func TestInterruptedRepairIsFinished(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "reverie.db")
	lived(t, path, 30)
	want := read(t, path)
	if err := os.Rename(path, path+".repaired"); err != nil {
		t.Fatal(err)
	}
	junk := []byte("damaged beyond recognition")
	if err := errors.Join(os.WriteFile(path, junk, 0o600), os.WriteFile(path+"-wal", junk, 0o600)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, read(t, path)); d != "" {
		t.Error(d)
	}
	sound(t, path)
	if files, _ := filepath.Glob(filepath.Join(dir, "*repair*")); len(files) != 0 {
		t.Errorf("left behind: %q", files)
	}
}

func TestSalvageRefusesForeignFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	text := bytes.Repeat([]byte("dear diary\n"), 5000)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Salvage(t.Context(), path)
	wants(t, err, store.ErrDamaged, "nothing was changed", "put a copy of the home folder back")
	if !bytes.Equal(text, contents(t, path)) {
		t.Error("the file was changed")
	}
	if files, _ := filepath.Glob(path + "?*"); len(files) != 0 {
		t.Errorf("left behind: %q", files)
	}
}

// Each kind of contradiction is found, and a repair takes it away.
func TestCheckFindsContradictions(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "reverie.db")
	lived(t, whole, 30)
	was, image := read(t, whole), contents(t, whole)
	for name, tc := range map[string]struct{ spoil, says string }{
		"count":            {"UPDATE partitions SET live = live + 1 WHERE key LIKE '%u1'", "1 partitions count their live memories wrongly"},
		"partition":        {"DELETE FROM partitions WHERE key LIKE '%u1'", "10 memories belong to no partition"},
		"old version":      {"UPDATE partitions SET version = 1 WHERE key LIKE '%u1'", "1 partitions are older than their journal"},
		"no entry":         {"DELETE FROM journal WHERE object = (SELECT id FROM memories LIMIT 1)", "1 memories have no journal entry"},
		"other content":    {"UPDATE memories SET content = 'x' WHERE rid = 2", "1 memories differ from their newest journal entry"},
		"other state":      {"UPDATE memories SET state = 'archived' WHERE rid = 2", "1 memories differ from their newest journal entry"},
		"no row":           {"DELETE FROM memories WHERE rid = 2", "1 memories are in the journal but not in the store"},
		"orphan vector":    {"INSERT INTO vectors VALUES (99999, 1, x'00')", "1 vectors belong to no memory"},
		"unknown space":    {"UPDATE vectors SET space = 77 WHERE rid = 2", "1 vectors belong to no embedding space"},
		"pending for none": {"INSERT INTO pending VALUES (99999, 1)", "1 memories wait for a vector"},
		"pending in vain":  {"INSERT INTO pending VALUES (2, 1)", "1 memories wait for a vector"},
		"memo":             {"UPDATE memos SET content = 'x' WHERE part LIKE '%u1'", "1 memos differ"},
		"no memo":          {"DELETE FROM memos WHERE part LIKE '%u1'", "1 memos are in the journal but not in the store"},
		"time":             {"UPDATE memories SET created_at = 'abc' WHERE rid = 2", "1 rows of memories have a value of the wrong type"},
		"tags":             {`UPDATE memories SET tags = '["te' WHERE rid = 2`, "1 memories have tags that cannot be read"},
		"tags of numbers":  {"UPDATE memories SET tags = '[1]' WHERE rid = 2", "1 memories have tags that cannot be read"},
		"private":          {"UPDATE memories SET private = 2 WHERE rid = 2", "1 memories are neither private nor not"},
		"blob of a text":   {"UPDATE memories SET scope = x'00' WHERE rid = 2", "1 rows of memories have a value of the wrong type"},
		"time of a memo":   {"UPDATE memos SET updated_at = 'abc' WHERE part LIKE '%u1'", "1 rows of memos have a value of the wrong type"},
		"journal":          {"UPDATE journal SET at = 'abc' WHERE seq = 3", "1 rows of journal have a value of the wrong type"},
		"broken entry":     {"UPDATE journal SET after = '{' WHERE seq = (SELECT MAX(seq) FROM journal WHERE kind = 'memory')", "1 memories differ from their newest journal entry"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reverie.db")
			if err := os.WriteFile(path, image, 0o600); err != nil {
				t.Fatal(err)
			}
			db := open(t, path, store.Options{})
			if err := db.Exec(t.Context(), tc.spoil); err != nil {
				t.Fatal(err)
			}
			r, err := store.Check(t.Context(), path) // beside an open database
			if err != nil || !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, tc.says) }) {
				t.Errorf("check says %q, %v; want %q", r.Problems, err, tc.says)
			}
			db.Close()
			before := contents(t, path)
			if _, err := store.Check(t.Context(), path); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(before, contents(t, path)) {
				t.Error("a check changed the file")
			}
			if r, err = store.Salvage(t.Context(), path); err != nil || !r.Changed {
				t.Fatalf("salvage: %+v, %v", r, err)
			}
			sound(t, path)
			if name == "count" && r.Rebuilt["memories"] != 0 {
				t.Error("rows that were whole were made anew: the hash of a content differs from package vector's")
			}
			switch name {
			case "time", "tags", "tags of numbers", "private", "blob of a text", "time of a memo":
				same(t, path, was, true) // the journal has it
			}
			if n := len(read(t, path).Memories); n != 30 {
				t.Errorf("%d memories after the repair, want 30", n)
			}
			if r, err = store.Salvage(t.Context(), path); err != nil || r.Changed {
				t.Errorf("a second repair: %+v, %v", r, err)
			}
		})
	}
}

// A row that cannot be read whole, and of which the journal knows nothing, keeps what it
// has; a private memory stays private, and stands beside a public one of the same words.
func TestSalvageMends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	db := open(t, path, store.Options{})
	s, _ := services(t, db)
	for _, private := range []bool{true, false} {
		who := user(0)
		if !private {
			who.Group, who.Role = "g", caller.RoleMember // where the private one does not exist
		}
		for _, text := range []string{"said twice", fmt.Sprintf("said once, private: %v", private)} {
			if _, err := s.Write(t.Context(), who, vector.Draft{Content: text, Scope: caller.ScopeUser, Private: private}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Close()
	live := count(t, db, "SELECT COUNT(*) FROM memories WHERE state = 'live'")
	if live != 4 {
		t.Fatalf("%d memories, want 4", live)
	}
	if err := db.Exec(t.Context(), "DELETE FROM journal"); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), "UPDATE memories SET tags = '[', private = CASE private WHEN 1 THEN 7 ELSE 0 END, event_time = 'never' WHERE content LIKE 'said once%'"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	r, err := store.Salvage(t.Context(), path)
	if err != nil || len(r.Lost) != 3 || !strings.Contains(r.Lost[0], "particulars of memory") {
		t.Fatalf("%+v, %v", r, err)
	}
	sound(t, path)
	db = open(t, path, store.Options{})
	if n := count(t, db, "SELECT COUNT(*) FROM memories WHERE state = 'live' AND private = (content LIKE '%true') OR content = 'said twice' AND state = 'live'"); n != live {
		t.Errorf("%d memories are as they were, want %d", n, live)
	}
	if n := count(t, db, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'memories_content' AND sql LIKE '%private%'"); n != 1 {
		t.Error("the repaired database has another index of contents than a new one")
	}
}

// Memories that a repair made anew are found again, by meaning too.
func TestSalvagedIsSearchable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	lived(t, path, 30)
	db := open(t, path, store.Options{})
	if err := db.Exec(t.Context(), "DELETE FROM memories WHERE rid % 2 = 0"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	r, err := store.Salvage(t.Context(), path)
	if err != nil || r.Rebuilt["memories"] != 15 {
		t.Fatalf("%+v, %v", r, err)
	}
	db = open(t, path, store.Options{})
	if n := count(t, db, "SELECT COUNT(*) FROM vectors"); n != 15 {
		t.Errorf("%d vectors, want the 15 of the rows that were left: a vector of a lost row is another memory's", n)
	}
	s, memos := services(t, db)
	defer s.Close()
	for u := range users {
		res, err := s.Search(t.Context(), user(u), vector.Query{Text: "喝茶", TopK: 50})
		if err != nil {
			t.Fatal(err)
		}
		live := count(t, db, "SELECT COUNT(*) FROM memories WHERE part LIKE ? AND state = 'live'", "%u"+fmt.Sprint(u))
		if len(res.Hits) != live {
			t.Errorf("user %d: %d hits of %d memories", u, len(res.Hits), live)
		}
		if _, err := s.Write(t.Context(), user(u), vector.Draft{Content: "after the repair"}); err != nil {
			t.Error(err)
		}
		if _, _, err := memos.Set(t.Context(), user(u), "a memo after the repair", nil); err != nil {
			t.Error(err)
		}
	}
	s.Close()
	sound(t, path)
}
