package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

const (
	// sqliteReaders bounds the connections for reading; two cores rarely use more than four.
	sqliteReaders = 4
	// walKept is the size to which the log is cut back after a checkpoint, in bytes: a
	// burst of writes must not keep its disk space for ever.
	walKept = 32 << 20
)

// sqliteEngine has one connection for writing, on which the writers of this process
// queue, and some for reading.
type sqliteEngine struct {
	path string
	file openFile
	w, r *gorm.DB
	wsql *sql.DB
	rsql *sql.DB
	ver  *sql.Stmt
	at   *sql.Stmt // the mark
}

func openSQLite(ctx context.Context, path string, o Options) (engine, error) {
	e := &sqliteEngine{path: path}
	if err := e.connect(ctx, o); err != nil {
		e.close()
		return nil, classifySQLite(path, err)
	}
	return e, nil
}

func (e *sqliteEngine) name() string { return SQLite }

func (e *sqliteEngine) connect(ctx context.Context, o Options) error {
	common := []string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(" + o.Synchronous + ")",
		"temp_store(MEMORY)",
		fmt.Sprintf("journal_size_limit(%d)", walKept),
	}
	if o.MaxPages > 0 {
		common = append(common, fmt.Sprintf("max_page_count(%d)", o.MaxPages))
	}
	err := orphanLog(e.path)
	if err != nil {
		return err
	}
	if e.file, err = lookAt(e.path); err != nil {
		return err
	}
	if e.w, e.wsql, err = openPool(ctx, sqliteDSN(e.path, append(common, "cache_size(-8000)"), "immediate"), 1); err != nil {
		return err
	}
	if err := e.migrate(ctx, o.Copies); err != nil {
		return err
	}
	if err := e.checkWritable(ctx, o.BusyTimeout); err != nil {
		return err
	}
	if e.r, e.rsql, err = openPool(ctx, sqliteDSN(e.path, append(common, "cache_size(-4000)", "query_only(1)"), "deferred"), sqliteReaders); err != nil {
		return err
	}
	if e.ver, err = e.rsql.PrepareContext(ctx, versionQuery+"?"); err != nil {
		return err
	}
	if e.at, err = e.rsql.PrepareContext(ctx, fmt.Sprintf(markQuery, "?")); err != nil {
		return err
	}
	return e.file.inPlace() // else it was looked at and opened as two different files
}

// checkWritable finds out now, and not at the first memory, that nothing can be
// stored: SQLite opens a file without write permission for reading and says nothing.
// It does not wait for another process that is writing, which proves as much.
func (e *sqliteEngine) checkWritable(ctx context.Context, timeout time.Duration) error {
	conn, err := e.wsql.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	// BEGIN IMMEDIATE would not do: on a read-only file it quietly begins a read.
	if _, err = conn.ExecContext(ctx, "DELETE FROM meta WHERE 0"); err != nil && code(err) != codeBusy {
		return err
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", timeout.Milliseconds()))
	return err
}

// sqliteDSN is the driver's name for the database at path.
func sqliteDSN(path string, pragmas []string, lock string) string {
	q := url.Values{"_pragma": pragmas}
	if lock == "readonly" {
		q.Set("mode", "ro")
	} else {
		q.Set("mode", "rw") // never made by SQLite: a connection opened late would begin an empty database
		q.Set("_txlock", lock)
	}
	// A path is not a URI: only what would end it or start an escape needs escaping.
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
	return u.String() + "?" + q.Encode()
}

// openPool opens a pool of at most n connections. Switching a new file to WAL needs a
// lock that SQLite does not wait for, so several processes that create the same home
// at once try again here.
func openPool(ctx context.Context, dsn string, n int) (*gorm.DB, *sql.DB, error) {
	var lastErr error
	for wait := 5 * time.Millisecond; wait < 3*time.Second; wait *= 2 {
		// The pool is made here and not by gorm, which would leave it open on an error.
		s, err := sql.Open(sqlite.DriverName, dsn)
		if err != nil {
			return nil, nil, err
		}
		s.SetMaxOpenConns(n)
		s.SetMaxIdleConns(n)
		g, err := gorm.Open(&sqlite.Dialector{Conn: s}, &gorm.Config{
			Logger:                 logger.Discard, // gorm's own would print to stdout, which is the protocol's
			SkipDefaultTransaction: true,
			TranslateError:         false,
		})
		if err == nil {
			return g, s, nil
		}
		s.Close()
		lastErr = err
		if code(err) != codeBusy {
			return nil, nil, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(wait):
		}
	}
	return nil, nil, lastErr
}

func (e *sqliteEngine) close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{e.ver, e.at} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	for _, s := range []*sql.DB{e.rsql, e.wsql} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}
