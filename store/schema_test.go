package store_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/store"
	"reverie/store/migrations"
	"reverie/store/storetest"
	"reverie/vector"
)

// freeze writes the testdata of the newest step. It is for the day on which a step is
// released; what is there already is never written again.
var freeze = flag.Bool("freeze", false, "write the testdata of the newest migration step")

// steps are the released migrations: the hashes of their SQL, which must never change.
var steps = []struct{ name, sqlite, postgres string }{
	{"0001_first", "07fc07aa90cba8cdd75882049fd7aa7b524d96725ce7c1a928955f2cfe2d5366",
		"a394947522f4e95347d7c42c8afd6ea1035a8bf0d8042d96fa410252ecee4182"},
	{"0002_spaces", "28ed3840219727c50df8a24ab405c2ba550839e23d04a7694b2fee228e87fdb1",
		"64ffe34506b0ffa4ec50a18aaffbe548f4ad85560abc4ed46c1e43f727551d3e"},
}

func TestStepsAreFrozen(t *testing.T) {
	if len(steps) != migrations.Version() {
		t.Fatalf("%d steps are recorded here, the program has %d: record the new one and run with -freeze", len(steps), migrations.Version())
	}
	for _, s := range steps {
		for dialect, want := range map[string]string{"sqlite": s.sqlite, "postgres": s.postgres} {
			sum := sha256.Sum256([]byte(strings.ReplaceAll(string(contents(t, "migrations/"+s.name+"."+dialect+".sql")), "\r\n", "\n")))
			if got := hex.EncodeToString(sum[:]); got != want {
				t.Errorf("step %s for %s has hash %s; a step is never edited once released, a change is a new step", s.name, dialect, got)
			}
		}
	}
}

// schema returns the text of a database's schema.
func schema(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text string
	err = db.QueryRow(`SELECT group_concat(type || ' ' || name || char(10) || COALESCE(sql, '') || ';', char(10)) FROM
		(SELECT * FROM sqlite_master ORDER BY type, name)`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text + "\n"
}

// A database of every earlier step is opened, brought up to date and used by today's
// program, and then has the schema of a new one.
func TestEarlierDatabases(t *testing.T) {
	fresh := newDB(t)
	fresh.Close()
	newest := steps[len(steps)-1].name
	if *freeze {
		writeFrozen(t, newest)
	}
	want := strings.ReplaceAll(string(contents(t, "testdata/"+newest+".schema.sql")), "\r\n", "\n")
	if d := cmp.Diff(want, schema(t, fresh.Path())); d != "" {
		t.Errorf("a new database does not have the schema of step %s (-frozen +new):\n%s", newest, d)
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reverie.db")
			if err := os.WriteFile(path, contents(t, "testdata/"+s.name+".db"), 0o600); err != nil {
				t.Fatal(err)
			}
			copies := filepath.Join(t.TempDir(), "backups")
			db := open(t, path, store.Options{Copies: copies})
			copied(t, copies, s.name != newest, contents(t, "testdata/"+s.name+".db"))
			svc, memos := services(t, db)
			defer svc.Close()
			res, err := svc.Search(t.Context(), user(1), vector.Query{Text: "memory 4 tea", TopK: 50})
			if err != nil || len(res.Hits) == 0 || !strings.HasPrefix(res.Hits[0].Content, "memory 4 of user 1") {
				t.Errorf("search in the old database: %+v, %v", res, err)
			}
			if m, err := memos.Get(t.Context(), user(0)); err != nil || m.Content != "memo 0 of user 0" {
				t.Errorf("memo of the old database: %+v, %v", m, err)
			}
			h, err := svc.History(t.Context(), user(1), caller.ScopeUser, res.Hits[0].ID)
			if err != nil || len(h) == 0 {
				t.Errorf("history in the old database: %d entries, %v", len(h), err)
			}
			if _, err := svc.Write(t.Context(), user(1), vector.Draft{Content: "a new memory"}); err != nil {
				t.Error(err)
			}
			svc.Close()
			db.Close()
			sound(t, path)
			if d := cmp.Diff(want, schema(t, path)); d != "" {
				t.Errorf("the migrated database differs from a new one (-new +migrated):\n%s", d)
			}
		})
	}
}

// The same tables with the same columns stand in both engines, but for one that only
// PostgreSQL has.
func TestEnginesHaveTheSameTables(t *testing.T) {
	e := storetest.Postgres(t)
	columns := func(db *store.DB, query string) (out []string) {
		err := db.Read(t.Context(), func(g *gorm.DB) error { return g.Raw(query).Scan(&out).Error })
		if err != nil || len(out) < 50 {
			t.Fatalf("%d columns, %v", len(out), err)
		}
		return out
	}
	want := columns(newDB(t), `SELECT m.name || ' ' || c.name || CASE c.type WHEN 'INTEGER' THEN ' bigint' WHEN 'BLOB' THEN ' bytea' ELSE ' text' END
			|| CASE WHEN c."notnull" = 1 OR c.pk > 0 THEN '' ELSE ' null' END
		FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name <> 'migrations' ORDER BY m.name, c.cid`)
	got := columns(e.Open(t), `SELECT table_name || ' ' || column_name || ' ' || data_type || CASE is_nullable WHEN 'YES' THEN ' null' ELSE '' END
		FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT IN ('migrations', 'writers') ORDER BY table_name, ordinal_position`)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the tables differ (-SQLite +PostgreSQL):\n%s", d)
	}
	if other := count(t, e.Open(t), `SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`); other > 0 {
		t.Errorf("%d columns of text are not compared by their bytes", other)
	}
}

// A PostgreSQL database of every earlier step is brought up to date and then is like a
// new one.
func TestEarlierPostgres(t *testing.T) {
	e := storetest.Postgres(t)
	shape := func(db *store.DB) (out []string) {
		err := db.Read(t.Context(), func(g *gorm.DB) error {
			return g.Raw(`SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || COALESCE(column_default, '') FROM information_schema.columns WHERE table_schema = 'public'
				UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' UNION ALL SELECT 'migration ' || id FROM migrations ORDER BY 1`).Scan(&out).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := shape(e.Open(t))
	for n := range steps {
		h := e.New(t)
		h.DSN = e.Server().Empty(t)
		e.Server().Exec(t, h.DSN, "CREATE TABLE migrations (id VARCHAR(64) PRIMARY KEY)")
		for _, s := range steps[:n] {
			e.Server().Exec(t, h.DSN, string(contents(t, "migrations/"+s.name+".postgres.sql")))
			e.Server().Exec(t, h.DSN, "INSERT INTO migrations (id) VALUES ('"+s.name+"')")
		}
		db := h.Open(t)
		works(t, db)
		if d := cmp.Diff(want, shape(db)); d != "" {
			t.Errorf("after %d steps (-new +migrated):\n%s", n, d)
		}
	}
}

func writeFrozen(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reverie.db")
	lived(t, path, 12)
	for file, content := range map[string][]byte{name + ".db": contents(t, path), name + ".schema.sql": []byte(schema(t, path))} {
		file = filepath.Join("testdata", file)
		if _, err := os.Stat(file); err == nil {
			t.Logf("%s is frozen already", file)
			continue
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// copied checks that an older database was copied before it was migrated, as it was.
func copied(t *testing.T, dir string, want bool, original []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || (len(found) == 1) != want {
		t.Fatalf("copies %q, %v; want one: %v", found, err, want)
	}
	if !want {
		return
	}
	before := filepath.Join(t.TempDir(), "before.db")
	if err := os.WriteFile(before, original, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(schema(t, before), schema(t, found[0])); d != "" {
		t.Errorf("the copy has another schema (-was +copy):\n%s", d)
	}
	if st, err := os.Stat(found[0]); err != nil || st.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("mode of the copy: %v, %v", st.Mode(), err)
	}
}
