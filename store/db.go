package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// DefaultBusyTimeout is long enough for any honest transaction of another process, all
// of which take milliseconds, and short enough for a waiting tool call.
const DefaultBusyTimeout = 10 * time.Second

// Options of [Open]; the zero value is the default of every field.
type Options struct {
	// DSN is the address of a PostgreSQL database, such as
	// postgres://user:password@host:5432/database, that is used instead of the SQLite
	// file. It is a secret: no error shows it.
	DSN string
	// BusyTimeout is how long a call waits for another process, or for a database server
	// that is being restarted; default [DefaultBusyTimeout].
	BusyTimeout time.Duration

	// RunTwice makes every function given to a PostgreSQL database run twice, the first
	// time for nothing, as after a lost connection. For tests.
	RunTwice bool

	// Synchronous is how sure a commit is: "full" (default) survives a power cut, "normal"
	// may then lose the last commits but never damages the file. With PostgreSQL "normal"
	// leaves it to the setting of the server.
	Synchronous string
	// Copies is the folder into which an SQLite database is copied before its schema is
	// brought up to date; empty for no copy. One that cannot be copied is not touched.
	Copies string
	// MaxPages bounds the file in pages of 4,096 bytes; 0 means no bound. SQLite alone, for tests of a full disk.
	MaxPages int
}

// DB is an open database. It is safe for concurrent use. Close it.
type DB struct {
	path string
	lock *homeLock
	eng  engine

	once     sync.Once
	closeErr error
}

// Open opens or creates the SQLite database at path, or opens the PostgreSQL database
// that o.DSN names; brings its schema up to date, and checks that it can be written. The
// folder of path must exist with either engine. Several processes may have the same
// database open.
//
// A database that cannot be opened is left as it is. Errors: [ErrReadOnly], [ErrFull],
// [ErrDamaged], [ErrNewer], [ErrUnreachable], [ErrBusy] while another process repairs or
// restores it.
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
	makeReady := prepare
	if o.DSN != "" {
		makeReady = nil
	}
	lock, err := share(ctx, path, o.BusyTimeout, makeReady)
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
	open := openSQLite
	if o.DSN != "" {
		open = openPostgres
	}
	eng, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return &DB{path: path, eng: eng}, nil
}

// Path is the path of the database file. With PostgreSQL there is no such file; its
// folder is the home all the same.
func (d *DB) Path() string { return d.path }

// Engine is [SQLite] or [Postgres].
func (d *DB) Engine() string { return d.eng.name() }

// Close closes the database and lets go of the home. It is idempotent; calls under way
// end or fail.
func (d *DB) Close() error {
	d.once.Do(func() {
		d.closeErr = d.eng.close()
		d.lock.release()
	})
	return d.closeErr
}
