package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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
	w, r *gorm.DB
	wsql *sql.DB
	rsql *sql.DB
	ver  *sql.Stmt
}

// Tx is one transaction that changes one partition. It is valid only inside the
// function given to [DB.Write], for one goroutine.
type Tx struct {
	*gorm.DB
	Part    string
	Version int64     // the partition's version once this transaction commits
	Now     time.Time // UTC, microseconds: the time of the change
}

// Open opens or creates the SQLite database at path, brings its schema up to date,
// and checks that it can be written. The folder must exist. Several processes may
// have the same file open.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if o.Synchronous == "" {
		o.Synchronous = "full"
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	d := &DB{path: path}
	if err := d.create(); err != nil {
		return nil, err
	}
	if err := d.connect(ctx, o); err != nil {
		d.Close()
		return nil, fmt.Errorf("open database: %w", d.classify(err))
	}
	return d, nil
}

// create makes the file with mode 0600 before SQLite would make it with the umask's:
// memories are private to the account. SQLite gives the WAL files the same mode.
func (d *DB) create() error {
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w: %w; make its folder writable, or choose another home with --home DIR or REVERIE_HOME", ErrReadOnly, err)
	}
	return f.Close()
}

func (d *DB) connect(ctx context.Context, o Options) error {
	common := []string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(" + o.Synchronous + ")",
		"temp_store(MEMORY)",
	}
	if o.MaxPages > 0 {
		common = append(common, fmt.Sprintf("max_page_count(%d)", o.MaxPages))
	}
	var err error
	if d.w, d.wsql, err = openPool(d.dsn(append(common, "cache_size(-8000)"), "immediate"), 1); err != nil {
		return err
	}
	if err := d.migrate(ctx); err != nil {
		return err
	}
	if d.r, d.rsql, err = openPool(d.dsn(append(common, "cache_size(-4000)", "query_only(1)"), "deferred"), readers); err != nil {
		return err
	}
	d.ver, err = d.rsql.PrepareContext(ctx, "SELECT version FROM partitions WHERE key = ?")
	return err
}

func (d *DB) dsn(pragmas []string, lock string) string {
	q := url.Values{"_txlock": {lock}, "_pragma": pragmas}
	// A path is not a URI: only what would end it or start an escape needs escaping.
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(d.path)}).EscapedPath()}
	return u.String() + "?" + q.Encode()
}

// openPool opens a pool of at most n connections. Switching a new file to WAL needs a
// lock that SQLite does not wait for, so several processes that create the same home
// at once try again here.
func openPool(dsn string, n int) (*gorm.DB, *sql.DB, error) {
	var lastErr error
	for wait := 5 * time.Millisecond; wait < 3*time.Second; wait *= 2 {
		g, err := gorm.Open(sqlite.Open(dsn), &gorm.Config{
			Logger:                 logger.Discard, // gorm's own would print to stdout, which is the protocol's
			SkipDefaultTransaction: true,
			TranslateError:         false,
		})
		if err == nil {
			s, err := g.DB()
			if err != nil {
				return nil, nil, err
			}
			s.SetMaxOpenConns(n)
			s.SetMaxIdleConns(n)
			return g, s, nil
		}
		lastErr = err
		var coded interface{ Code() int }
		if !errors.As(err, &coded) || coded.Code()&0xff != codeBusy {
			return nil, nil, err
		}
		time.Sleep(wait)
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

// Close closes the database. It is idempotent; calls under way fail.
func (d *DB) Close() error {
	var errs []error
	if d.ver != nil {
		errs = append(errs, d.ver.Close())
		d.ver = nil
	}
	for _, s := range []**sql.DB{&d.rsql, &d.wsql} {
		if *s != nil {
			errs = append(errs, (*s).Close())
			*s = nil
		}
	}
	return errors.Join(errs...)
}

// Write runs fn in a transaction that changes partition part, and commits. The
// partition's version is raised by one in it. If fn returns an error nothing is
// stored; if it returns [ErrUnchanged] nothing is stored and Write returns nil.
//
// A context that ends before the transaction begins cancels it; once begun it runs to
// its end, so that no caller sees a cancelled call whose change was stored.
func (d *DB) Write(ctx context.Context, part string, fn func(*Tx) error) error {
	if part == "" {
		return errors.New("write without a partition")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := d.w.WithContext(context.WithoutCancel(ctx)).Transaction(func(g *gorm.DB) error {
		tx := &Tx{DB: g, Part: part, Now: time.Now().UTC().Truncate(time.Microsecond)}
		row := g.Raw(`INSERT INTO partitions (key, version) VALUES (?, 1)
			ON CONFLICT (key) DO UPDATE SET version = partitions.version + 1 RETURNING version`, part).Row()
		if err := row.Scan(&tx.Version); err != nil {
			return err
		}
		return fn(tx)
	})
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return d.classify(err)
}

// Read runs fn on one consistent snapshot of the database. fn must not keep the handle.
func (d *DB) Read(ctx context.Context, fn func(*gorm.DB) error) error {
	return d.classify(d.r.WithContext(ctx).Transaction(fn, &sql.TxOptions{ReadOnly: true}))
}

// Version returns the partition's version, 0 for one that was never written.
func (d *DB) Version(ctx context.Context, part string) (int64, error) {
	var v int64
	err := d.ver.QueryRowContext(ctx, part).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return v, d.classify(err)
}

// Exec runs one statement outside any partition's history: bookkeeping such as when a
// memory was last used, which no cache depends on.
func (d *DB) Exec(ctx context.Context, query string, args ...any) error {
	return d.classify(d.w.WithContext(ctx).Exec(query, args...).Error)
}

// Secret returns 32 random bytes that belong to this store, made on first use.
func (d *DB) Secret(ctx context.Context) ([]byte, error) {
	secret, err := d.meta(ctx, "secret")
	if err != nil || secret != nil {
		return secret, err
	}
	fresh := make([]byte, 32)
	rand.Read(fresh)
	// Of several processes that start at once, the first one's bytes stay.
	if err := d.Exec(ctx, "INSERT INTO meta (name, value) VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING", fresh); err != nil {
		return nil, fmt.Errorf("make store secret: %w", err)
	}
	return d.meta(ctx, "secret")
}

// meta reads a value of the meta table, nil if it is not there.
func (d *DB) meta(ctx context.Context, name string) ([]byte, error) {
	var v []byte
	err := d.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT value FROM meta WHERE name = ?", name).Row().Scan(&v)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read store %s: %w", name, err)
	}
	return v, nil
}
