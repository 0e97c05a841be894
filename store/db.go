package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/go-gormigrate/gormigrate/v2"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"reverie/store/migrations"
)

// Defaults of [Options].
const (
	// DefaultBusyTimeout is long enough for any honest transaction of another process,
	// all of which take milliseconds, and short enough for a waiting tool call.
	DefaultBusyTimeout = 10 * time.Second
	// readers bounds the connections for reading; two cores rarely use more than four.
	readers = 4
	// walKept is the size to which the log is cut back after a checkpoint, in bytes: a
	// burst of writes must not keep its disk space for ever.
	walKept = 32 << 20
)

// Options of [Open]; the zero value is the default of every field.
type Options struct {
	// Synchronous is SQLite's setting: "full" (default) survives a power cut,
	// "normal" may then lose the last commits but never damages the file.
	Synchronous string
	// BusyTimeout is how long a write waits for another process; default [DefaultBusyTimeout].
	BusyTimeout time.Duration
	// MaxPages bounds the file in pages of 4,096 bytes; 0 means no bound. For tests of a full disk.
	MaxPages int
}

// DB is an open database. It is safe for concurrent use. Close it.
type DB struct {
	path string
	lock *homeLock
	file openFile
	w, r *gorm.DB
	wsql *sql.DB
	rsql *sql.DB
	ver  *sql.Stmt
	mark *sql.Stmt

	once     sync.Once
	closeErr error
}

// Open opens or creates the SQLite database at path, brings its schema up to date,
// and checks that it can be written. The folder must exist. Several processes may
// have the same file open.
//
// A file that cannot be opened is left as it is. Errors: [ErrReadOnly], [ErrFull],
// [ErrDamaged], [ErrNewer], [ErrBusy] while another process repairs or restores it.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	switch o.Synchronous {
	case "":
		o.Synchronous = "full"
	case "full", "normal":
	default:
		return nil, fmt.Errorf("open database: synchronous is %q; allowed: full, normal", o.Synchronous)
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	lock, err := share(ctx, path, o.BusyTimeout)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	d, err := openLocked(ctx, path, o)
	if err != nil {
		lock.release()
		return nil, fmt.Errorf("open database: %w", err)
	}
	d.lock = lock
	return d, nil
}

// openLocked is Open for one who holds the home's lock, shared or exclusive.
func openLocked(ctx context.Context, path string, o Options) (*DB, error) {
	d := &DB{path: path}
	if err := d.connect(ctx, o); err != nil {
		d.Close()
		return nil, d.classify(err)
	}
	return d, nil
}

func (d *DB) connect(ctx context.Context, o Options) error {
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
	err := orphanLog(d.path)
	if err != nil {
		return err
	}
	if d.file, err = lookAt(d.path); err != nil {
		return err
	}
	if d.w, d.wsql, err = openPool(ctx, dsn(d.path, append(common, "cache_size(-8000)"), "immediate"), 1); err != nil {
		return err
	}
	if err := d.migrate(ctx); err != nil {
		return err
	}
	if err := d.checkWritable(ctx, o.BusyTimeout); err != nil {
		return err
	}
	if d.r, d.rsql, err = openPool(ctx, dsn(d.path, append(common, "cache_size(-4000)", "query_only(1)"), "deferred"), readers); err != nil {
		return err
	}
	if d.ver, err = d.rsql.PrepareContext(ctx, "SELECT version FROM partitions WHERE key = ?"); err != nil {
		return err
	}
	if d.mark, err = d.rsql.PrepareContext(ctx, markQuery); err != nil {
		return err
	}
	return d.file.inPlace() // else it was looked at and opened as two different files
}

// checkWritable finds out now, and not at the first memory, that nothing can be
// stored: SQLite opens a file without write permission for reading and says nothing.
// It does not wait for another process that is writing, which proves as much.
func (d *DB) checkWritable(ctx context.Context, timeout time.Duration) error {
	conn, err := d.wsql.Conn(ctx)
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

// dsn is the driver's name for the database at path.
func dsn(path string, pragmas []string, lock string) string {
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

func (d *DB) migrate(ctx context.Context) error {
	var have int
	if err := d.wsql.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch want := migrations.Version(); {
	case have == want:
		return nil
	case have > want:
		return fmt.Errorf("%w: %s has schema %d and this program knows up to %d; install the newer reverie", ErrNewer, d.path, have, want)
	}
	// One immediate transaction: of several processes that start at once, one migrates
	// and the others then find nothing to do.
	g := gormigrate.New(d.w.WithContext(ctx), &gormigrate.Options{TableName: "migrations", IDColumnName: "id", IDColumnSize: 64, UseTransaction: true}, migrations.SQLite())
	if err := g.Migrate(); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// Path is the path of the database file.
func (d *DB) Path() string { return d.path }

// Close closes the database and lets go of the home. It is idempotent; calls under way
// end or fail.
func (d *DB) Close() error {
	d.once.Do(func() {
		var errs []error
		for _, stmt := range []*sql.Stmt{d.ver, d.mark} {
			if stmt != nil {
				errs = append(errs, stmt.Close())
			}
		}
		for _, s := range []*sql.DB{d.rsql, d.wsql} {
			if s != nil {
				errs = append(errs, s.Close())
			}
		}
		d.lock.release()
		d.closeErr = errors.Join(errs...)
	})
	return d.closeErr
}
