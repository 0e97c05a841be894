package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/storetest"
)

// An address that leads nowhere is told in words that say what to do, and never show the
// password.
func TestPostgresAddresses(t *testing.T) {
	e := storetest.Postgres(t)
	s := e.Server()
	good := s.TCP(t, s.Empty(t))
	change := func(with func(u *url.URL)) string {
		u, err := url.Parse(good)
		if err != nil {
			t.Fatal(err)
		}
		with(u)
		return u.String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	foreign := s.Empty(t)
	s.Exec(t, foreign, "CREATE TABLE migrations (id SERIAL PRIMARY KEY, migration TEXT)")
	s.Exec(t, foreign, "INSERT INTO migrations (migration) VALUES ('2014_create_users')")
	crowded := s.Empty(t)
	s.Exec(t, crowded, "CREATE TABLE meta (what TEXT)")
	newer := e.New(t).DSN
	s.Exec(t, newer, "INSERT INTO migrations (id) VALUES ('9999_future')")
	readOnly := e.New(t).DSN
	s.Exec(t, readOnly, "ALTER DATABASE "+strings.TrimPrefix(mustParse(t, readOnly).Path, "/")+" SET default_transaction_read_only = on")
	guest := e.New(t).DSN
	s.Exec(t, guest, "DROP ROLE IF EXISTS guest")
	s.Exec(t, guest, "CREATE ROLE guest LOGIN PASSWORD 'guest'")
	s.Exec(t, guest, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
	t.Cleanup(func() { s.Exec(t, guest, "DROP OWNED BY guest CASCADE"); s.Exec(t, guest, "DROP ROLE guest") })

	for name, tc := range map[string]struct {
		dsn   string
		want  error // nil: no condition of its own
		words []string
	}{
		"nobody there":     {change(func(u *url.URL) { u.Host = nobody }), store.ErrUnreachable, []string{nobody, "does not answer", "check that it runs", "REVERIE_DSN"}},
		"wrong password":   {change(func(u *url.URL) { u.User = url.UserPassword("reverie", "w/r@ng") }), store.ErrUnreachable, []string{"refuses the user or the password", "%XX"}},
		"unknown user":     {change(func(u *url.URL) { u.User = url.UserPassword("stranger", "w/r@ng") }), store.ErrUnreachable, []string{"refuses the user or the password", "stranger"}},
		"no such database": {change(func(u *url.URL) { u.Path = "/nowhere" }), store.ErrUnreachable, []string{`database "nowhere"`, "does not exist", "createdb"}},
		"not an address":   {"postgres://reverie:w/r@ng@host:5432/x", nil, []string{"cannot be read", "%XX", "postgres://user:password@host:5432/database"}},
		"not a port":       {change(func(u *url.URL) { u.Host = "localhost" }) + "?port=w%2Fr@ng", nil, []string{"cannot be read"}},
		"another's":        {foreign, nil, []string{"another program", "a database of its own"}},
		"another's tables": {crowded, nil, []string{"another program", "a database of its own"}},
		"newer":            {newer, store.ErrNewer, []string{"schema 3", "install the newer reverie"}},
		"read-only":        {readOnly, store.ErrReadOnly, []string{"takes no changes"}},
		"no rights":        {withUser(t, s.TCP(t, guest), "guest"), store.ErrReadOnly, []string{"may not change the tables", "OWNER"}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "reverie.db"), store.Options{DSN: tc.dsn})
			if err == nil {
				db.Close()
				t.Fatal("it opened")
			}
			if tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("error is %v; want one that is %q", err, tc.want)
			}
			for _, w := range tc.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if strings.ContainsAny(err.Error(), "\n\t") {
				t.Errorf("error %q is not one line", err)
			}
			for _, secret := range []string{storetest.Password, url.QueryEscape(storetest.Password), url.PathEscape(storetest.Password), "w/r@ng", "w%2Fr", "w/r"} {
				if strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
					t.Errorf("error %q shows %q", err, secret)
				}
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
	works(t, open(t, filepath.Join(t.TempDir(), "reverie.db"), store.Options{DSN: good}))
}

func mustParse(t *testing.T, dsn string) *url.URL {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func withUser(t *testing.T, dsn, name string) string {
	u := mustParse(t, dsn)
	u.User = url.UserPassword(name, name)
	return u.String()
}

// once opens a home for a test that counts how often a function runs.
func once(t *testing.T, h storetest.Home) *store.DB {
	t.Helper()
	return open(t, h.Path, h.Options())
}

// The home's folder is used for its lock, and for nothing else.
func TestPostgresHome(t *testing.T) {
	e := storetest.Postgres(t)
	h := e.New(t)
	db := h.Open(t)
	works(t, db)
	if db.Path() != h.Path {
		t.Errorf("path %q, want %q", db.Path(), h.Path)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(h.Path), "*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "reverie.lock" {
		t.Errorf("files in the home: %q, %v", files, err)
	}
	if _, err := store.LockHome(h.Path); !errors.Is(err, store.ErrBusy) {
		t.Errorf("an open home was locked: %v", err)
	}
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Errorf("close twice: %v", err)
	}
	if _, err := db.Version(t.Context(), "works"); err == nil {
		t.Error("a closed database answers")
	}
	release, err := store.LockHome(h.Path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), h.Path, store.Options{DSN: h.DSN, BusyTimeout: 50 * time.Millisecond})
	wants(t, err, store.ErrBusy, "repairing or restoring")
	release()
	works(t, h.Open(t))
	var left int
	if err := h.Open(t).Read(t.Context(), func(g *gorm.DB) error { return g.Raw("SELECT COUNT(*) FROM writers").Row().Scan(&left) }); err != nil || left > 1 {
		t.Errorf("%d rows of closed stores are left in the table writers, %v", left, err)
	}
}

// What PostgreSQL cannot hold is refused as a whole, by a clear error.
func TestPostgresText(t *testing.T) {
	db := storetest.Postgres(t).Open(t)
	for name, text := range map[string]string{"NUL": "a\x00b", "not UTF-8": "a\xffb"} {
		t.Run(name, func(t *testing.T) {
			err := db.Write(t.Context(), "p", func(tx *store.Tx) error {
				if err := ackRow(tx, 1); err != nil {
					return err
				}
				return tx.Exec("INSERT INTO memos (part, content, version, updated_at) VALUES ('x', ?, 1, 1)", text).Error
			})
			wants(t, err, store.ErrText, "nothing was stored", "NUL", "UTF-8")
			wants(t, db.Write(t.Context(), text, func(*store.Tx) error { return nil }), store.ErrText)
			_, err = db.Version(t.Context(), text)
			wants(t, err, store.ErrText)
			if n := count(t, db, "SELECT COUNT(*) FROM memos"); n != 0 || version(t, db, "p") != 0 {
				t.Errorf("%d rows and version %d are left of it", n, version(t, db, "p"))
			}
		})
	}
}

// Two changes that wait for one another's rows are a deadlock, which the server ends by
// refusing one of them: it is made again.
func TestPostgresDeadlock(t *testing.T) {
	e := storetest.Postgres(t)
	h := e.New(t)
	db := once(t, h)
	for _, row := range []string{"a", "b"} {
		if err := db.Exec(t.Context(), "INSERT INTO meta (name, value) VALUES (?, ?)", row, []byte("0")); err != nil {
			t.Fatal(err)
		}
	}
	var both, wg sync.WaitGroup
	both.Add(2)
	runs := [2]int{}
	for i, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			err := db.Write(t.Context(), order[0], func(tx *store.Tx) error {
				runs[i]++
				for j, row := range order {
					if err := tx.Exec("UPDATE meta SET value = value || 'x' WHERE name = ?", row).Error; err != nil {
						return err
					}
					if j == 0 && runs[i] == 1 {
						both.Done()
						both.Wait()
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs[0]+runs[1] != 3 {
		t.Errorf("the changes ran %v times, want one of them twice", runs)
	}
	if n := count(t, db, "SELECT COUNT(*) FROM meta WHERE value = '0xx'"); n != 2 || version(t, db, "a") != 1 || version(t, db, "b") != 1 {
		t.Errorf("%d of 2 rows have both changes; versions %d and %d", n, version(t, db, "a"), version(t, db, "b"))
	}
}

// Connections that are ended are made again, at every point of a call, and the change is
// made once.
func TestPostgresTerminated(t *testing.T) {
	e := storetest.Postgres(t)
	h := e.New(t)
	db := once(t, h)
	cut := func() { e.Server().Terminate(t, h.DSN) }
	for i, at := range []string{"idle", "inside", "before the commit", "twice"} {
		if at == "idle" {
			cut()
		}
		runs := 0
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error {
			runs++
			if at == "inside" && runs == 1 || at == "twice" && runs <= 2 {
				cut()
			}
			if err := ackRow(tx, i); err != nil {
				return err
			}
			if at == "before the commit" && runs == 1 {
				cut()
			}
			return nil
		})
		if v := version(t, db, "p"); err != nil || v != int64(i+1) || count(t, db, "SELECT COUNT(*) FROM memos") != i+1 {
			t.Fatalf("%s: %v, version %d after %d changes", at, err, v, i+1)
		}
		if want := map[string]int{"idle": 1, "twice": 3}[at]; runs != max(want, 1) && runs != max(want, 2) {
			t.Errorf("%s: the change ran %d times", at, runs)
		}
	}
	cut()
	if v := version(t, db, "p"); v != 4 {
		t.Errorf("version %d", v)
	}
	cut()
	if m, err := db.Mark(t.Context(), "p"); err != nil || m.Version != 4 {
		t.Errorf("mark %+v, %v", m, err)
	}
	runs := 0
	err := db.Read(t.Context(), func(g *gorm.DB) error {
		if runs++; runs == 1 {
			cut()
		}
		return g.Raw("SELECT 1").Row().Scan(new(int))
	})
	if err != nil || runs != 2 {
		t.Errorf("a read that was cut ran %d times: %v", runs, err)
	}
	cut()
	if err := db.Exec(t.Context(), "INSERT INTO meta (name, value) VALUES ('x', '1')"); err != nil {
		t.Error(err)
	}
}

// The answer to a COMMIT may be lost on the way, or the COMMIT itself. In each case the
// change is stored once and the caller hears so.
func TestPostgresCommitInDoubt(t *testing.T) {
	e := storetest.Postgres(t)
	h := e.New(t)
	straight := h.Open(t)
	p, dsn := newProxy(t, e.Server().TCP(t, h.DSN))
	db := open(t, filepath.Join(t.TempDir(), "reverie.db"), store.Options{DSN: dsn})
	works(t, db)
	for i, tc := range []struct {
		name string
		fate fate
		runs int
	}{
		{"the answer is lost", fate{send: true}, 1},
		{"the question is lost", fate{}, 2},
		{"the server does not notice", fate{keep: true}, 2},
	} {
		runs := 0
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error {
			runs++
			p.onCommit.CompareAndSwap(nil, map[bool]*fate{true: &tc.fate}[runs == 1])
			return ackRow(tx, i)
		})
		if err != nil || runs != tc.runs {
			t.Errorf("%s: the change ran %d times, want %d: %v", tc.name, runs, tc.runs, err)
		}
		if v, n := version(t, straight, "p"), count(t, straight, "SELECT COUNT(*) FROM memos"); v != int64(i+1) || n != i+1 {
			t.Fatalf("%s: version %d and %d rows, want %d", tc.name, v, n, i+1)
		}
	}
	t.Run("bookkeeping", func(t *testing.T) {
		p.onCommit.Store(&fate{send: true})
		if err := db.Exec(t.Context(), "INSERT INTO meta (name, value) VALUES ('once', '1')"); err != nil {
			t.Error(err) // made twice it would contradict itself
		}
	})
	t.Run("nobody answers any more", func(t *testing.T) {
		short := open(t, filepath.Join(t.TempDir(), "reverie.db"), store.Options{DSN: dsn, BusyTimeout: 500 * time.Millisecond})
		works(t, short)
		for _, sent := range []bool{true, false} {
			p.onCommit.Store(&fate{send: sent, thenDeaf: true})
			err := short.Write(t.Context(), "q", func(*store.Tx) error { return nil })
			wants(t, err, store.ErrInDoubt, "may be there or not", "look before")
			if strings.Contains(err.Error(), "nothing was stored") {
				t.Errorf("%q says what nobody knows", err)
			}
			err = short.Write(t.Context(), "q", func(*store.Tx) error { return nil })
			wants(t, err, store.ErrUnreachable, "nothing was stored")
			_, err = short.Version(t.Context(), "q")
			wants(t, err, store.ErrUnreachable)
			p.deaf.Store(false)
			works(t, short)
		}
		if v := version(t, straight, "q"); v != 1 {
			t.Errorf("version %d: one of the two was sent", v)
		}
	})
}

// A read or a wait for one's turn ends with its context, and a begun change does not.
func TestPostgresContext(t *testing.T) {
	db := once(t, storetest.Postgres(t).New(t))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := db.Read(ctx, func(g *gorm.DB) error { return g.Exec("SELECT pg_sleep(20)").Error })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read beyond its deadline ended with %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	err = db.Write(ctx, "p", func(tx *store.Tx) error {
		time.AfterFunc(20*time.Millisecond, cancel)
		return tx.Exec("SELECT pg_sleep(0.2)").Error
	})
	if err != nil || version(t, db, "p") != 1 {
		t.Errorf("a begun change ended with %v, version %d", err, version(t, db, "p"))
	}
}

// A server with the settings that servers have by default keeps what was acknowledged.
func TestPostgresDurable(t *testing.T) {
	e := storetest.Durable(t)
	h := e.New(t)
	db := open(t, h.Path, store.Options{DSN: h.DSN})
	write(t, db, "p", 20)
	e.Server().Crash(t)
	if v := version(t, db, "p"); v != 20 {
		t.Errorf("version %d after 20 changes and a crash", v)
	}
	works(t, db)
}

// A setting of the server by which a commit is answered before it is safe is not followed.
func TestPostgresCommitsForGood(t *testing.T) {
	e := storetest.Postgres(t)
	h := e.New(t)
	e.Server().Exec(t, "", "ALTER DATABASE "+strings.TrimPrefix(mustParse(t, h.DSN).Path, "/")+" SET synchronous_commit = off")
	for synchronous, want := range map[string]string{"full": "on", "normal": "off"} {
		db := open(t, h.Path, store.Options{DSN: h.DSN, Synchronous: synchronous})
		var got string
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error { return tx.Raw("SHOW synchronous_commit").Row().Scan(&got) })
		if err != nil || got != want {
			t.Errorf("%s: synchronous_commit is %q, %v; want %q", synchronous, got, err, want)
		}
	}
}
