package store

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Two tables that look alike could not be told apart when the schema is lost.
func TestTablesLookDifferent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	d, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	conn, err := d.eng.(*sqliteEngine).wsql.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tables, err := readTables(t.Context(), conn)
	if err != nil || len(tables) < 8 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	sample := func(tb *table) []any {
		out := make([]any, len(tb.cols))
		for i, c := range tb.cols {
			out[i] = map[string]any{"INTEGER": int64(7), "TEXT": "text", "BLOB": []byte("blob")}[c.kind]
			if i == tb.rowid {
				out[i] = nil
			}
		}
		return out
	}
	own := []table{
		{name: "sqlite_master", cols: []column{{kind: "TEXT"}, {kind: "TEXT"}, {kind: "TEXT"}, {kind: "INTEGER"}, {kind: "TEXT"}}, rowid: -1},
		{name: "sqlite_sequence", cols: []column{{kind: "TEXT"}, {kind: "INTEGER"}}, rowid: -1},
		{name: "migrations", cols: []column{{kind: "TEXT"}}, rowid: -1},
	}
	for i := range tables {
		for j, other := range append(tables, own...) {
			if got := tables[i].fits(sample(&other)); got != (i == j) {
				t.Errorf("a row of %s fits %s: %v", other.name, tables[i].name, got)
			}
		}
	}
}

// scan reads every row of the table x of a file, by rowid.
func scan(t rapid.TB, path string) map[int64][]any {
	p, err := openPages(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	out := map[int64][]any{}
	for n := uint32(2); n <= p.pages; n++ {
		if p.unused[n] {
			continue
		}
		bad, err := p.records(n, func(leaf byte, rowid int64, values []any) error {
			if leaf == tableLeaf {
				out[rowid] = values
			}
			return nil
		})
		if bad != 0 || err != nil {
			t.Fatalf("page %d: %d bad records, %v", n, bad, err)
		}
	}
	return out
}

// What is read page by page is what SQLite stored: all types, all sizes of pages,
// records that overflow, deleted rows, in the file or still in the log.
func TestPagesAgreeWithSQLite(t *testing.T) {
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", round))
		size := rapid.SampledFrom([]int{512, 4096, 65536}).Draw(r, "page size")
		wal := rapid.Bool().Draw(r, "log")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			r.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		exec := func(query string, args ...any) {
			if _, err := db.Exec(query, args...); err != nil {
				r.Fatal(err)
			}
		}
		exec(fmt.Sprintf("PRAGMA page_size = %d; PRAGMA synchronous = OFF", size))
		if wal {
			exec("PRAGMA journal_mode = WAL")
		}
		exec("CREATE TABLE x (a, b)")
		want := map[int64][]any{}
		for range rapid.IntRange(1, 40).Draw(r, "rows") {
			id := rapid.Int64().Draw(r, "rowid")
			row := []any{value(r), value(r)}
			exec("INSERT OR REPLACE INTO x (rowid, a, b) VALUES (?, ?, ?)", id, row[0], row[1])
			want[id] = row
		}
		for id := range want {
			if rapid.IntRange(0, 3).Draw(r, "delete") == 0 {
				exec("DELETE FROM x WHERE rowid = ?", id)
				delete(want, id)
			}
		}
		copied := path
		if wal { // as a kill leaves it: the open database's files, copied
			copied = path + ".killed"
			for _, suffix := range []string{"", "-wal"} {
				b, err := os.ReadFile(path + suffix)
				if err == nil {
					err = os.WriteFile(copied+suffix, b, 0o600)
				}
				if err != nil {
					r.Fatal(err)
				}
			}
		}
		if d := cmp.Diff(want, scan(r, copied)); d != "" {
			r.Fatalf("page size %d, log %v (-stored +read):\n%s", size, wal, d)
		}
	})
}

func value(r *rapid.T) any {
	switch rapid.IntRange(0, 4).Draw(r, "type") {
	case 0:
		return nil
	case 1:
		return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-300, 300), rapid.Just(int64(0)), rapid.Just(int64(1))).Draw(r, "int")
	case 2:
		return 0.5 + float64(rapid.IntRange(-1000, 1000).Draw(r, "float"))
	case 3:
		n := rapid.SampledFrom([]int{1, 40, 476, 477, 478, 489, 508, 4060, 4061, 4062, 9000, 70000}).Draw(r, "length")
		return fmt.Sprintf("%0*d", n, 7)
	default:
		b := make([]byte, rapid.IntRange(1, 2000).Draw(r, "bytes"))
		for i := range b {
			b[i] = byte(i * 31)
		}
		return b
	}
}

// A frame of the log that does not check is left out, and no more than that.
func TestLogWithABadFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	d, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i := range 30 {
		if err := d.Write(t.Context(), fmt.Sprint("p", i), func(*Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	copied := filepath.Join(t.TempDir(), "x.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix != "" {
			b[walHeader+frameHeader+100] ^= 0xff // in the first page
		}
		if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Salvage(t.Context(), copied)
	if err != nil {
		t.Fatal(err)
	}
	if r.Read["partitions"] < 30 {
		t.Errorf("%d partitions were read, want 30: %+v", r.Read["partitions"], r)
	}
}

// Nothing that a file or its log holds makes the reader panic or run for long.
func TestPagesOfNoise(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`PRAGMA page_size = 512; PRAGMA journal_mode = WAL; CREATE TABLE x (a, b);
		INSERT INTO x VALUES (1, 'one'), (NULL, 0.5), (-70000, zeroblob(1200)), ('long', printf('%0900d', 7)); DELETE FROM x WHERE a = 'long'`)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(9, 1))
	noisy := func(b []byte, most int) []byte {
		b = append([]byte{}, b...)
		for range rng.IntN(most) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		if rng.IntN(3) == 0 {
			b = b[:rng.IntN(len(b))]
		}
		return b
	}
	begun := time.Now()
	for i := range 2000 {
		path := filepath.Join(t.TempDir(), "noise.db")
		b := noisy(image, 60)
		if i%4 == 0 && len(b) > 18 { // another size of pages
			b[16], b[17] = byte(1<<rng.IntN(8)), 0
		}
		if err := errors.Join(os.WriteFile(path, b, 0o600), os.WriteFile(path+"-wal", noisy(wal, 20), 0o600)); err != nil {
			t.Fatal(err)
		}
		p, err := openPages(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := uint32(0); n <= p.pages+1; n++ {
			if _, err := p.records(n, func(byte, int64, []any) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		p.Close()
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d files took a minute", i+1)
		}
	}
}
