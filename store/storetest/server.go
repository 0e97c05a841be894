package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver for the statements of an administrator

	"reverie/store"
)

// startTime bounds a start of the server, on a busy machine too.
const startTime = 60 * time.Second

// Server is a PostgreSQL server for the tests of one binary.
type Server struct {
	admin    *url.URL // of the database "postgres"
	template string   // a database with today's schema, to be copied
	shape    string   // of the template, as look tells it
	own      *cluster // nil for a server that was there before
	names    atomic.Int64

	mu   sync.Mutex
	free []string // databases of tests that are over, emptied
}

// shared is the one server of the test binary.
var shared struct {
	mu     sync.Mutex
	tried  bool
	server *Server
	err    error
}

// server returns the server of the test binary, started on first use.
func server() (*Server, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.tried {
		shared.tried = true
		shared.server, shared.err = start(os.Getenv(DSNEnv), false)
	}
	return shared.server, shared.err
}

// Stop stops the server of the test binary, if it has one, and removes what it stored.
// [Main] calls it; a TestMain that does not use Main does so after the last test.
func Stop() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if s := shared.server; s != nil {
		if s.own != nil {
			s.own.remove()
		} else {
			for _, name := range append(s.free, s.template) {
				_ = s.exec("DROP DATABASE IF EXISTS " + name)
			}
		}
	}
	shared.server, shared.tried = nil, false
}

// start makes a Server of the one at dsn, or starts one if that is empty.
func start(dsn string, sure bool) (*Server, error) {
	s := &Server{}
	if dsn != "" {
		u, err := url.Parse(dsn)
		if err != nil {
			return nil, fmt.Errorf("%s is not an address of the form postgres://user:password@host:5432/postgres", DSNEnv)
		}
		s.admin = u
	} else {
		own, err := newCluster(sure)
		if err != nil {
			return nil, err
		}
		s.own, s.admin = own, own.address()
	}
	err := s.makeTemplate()
	if err == nil {
		err = with(s.dsn(s.template), func(ctx context.Context, db *sql.DB) (err error) {
			s.shape, err = look(ctx, db)
			return err
		})
	}
	if err != nil {
		if s.own != nil {
			s.own.remove()
		}
		return nil, err
	}
	return s, nil
}

// Durable is the engine PostgreSQL on a server of the test's own that waits for the disk,
// as servers do by default and the shared one of the tests does not.
func Durable(tb testing.TB) Engine {
	tb.Helper()
	s, err := start("", true)
	if err != nil {
		tb.Skipf("needs PostgreSQL: %v", err)
	}
	tb.Cleanup(s.own.remove)
	return Engine{Name: store.Postgres, pg: s}
}

func (s *Server) makeTemplate() error {
	name := fmt.Sprintf("reverie_template_%d", os.Getpid())
	if err := s.exec("CREATE DATABASE " + name + " ENCODING 'UTF8' TEMPLATE template0"); err != nil {
		return err
	}
	s.template = name
	dir, err := os.MkdirTemp("", "reverie-template")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(context.Background(), filepath.Join(dir, "reverie.db"), store.Options{DSN: s.dsn(name)})
	if err != nil {
		return err
	}
	return db.Close()
}

// dsn is the address of a database of the server.
func (s *Server) dsn(database string) string {
	u := *s.admin
	u.Path = "/" + database
	return u.String()
}

// database makes a database that is a copy of another one. What becomes of it after the
// test is the caller's business.
func (s *Server) database(tb testing.TB, template string) string {
	tb.Helper()
	name := fmt.Sprintf("reverie_test_%d_%d", os.Getpid(), s.names.Add(1))
	if err := s.exec("CREATE DATABASE " + name + " ENCODING 'UTF8' TEMPLATE " + template); err != nil {
		tb.Fatal(err)
	}
	return name
}

func (s *Server) drop(tb testing.TB, name string) {
	if err := s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
		tb.Errorf("remove the database of the test: %v", err)
	}
}

// lend gives a database of today's schema for the time of a test: one that another test
// has given back, which is much faster, or a new one.
func (s *Server) lend(tb testing.TB) string {
	tb.Helper()
	var name string
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		name, s.free = s.free[n-1], s.free[:n-1]
	}
	s.mu.Unlock()
	if name == "" {
		name = s.database(tb, s.template)
	}
	tb.Cleanup(func() {
		if tb.Failed() || !s.emptied(name) {
			s.drop(tb, name)
			return
		}
		s.mu.Lock()
		s.free = append(s.free, name)
		s.mu.Unlock()
	})
	return s.dsn(name)
}

// empty makes a database of today's schema as good as new. A database that a test has
// given settings or rights of its own is not.
const empty = `DO $$
DECLARE t text;
BEGIN
	IF EXISTS (SELECT 1 FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase WHERE d.datname = current_database())
		OR EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relacl IS NOT NULL) THEN
		RAISE EXCEPTION 'not as it was';
	END IF;
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('migrations', 'serving') LOOP
		EXECUTE format('DELETE FROM %I', t);
	END LOOP;
	FOR t IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
		EXECUTE format('ALTER SEQUENCE %I RESTART', t);
	END LOOP;
	UPDATE serving SET space = 0, generation = 1;
END $$`

// emptied empties a database and reports whether it is like the template then.
func (s *Server) emptied(name string) bool {
	err := with(s.dsn(name), func(ctx context.Context, db *sql.DB) error {
		if _, err := db.ExecContext(ctx, empty); err != nil {
			return err
		}
		now, err := look(ctx, db)
		if err == nil && now != s.shape {
			err = errors.New("not as it was")
		}
		return err
	})
	return err == nil
}

// look returns what a database of today's schema has in common with others.
func look(ctx context.Context, db *sql.DB) (shape string, err error) {
	err = db.QueryRowContext(ctx, `SELECT md5(string_agg(x, ' ' ORDER BY x)) FROM (
		SELECT table_name || ' ' || column_name FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL SELECT 'migration ' || id FROM migrations UNION ALL SELECT 'serving ' || one FROM serving) AS parts (x)`).Scan(&shape)
	return shape, err
}

// Empty makes a database without any table and returns its address.
func (s *Server) Empty(tb testing.TB) string {
	tb.Helper()
	name := s.database(tb, "template0")
	tb.Cleanup(func() { s.drop(tb, name) })
	return s.dsn(name)
}

// TCP returns the address of the same database over TCP and with a password, which the
// tests of a server that is not their own have from the start.
func (s *Server) TCP(tb testing.TB, dsn string) string {
	tb.Helper()
	if s.own == nil {
		return dsn
	}
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	u.User, u.Host, u.RawQuery = url.UserPassword(user, Password), s.own.host, ""
	return u.String()
}

// Exec runs a statement as the administrator, in the database of dsn or, if that is
// empty, in another one.
func (s *Server) Exec(tb testing.TB, dsn, stmt string) {
	tb.Helper()
	if dsn == "" {
		dsn = s.admin.String()
	}
	if err := execOn(dsn, stmt); err != nil {
		tb.Fatal(err)
	}
}

// Terminate ends every connection to the database of dsn, as an administrator or a
// balancer does, and returns how many there were.
func (s *Server) Terminate(tb testing.TB, dsn string) int {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	var n int
	err = with(s.admin.String(), func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1", strings.TrimPrefix(u.Path, "/")).Scan(&n)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// Crash kills the server as a power cut does, and starts it again. The test is skipped if
// the server is not the tests' own.
func (s *Server) Crash(tb testing.TB) {
	tb.Helper()
	s.Down(tb)
	s.Up(tb)
}

// Down kills the server; the test calls [Server.Up] before it ends.
func (s *Server) Down(tb testing.TB) {
	tb.Helper()
	s.needOwn(tb)
	if err := s.own.kill(); err != nil {
		tb.Fatal(err)
	}
}

// Restart stops the server in order and starts it again.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.needOwn(tb)
	if err := s.own.shutdown(); err != nil {
		tb.Fatal(err)
	}
	s.Up(tb)
}

// Up starts the server after [Server.Down].
func (s *Server) Up(tb testing.TB) {
	tb.Helper()
	s.needOwn(tb)
	if err := s.own.run(); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) needOwn(tb testing.TB) {
	tb.Helper()
	if s.own == nil {
		tb.Skipf("needs a PostgreSQL server of the tests' own, to kill it; that of %s stays as it is", DSNEnv)
	}
}

func (s *Server) exec(stmt string) error { return execOn(s.admin.String(), stmt) }

func execOn(dsn, stmt string) error {
	return with(dsn, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, stmt)
		if err != nil {
			return fmt.Errorf("%s: %w", stmt, err)
		}
		return nil
	})
}

func with(dsn string, fn func(context.Context, *sql.DB) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return errors.New("the address of the PostgreSQL server for the tests cannot be read")
	}
	defer db.Close()
	return fn(ctx, db)
}
