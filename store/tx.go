package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"gorm.io/gorm"
)

// Tx is one transaction that changes one partition. It is valid only inside the
// function given to [DB.Write], for one goroutine.
type Tx struct {
	*gorm.DB
	Part    string
	Version int64     // the partition's version once this transaction commits
	Now     time.Time // UTC, microseconds: the time of the change
}

// raise raises a partition's version by one and returns it. RETURNING would be one
// statement instead of two, and slower: SQLite makes a savepoint for it.
func raise(ctx context.Context, tx *sql.Tx, part string) (version int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT version FROM partitions WHERE key = ?", part).Scan(&version)
	version++
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.ExecContext(ctx, "INSERT INTO partitions (key, version) VALUES (?, ?)", part, version)
	case err == nil:
		_, err = tx.ExecContext(ctx, "UPDATE partitions SET version = ? WHERE key = ?", version, part)
	}
	return version, err
}

// Write runs fn in a transaction that changes partition part, and commits. The
// partition's version is raised by one in it. If fn returns an error or panics nothing
// is stored; if it returns [ErrUnchanged] nothing is stored and Write returns nil. fn
// must return the first error that a statement gives it: after some of them, such as
// that of a full disk, the transaction is over already.
//
// A context that ends before the transaction begins cancels it; once begun it runs to
// its end, so that no caller sees a cancelled call whose change was stored.
func (d *DB) Write(ctx context.Context, part string, fn func(*Tx) error) error {
	if part == "" {
		return errors.New("write without a partition")
	}
	err := d.transact(ctx, func(ctx context.Context, stx *sql.Tx) error {
		tx := &Tx{Part: part, Now: time.Now().UTC().Truncate(time.Microsecond)}
		var err error
		if tx.Version, err = raise(ctx, stx, part); err != nil {
			return err
		}
		tx.DB = d.w.Session(&gorm.Session{Context: ctx})
		tx.Statement.ConnPool = stx
		return fn(tx)
	})
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return d.classify(err)
}

// transact runs fn in a write transaction on the one connection for writing.
func (d *DB) transact(ctx context.Context, fn func(context.Context, *sql.Tx) error) (err error) {
	conn, err := d.wsql.Conn(ctx) // where writers of this process queue
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	done := false
	defer func() { // also when fn panics
		if done {
			return
		}
		tx.Rollback()
		// SQLite ends a transaction itself after some errors and keeps it after others,
		// where database/sql takes it for ended. A connection in doubt is thrown away:
		// kept, it would refuse every later write.
		if _, berr := conn.ExecContext(ctx, "BEGIN"); berr == nil {
			_, berr = conn.ExecContext(ctx, "ROLLBACK")
			if berr == nil {
				return
			}
		}
		conn.Raw(func(any) error { return driver.ErrBadConn })
	}()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if err := d.file.inPlace(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	done = true
	return nil
}

// Read runs fn on one consistent snapshot of the database. fn must not keep the handle.
// It never waits for a writer. When ctx ends, fn's next statement fails; one under way
// runs to its end.
func (d *DB) Read(ctx context.Context, fn func(*gorm.DB) error) error {
	return d.interrupted(ctx, d.r.WithContext(ctx).Transaction(fn, &sql.TxOptions{ReadOnly: true}))
}

// Version returns the partition's version, 0 for one that was never written.
func (d *DB) Version(ctx context.Context, part string) (int64, error) {
	var v int64
	err := d.ver.QueryRowContext(ctx, part).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return v, d.interrupted(ctx, err)
}

// Exec runs one statement outside any partition's history: bookkeeping such as when a
// memory was last used, which no cache depends on.
func (d *DB) Exec(ctx context.Context, query string, args ...any) error {
	if err := d.file.inPlace(); err != nil {
		return err
	}
	return d.interrupted(ctx, d.w.WithContext(ctx).Exec(query, args...).Error)
}

// Maintain runs fn in a transaction of change outside any partition's history:
// bookkeeping of several statements. No partition's version rises, so nothing that a
// cache depends on may change in it. The rules for fn are those of [DB.Write].
func (d *DB) Maintain(ctx context.Context, fn func(*gorm.DB) error) error {
	err := d.transact(ctx, func(ctx context.Context, stx *sql.Tx) error {
		g := d.w.Session(&gorm.Session{Context: ctx})
		g.Statement.ConnPool = stx
		return fn(g)
	})
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return d.classify(err)
}

// Exclusive is Maintain for changes of the whole store, such as the switch of the
// serving space: no other transaction of change, of any process, overlaps it.
func (d *DB) Exclusive(ctx context.Context, fn func(*gorm.DB) error) error {
	return d.Maintain(ctx, fn) // SQLite has one writer at a time
}

// interrupted turns the engine's word for a cancelled statement into the context's, and
// that of database/sql, which rolls back by itself when the context ends.
func (d *DB) interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (code(err) == codeInterrupt || errors.Is(err, sql.ErrTxDone)) {
		return ctx.Err()
	}
	return d.classify(err)
}
