package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/migrations"
	"reverie/store/storetest"
)

func open(tb testing.TB, path string, o store.Options) *store.DB {
	tb.Helper()
	db, err := store.Open(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func newDB(tb testing.TB) *store.DB {
	tb.Helper()
	return open(tb, filepath.Join(tb.TempDir(), "reverie.db"), store.Options{})
}

// write makes n changes of a partition that change nothing but its version.
func write(tb testing.TB, db *store.DB, part string, n int) {
	tb.Helper()
	for range n {
		if err := db.Write(tb.Context(), part, func(*store.Tx) error { return nil }); err != nil {
			tb.Fatal(err)
		}
	}
}

func version(tb testing.TB, db *store.DB, part string) int64 {
	tb.Helper()
	v, err := db.Version(tb.Context(), part)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// count runs a query for one number.
func count(tb testing.TB, db *store.DB, query string, args ...any) int {
	tb.Helper()
	var n int
	if err := db.Read(tb.Context(), func(g *gorm.DB) error { return g.Raw(query, args...).Row().Scan(&n) }); err != nil {
		tb.Fatal(err)
	}
	return n
}

// works fails the test unless the store takes a change and shows it.
func works(tb testing.TB, db *store.DB) {
	tb.Helper()
	before := version(tb, db, "works")
	write(tb, db, "works", 1)
	if v := version(tb, db, "works"); v != before+1 {
		tb.Fatalf("a write raised the version from %d to %d", before, v)
	}
}

// wants fails the test unless err is a condition and its text contains the words.
func wants(tb testing.TB, err, condition error, words ...string) {
	tb.Helper()
	if !errors.Is(err, condition) {
		tb.Fatalf("error is %v; want one that is %q", err, condition)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			tb.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestOpenCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	db := open(t, path, store.Options{})
	works(t, db)
	if runtime.GOOS != "windows" {
		for _, f := range []string{path, path + "-wal", path + "-shm", strings.TrimSuffix(path, ".db") + ".lock"} {
			st, err := os.Stat(f)
			if err != nil {
				t.Error(err)
			} else if st.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v; memories are private, want 0600", filepath.Base(f), st.Mode().Perm())
			}
		}
	}
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Errorf("close twice: %v", err)
	}
	if _, err := db.Version(t.Context(), "works"); err == nil {
		t.Error("a closed database answers")
	}
	again := open(t, path, store.Options{})
	if v := version(t, again, "works"); v != 1 {
		t.Errorf("after reopening the version is %d, want 1", v)
	}
}

func TestOpenOddPaths(t *testing.T) {
	names := []string{"a#b", "a?b", "a%41b", "two words", "张三", `quo"te`, "apo'strophe", "a;b&c=d", "a+b", "-dash", "mode=ro", "trailing.", "ünï"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.ContainsAny(name, `?"`) {
				t.Skip("Windows has no such names")
			}
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name+".db")
			works(t, open(t, path, store.Options{}))
			files, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*"))
			if err != nil || len(files) != 1 {
				t.Errorf("files beside the home: %q, %v", files, err)
			}
			if st, err := os.Stat(path); err != nil || st.Size() == 0 {
				t.Errorf("the file is not where it was asked for: %v", err)
			}
		})
	}
}

func TestOpenRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	works(t, open(t, "reverie.db", store.Options{}))
	if _, err := os.Stat("reverie.db"); err != nil {
		t.Error(err)
	}
}

// Several goroutines and several processes start on one new home at the same moment.
func TestOpenTogether(t *testing.T) { storetest.Each(t, testOpenTogether) }

func testOpenTogether(t *testing.T, e storetest.Engine) {
	const goroutines, processes, writes = 4, 4, 5
	rounds := 3
	if e.Name == store.Postgres {
		rounds = 1 // the server makes it slower, not different
	}
	for round := range rounds {
		h := e.New(t)
		if e.Server() != nil {
			h.DSN = e.Server().Empty(t)
		}
		var wg sync.WaitGroup
		for range processes {
			cmd := child(t, "write", h, "p")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				if err := cmd.Wait(); err != nil {
					t.Errorf("round %d: process: %v: %s", round, err, &stderr)
				}
			})
		}
		for range goroutines {
			wg.Go(func() {
				db, err := store.Open(t.Context(), h.Path, h.Options())
				if err != nil {
					t.Errorf("round %d: goroutine: %v", round, err)
					return
				}
				defer db.Close()
				write(t, db, "p", writes)
			})
		}
		wg.Wait()
		db := h.Open(t)
		if v := version(t, db, "p"); v != processes+goroutines*writes {
			t.Errorf("round %d: version %d after %d changes", round, v, processes+goroutines*writes)
		}
		if n := count(t, db, "SELECT COUNT(*) FROM migrations"); n != migrations.Version() {
			t.Errorf("round %d: %d migrations recorded, want %d", round, n, migrations.Version())
		}
	}
}

func TestVersionsSeenByOthers(t *testing.T) { storetest.Each(t, testVersionsSeenByOthers) }

func testVersionsSeenByOthers(t *testing.T, e storetest.Engine) {
	h := e.New(t)
	db := h.Open(t)
	for i := int64(1); i <= 10; i += 2 {
		var inside int64
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error { inside = tx.Version; return nil })
		if err != nil || inside != i || version(t, db, "p") != i {
			t.Fatalf("write %d: version %d inside, %d outside, %v", i, inside, version(t, db, "p"), err)
		}
		out := runToEnd(t, "write", h, "p")
		if v, err := strconv.ParseInt(out, 10, 64); err != nil || v != i+1 {
			t.Fatalf("the other process got version %q after %d", out, i)
		}
		if v := version(t, db, "p"); v != i+1 {
			t.Fatalf("the other process wrote version %d; here it is %d", i+1, v)
		}
	}
	if v := version(t, db, "never"); v != 0 {
		t.Errorf("a partition that was never written has version %d", v)
	}
}

func TestOpenNewer(t *testing.T) {
	db := newDB(t)
	works(t, db)
	if err := db.Exec(t.Context(), "PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	before := contents(t, db.Path())
	_, err := store.Open(t.Context(), db.Path(), store.Options{})
	wants(t, err, store.ErrNewer, "999", "install the newer reverie")
	if !bytes.Equal(before, contents(t, db.Path())) {
		t.Error("the newer database was changed")
	}
}

func contents(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestOpenNotADatabase(t *testing.T) {
	whole := func(t *testing.T) []byte {
		db := newDB(t)
		write(t, db, "p", 100)
		db.Close()
		return contents(t, db.Path())
	}
	for name, tc := range map[string]struct {
		content func(*testing.T) []byte
		fails   bool
	}{
		"text":         {func(*testing.T) []byte { return bytes.Repeat([]byte("dear diary\n"), 1000) }, true},
		"a short text": {func(*testing.T) []byte { return []byte("dear diary") }, true},
		"zeros":        {func(*testing.T) []byte { return make([]byte, 65536) }, true},
		"truncated":    {func(t *testing.T) []byte { b := whole(t); return b[:len(b)/2/4096*4096] }, true},
		"half a page":  {func(t *testing.T) []byte { return whole(t)[:2000] }, true},
		"empty":        {func(*testing.T) []byte { return nil }, false}, // what a crash right after creation leaves
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reverie.db")
			before := tc.content(t)
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := store.Open(t.Context(), path, store.Options{})
			if !tc.fails {
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				works(t, db)
				return
			}
			if err == nil { // a cut file may open; what is cut off must then be missed
				err = db.Read(t.Context(), func(g *gorm.DB) error {
					return g.Raw("SELECT * FROM journal, memories").Scan(new([]map[string]any)).Error
				})
				db.Close()
			}
			wants(t, err, store.ErrDamaged, "reverie doctor --repair")
			if !bytes.Equal(before, contents(t, path)) {
				t.Error("opening changed the damaged file")
			}
		})
	}
}

func TestOpenOptions(t *testing.T) {
	if _, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), store.Options{Synchronous: "off"}); err == nil {
		t.Error("synchronous off was accepted")
	}
	for name, want := range map[string]int{"full": 2, "normal": 1} {
		db := open(t, filepath.Join(t.TempDir(), name+".db"), store.Options{Synchronous: name})
		var got int
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error { return tx.Raw("PRAGMA synchronous").Row().Scan(&got) })
		if err != nil || got != want {
			t.Errorf("%s: synchronous is %d, %v; want %d", name, got, err, want)
		}
	}
}

func TestSecret(t *testing.T) { storetest.Each(t, testSecret) }

func testSecret(t *testing.T, e storetest.Engine) {
	h := e.New(t)
	a, b := h.Open(t), h.Open(t)
	var wg sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wg.Go(func() {
			s, err := []*store.DB{a, b}[i%2].Secret(t.Context())
			if err != nil || len(s) != 32 {
				t.Errorf("secret of %d bytes, %v", len(s), err)
			}
			got[i] = string(s)
		})
	}
	wg.Wait()
	for _, s := range got {
		if s != got[0] {
			t.Fatal("two callers got different secrets")
		}
	}
}

func TestOpenBusyHome(t *testing.T) {
	db := newDB(t)
	if _, err := store.Salvage(t.Context(), db.Path()); !errors.Is(err, store.ErrBusy) {
		t.Fatalf("salvage of an open database: %v", err)
	} else if !strings.Contains(err.Error(), "stop every reverie server") {
		t.Errorf("the refusal does not say what to do: %v", err)
	}
	if _, err := store.LockHome(db.Path()); !errors.Is(err, store.ErrBusy) {
		t.Fatalf("an open home was locked: %v", err)
	}
	db.Close()
	release, err := store.LockHome(db.Path())
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), db.Path(), store.Options{BusyTimeout: 50 * time.Millisecond})
	wants(t, err, store.ErrBusy, "repairing or restoring")
	release()
	works(t, open(t, db.Path(), store.Options{}))
}

func ackRow(tx *store.Tx, i int) error {
	return tx.Exec("INSERT INTO memos (part, content, version, updated_at) VALUES (?, ?, ?, ?)",
		ackOf(tx.Part, i), strings.Repeat(fmt.Sprint(i, " "), 500), tx.Version, tx.Now.UnixMicro()).Error
}

func ackOf(part string, i int) string { return fmt.Sprintf("%s-%d", part, i) }
