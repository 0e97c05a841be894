package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
)

// longestChange bounds a transaction of change, which no caller's context does: beyond
// every timeout of the server it is a connection that says nothing any more.
const longestChange = 2 * statementTimeout

// begin is the first statement of every change. In one round trip it takes the lock that
// keeps exclusive changes apart, notes the change in the row of the slot, and raises the
// version of the partition if there is one, whose row it locks: that is where writers of
// one partition queue.
const (
	beginWith = `WITH held AS MATERIALIZED (SELECT %s($1)),
		noted AS (INSERT INTO writers (id, change) SELECT $2::bigint, $3::bigint FROM held
			ON CONFLICT (id) DO UPDATE SET change = excluded.change, at = now() RETURNING change)
		`
	beginPart = beginWith + `INSERT INTO partitions (key, version) SELECT $4::text, 1 FROM held
		ON CONFLICT (key) DO UPDATE SET version = partitions.version + 1 RETURNING version, txid_current()`
	beginNone = beginWith + `SELECT change, txid_current() FROM noted`
)

func (e *postgresEngine) change(ctx context.Context, c change) error {
	var s *slot
	select {
	case s = <-e.slots:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { e.slots <- s }()
	if e.twice {
		c = c.twice()
	}
	err := e.again(ctx, mayPass, func() error { return e.attempt(ctx, s, c) })
	return e.classify(err)
}

// twice makes the first run of a change one for nothing.
func (c change) twice() change {
	inner, ran := c.run, false
	c.run = func(g *gorm.DB, version int64) error { return inVain(&ran, inner(g, version)) }
	return c
}

// inVain is what the first successful run of a function gets: an error after which it runs
// again.
func inVain(ran *bool, err error) error {
	if err != nil || *ran {
		return err
	}
	*ran = true
	return &brokenError{errors.New("run once more")}
}

// attempt runs a change once. An error of a connection that broke is a [brokenError]:
// nothing of the attempt was stored then.
func (e *postgresEngine) attempt(ctx context.Context, s *slot, c change) (err error) {
	conn, err := e.wsql.Conn(ctx)
	if err != nil {
		return cmp.Or(ended(ctx, err), err)
	}
	defer conn.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	waiting := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestChange)
	defer cancel()
	if err := e.bury(ctx, conn, s); err != nil {
		return broken(conn, err)
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return broken(conn, err)
	}
	pid, _ := state(conn)
	here := lost{pid: pid}
	done := false
	defer func() { // also when c.run panics
		if done {
			return
		}
		tx.Rollback()
		if gone(conn) {
			s.lost = &here
			err = broken(conn, err)
		}
	}()
	s.change++
	var version int64
	if version, here.xid, err = begin(waiting, tx, s, c); err != nil {
		return cmp.Or(ended(waiting, err), err)
	}
	if err := c.run(within(ctx, e.w, tx), version); err != nil {
		return err
	}
	// A COMMIT of a transaction that is over already would be answered with success.
	if _, status := state(conn); status != inTransaction && status != closed {
		return fmt.Errorf("a statement ended the transaction, or its error was passed over (state %q); nothing more was stored", status)
	}
	err = tx.Commit()
	var said *pgconn.PgError
	switch {
	case err == nil:
		done = true
		return nil
	case !gone(conn), errors.As(err, &said) && said.Severity == "ERROR":
		return err // the server's own word that it was rolled back
	}
	stored, derr := e.resolve(s, here)
	switch {
	case derr != nil:
		return derr
	case stored:
		done = true
		return nil
	}
	return err
}

func begin(ctx context.Context, tx *sql.Tx, s *slot, c change) (version, xid int64, err error) {
	lock, query := "pg_advisory_xact_lock_shared", beginNone
	if c.exclusive {
		lock = "pg_advisory_xact_lock"
	}
	args := []any{int64(lockChange), s.id, s.change}
	if c.part != "" {
		query = beginPart
		args = append(args, c.part)
	}
	err = tx.QueryRowContext(ctx, fmt.Sprintf(query, lock), args...).Scan(&version, &xid)
	return version, xid, err
}

// States of a connection, as the driver tells them and one more.
const (
	inTransaction = 'T'
	closed        = '-'
)

// state asks the driver for the number of the server's process behind a connection and
// for the state. Only under the lock that this takes is it safe to ask: when a context
// ends, database/sql ends the transaction from another goroutine.
func state(conn *sql.Conn) (pid uint32, status byte) {
	err := conn.Raw(func(dc any) error {
		pg := dc.(*stdlib.Conn).Conn()
		pid, status = pg.PgConn().PID(), pg.PgConn().TxStatus()
		if pg.IsClosed() {
			status = closed
		}
		return nil
	})
	if err != nil { // given back as a bad one
		status = closed
	}
	return pid, status
}

func gone(conn *sql.Conn) bool {
	_, status := state(conn)
	return status == closed
}

func (e *postgresEngine) read(ctx context.Context, fn func(*gorm.DB) error) error {
	if e.twice {
		inner, ran := fn, false
		fn = func(g *gorm.DB) error { return inVain(&ran, inner(g)) }
	}
	err := e.again(ctx, mayPass, func() error { return e.readOnce(ctx, fn) })
	return e.classify(cmp.Or(ended(ctx, err), err))
}

func (e *postgresEngine) readOnce(ctx context.Context, fn func(*gorm.DB) error) (err error) {
	conn, err := e.rsql.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return broken(conn, err)
	}
	defer tx.Rollback()
	if err := fn(within(ctx, e.r, tx)); err != nil {
		return broken(conn, err)
	}
	return broken(conn, tx.Commit())
}

func (e *postgresEngine) version(ctx context.Context, part string) (v int64, err error) {
	err = e.row(ctx, versionQuery+"$1", part, func(row *sql.Row) error { return row.Scan(&v) })
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return v, err
}

var postgresMark = fmt.Sprintf(markQuery, "$1")

func (e *postgresEngine) mark(ctx context.Context, part string) (m Mark, err error) {
	err = e.row(ctx, postgresMark, part, func(row *sql.Row) error {
		m, err = scanMark(row)
		return err
	})
	if err != nil {
		return Mark{}, fmt.Errorf("read the state of the store: %w", err)
	}
	return m, nil
}

// row asks for one row by one statement, which is a snapshot in itself. One that is not
// there in good time is asked for again on another connection.
func (e *postgresEngine) row(ctx context.Context, query, part string, scan func(*sql.Row) error) error {
	err := e.again(ctx, mayPass, func() error {
		once, cancel := context.WithTimeout(ctx, e.busy+connectTimeout)
		defer cancel()
		return scan(e.rsql.QueryRowContext(once, query, part))
	})
	return e.classify(cmp.Or(ended(ctx, err), err))
}

func (e *postgresEngine) exec(ctx context.Context, query string, args []any) error {
	return e.change(ctx, change{run: func(g *gorm.DB, _ int64) error { return g.Exec(query, args...).Error }})
}

// clock is the server's: the clocks of those who use it differ.
func (e *postgresEngine) clock(g *gorm.DB) (time.Time, error) {
	var us int64
	err := g.Raw("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint").Row().Scan(&us)
	return time.UnixMicro(us), err
}

func (e *postgresEngine) hold() string { return " FOR SHARE" }
