package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// raise raises a partition's version by one and returns it. RETURNING would be one
// statement instead of two, and slower: SQLite makes a savepoint for it.
func raise(ctx context.Context, tx *sql.Tx, part string) (version int64, err error) {
	err = tx.QueryRowContext(ctx, versionQuery+"?", part).Scan(&version)
	version++
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.ExecContext(ctx, "INSERT INTO partitions (key, version) VALUES (?, ?)", part, version)
	case err == nil:
		_, err = tx.ExecContext(ctx, "UPDATE partitions SET version = ? WHERE key = ?", version, part)
	}
	return version, err
}

// change has no need to tell an exclusive change from another: SQLite has one writer at
// a time.
func (e *sqliteEngine) change(ctx context.Context, c change) error {
	return classifySQLite(e.path, e.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var version int64
		if c.part != "" {
			var err error
			if version, err = raise(ctx, tx, c.part); err != nil {
				return err
			}
		}
		return c.run(within(ctx, e.w, tx), version)
	}))
}

// within returns a handle of g for the statements of one transaction.
func within(ctx context.Context, g *gorm.DB, tx *sql.Tx) *gorm.DB {
	g = g.Session(&gorm.Session{Context: ctx})
	g.Statement.ConnPool = tx
	return g
}

// transact runs fn in a write transaction on the one connection for writing.
func (e *sqliteEngine) transact(ctx context.Context, fn func(context.Context, *sql.Tx) error) (err error) {
	conn, err := e.wsql.Conn(ctx) // where writers of this process queue
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
	if err := e.file.inPlace(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	done = true
	return nil
}

func (e *sqliteEngine) read(ctx context.Context, fn func(*gorm.DB) error) error {
	return e.interrupted(ctx, e.r.WithContext(ctx).Transaction(fn, &sql.TxOptions{ReadOnly: true}))
}

func (e *sqliteEngine) version(ctx context.Context, part string) (int64, error) {
	var v int64
	err := e.ver.QueryRowContext(ctx, part).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return v, e.interrupted(ctx, err)
}

func (e *sqliteEngine) mark(ctx context.Context, part string) (Mark, error) {
	m, err := scanMark(e.at.QueryRowContext(ctx, part))
	if err != nil {
		return Mark{}, e.interrupted(ctx, fmt.Errorf("read the state of the store: %w", err))
	}
	return m, nil
}

func (e *sqliteEngine) exec(ctx context.Context, query string, args []any) error {
	if err := e.file.inPlace(); err != nil {
		return err
	}
	return e.interrupted(ctx, e.w.WithContext(ctx).Exec(query, args...).Error)
}

// clock is that of the one host on which a file can be open.
func (e *sqliteEngine) clock(*gorm.DB) (time.Time, error) { return time.Now(), nil }

// hold is nothing: while a transaction of change is under way there is no other.
func (e *sqliteEngine) hold() string { return "" }

func (e *sqliteEngine) check(ctx context.Context) (Report, error) { return check(ctx, e.path) }

// interrupted turns the engine's word for a cancelled statement into the context's, and
// that of database/sql, which rolls back by itself when the context ends.
func (e *sqliteEngine) interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (code(err) == codeInterrupt || errors.Is(err, sql.ErrTxDone)) {
		return ctx.Err()
	}
	return classifySQLite(e.path, err)
}
