package storetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"reverie/store"
)

// DSNEnv names the environment variable with the address of a PostgreSQL server for the
// tests, of a user who may create databases.
const DSNEnv = "REVERIE_TEST_DSN"

// Engine is one way to store.
type Engine struct {
	Name string // as [store.DB.Engine] says it
	pg   *Server
}

// Engines returns SQLite and, where there is a server, PostgreSQL.
func Engines(tb testing.TB) []Engine {
	tb.Helper()
	out := []Engine{{Name: store.SQLite}}
	s, err := server()
	if err != nil {
		tb.Logf("without PostgreSQL: %v", err)
		return out
	}
	return append(out, Engine{Name: store.Postgres, pg: s})
}

// Each runs a test with each engine, as a subtest that has its name. Where there is no
// PostgreSQL server, its subtest is skipped and says what is missing.
func Each(t *testing.T, test func(t *testing.T, e Engine)) {
	t.Helper()
	t.Run(store.SQLite, func(t *testing.T) { test(t, Engine{Name: store.SQLite}) })
	t.Run(store.Postgres, func(t *testing.T) { test(t, Postgres(t)) })
}

// Postgres is the engine PostgreSQL alone; the test is skipped where there is no server.
func Postgres(tb testing.TB) Engine {
	tb.Helper()
	s, err := server()
	if err != nil {
		tb.Skipf("needs PostgreSQL: %v", err)
	}
	return Engine{Name: store.Postgres, pg: s}
}

// Home is a store that is not open: a folder, and a database in it or on the server.
type Home struct {
	Path string // for [store.Open]
	DSN  string // for [store.Options], empty with SQLite

	engine Engine
}

// New makes the home of a store. With PostgreSQL the database has today's schema already,
// which saves time; [Server.Empty] makes one that has nothing.
func (e Engine) New(tb testing.TB) Home {
	tb.Helper()
	h := Home{Path: filepath.Join(tb.TempDir(), "reverie.db"), engine: e}
	if e.pg != nil {
		h.DSN = e.pg.lend(tb)
	}
	return h
}

// Open makes a store and opens it.
func (e Engine) Open(tb testing.TB) *store.DB {
	tb.Helper()
	return e.New(tb).Open(tb)
}

// Server is the PostgreSQL server, nil for SQLite.
func (e Engine) Server() *Server { return e.pg }

// Options are what opens the home with the settings that tests want.
func (h Home) Options() store.Options {
	return store.Options{DSN: h.DSN, Synchronous: "normal"}
}

// Open opens the store once more, as another process would; it is closed with the test.
// With PostgreSQL, in tests, every function given to it runs twice, the first time for
// nothing ([store.Options]): that it may is easily forgotten.
func (h Home) Open(tb testing.TB) *store.DB {
	tb.Helper()
	o := h.Options()
	_, measured := tb.(*testing.B)
	o.RunTwice = !measured
	db, err := store.Open(tb.Context(), h.Path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return db
}

// Elsewhere is the home as another host has it: another folder, the same database. With
// SQLite, which has one host, it is the same home.
func (h Home) Elsewhere(tb testing.TB) Home {
	tb.Helper()
	if h.DSN != "" {
		h.Path = filepath.Join(tb.TempDir(), "reverie.db")
	}
	return h
}

// Main runs the tests of a package, looks for goroutines that outlive them, stops the
// server and exits.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
