package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// brokenError is an error after which the connection is gone.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// broken marks an error of a connection that is gone. What the function that ran on it
// made of the error does not matter then.
func broken(conn *sql.Conn, err error) error {
	if err == nil || !gone(conn) {
		return err
	}
	return &brokenError{err}
}

// flatError is an error whose text is one line: the driver gives each address that it
// tried a line of its own, and messages here are one.
type flatError struct{ err error }

func (e *flatError) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e *flatError) Unwrap() error { return e.err }

func oneLine(err error) error {
	if strings.ContainsAny(err.Error(), "\n\t") {
		return &flatError{err}
	}
	return err
}

// sqlstate is the server's code of an error, empty if the error is not the server's. See
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func sqlstate(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// isBroken reports whether a connection was lost or could not be made, for a reason that
// may pass.
func isBroken(err error) bool {
	if b := (*brokenError)(nil); errors.As(err, &b) {
		return true
	}
	switch code := sqlstate(err); {
	case code == "57P01", code == "57P02", code == "57P03", code == "57P05", code == "25P03", code == "53300", strings.HasPrefix(code, "08"):
		return true // shut down, crashed, starting, idle for too long, too many connections, connection exceptions
	case code != "":
		return false
	}
	var netErr net.Error
	return errors.As(err, &netErr) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isContended reports whether others were in the way.
func isContended(err error) bool {
	switch sqlstate(err) {
	case "40001", "40P01", "55P03":
		return true
	case "0A000": // a statement was prepared before a step of the schema
		return strings.Contains(err.Error(), "cached plan")
	}
	return false
}

// ended is the error of a caller's context if that is what an error comes from, else nil.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return nil
	}
	if errors.Is(err, ctx.Err()) || isBroken(err) || sqlstate(err) == "57014" || errors.Is(err, sql.ErrTxDone) {
		return ctx.Err()
	}
	return nil
}

// mayPass says of which errors the cause may be gone in a moment.
func mayPass(err error) bool { return !isKnown(err) && (isBroken(err) || isContended(err)) }

// startsSoon is mayPass for the first connection: a server that is not there, or that
// does not know the user, is a mistake to be told at once.
func startsSoon(err error) bool { return sqlstate(err) == "57P03" || sqlstate(err) == "53300" }

// again runs op until it succeeds or fails with an error that does not pass, at most for
// the busy timeout: since the beginning if others are in the way, and since the first
// failure if connections break, which a long transaction may do late.
func (e *postgresEngine) again(ctx context.Context, pass func(error) bool, op func() error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 5*time.Millisecond, 500*time.Millisecond
	start := time.Now()
	var firstBroken time.Time
	for {
		err := op()
		if err == nil || !pass(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		since := start
		if isBroken(err) {
			if firstBroken.IsZero() {
				firstBroken = time.Now()
			}
			since = firstBroken
		}
		d := wait.NextBackOff()
		if time.Since(since)+d > e.busy {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
		}
	}
}

// classify puts a known condition before an engine error; others pass unchanged.
func (e *postgresEngine) classify(err error) error {
	if err == nil || isKnown(err) || err == context.Canceled || err == context.DeadlineExceeded {
		return err
	}
	err = oneLine(err)
	if isBroken(err) {
		return e.unreachable(err)
	}
	switch code := sqlstate(err); code {
	case "53100":
		return fmt.Errorf("%w: nothing was stored; free space on the disk of %s, then call again (%w)", ErrFull, e.where, err)
	case "25006":
		return fmt.Errorf("%w: nothing was stored; %s takes no changes: give the address of the primary server, or end its read-only mode (%w)", ErrReadOnly, e.where, err)
	case "42501":
		return fmt.Errorf("%w: nothing was stored; the user may not change the tables of %s: make it their owner, for example with CREATE DATABASE reverie OWNER user (%w)", ErrReadOnly, e.where, err)
	case "40001", "40P01", "55P03":
		return fmt.Errorf("%w: another process is writing to %s; nothing was stored, call again (%w)", ErrBusy, e.where, err)
	case "57014":
		return fmt.Errorf("%w: %s did not finish in time; nothing was stored, call again (%w)", ErrBusy, e.where, err)
	case "XX001", "XX002":
		return fmt.Errorf("%w: part of %s cannot be read; stop all servers that use it and restore it from a backup (%w)", ErrDamaged, e.where, err)
	case "58030":
		return fmt.Errorf("%w: the disk under %s returned an error; check the disk, then run: reverie doctor (%w)", ErrDamaged, e.where, err)
	case "22021":
		return fmt.Errorf("%w: nothing was stored; PostgreSQL takes neither a NUL character nor text that is not UTF-8: leave it out (%w)", ErrText, err)
	case "28P01", "28000":
		return fmt.Errorf("%w: %s refuses the user or the password; check [storage] dsn or REVERIE_DSN, special characters of the password as %%XX (%w)", ErrUnreachable, e.where, err)
	case "3D000":
		return fmt.Errorf("%w: %s does not exist; create it with: createdb (%w)", ErrUnreachable, e.where, err)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return e.unreachable(err)
	}
	return err
}

func (e *postgresEngine) unreachable(err error) error {
	if sqlstate(err) == "53300" {
		return fmt.Errorf("%w: %s has no connection left; nothing was stored; raise its max_connections or stop servers that use it (%w)", ErrBusy, e.where, err)
	}
	return fmt.Errorf("%w: %s does not answer; nothing was stored; check that it runs and that the address in [storage] dsn or REVERIE_DSN is right, then call again (%w)", ErrUnreachable, e.where, err)
}
