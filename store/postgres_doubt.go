package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// lost is a transaction whose connection broke. The server may not know that yet, and
// keep its locks.
type lost struct {
	pid uint32
	xid int64
}

// bury ends the lost transaction of a slot, if it is still there. A number of a process
// that now belongs to another transaction is left alone.
func (e *postgresEngine) bury(ctx context.Context, conn *sql.Conn, s *slot) error {
	if s.lost == nil {
		return nil
	}
	_, err := conn.ExecContext(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid = $1::int AND backend_xid = ($2::bigint & 4294967295)::text::xid`, int64(s.lost.pid), s.lost.xid)
	if err == nil {
		s.lost = nil
	}
	return err
}

// resolve finds out whether a change was stored whose COMMIT was not answered.
//
// The row of the slot was changed in the same transaction, so it tells. Asking for the
// number of the transaction (txid_status) would not do: a server that crashed gives the
// numbers that it had not yet written down to other transactions. The row is asked for by
// a statement that waits for the transaction if it is still under way.
func (e *postgresEngine) resolve(s *slot, l lost) (stored bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), e.busy+connectTimeout)
	defer cancel()
	s.lost = &l
	err = e.again(ctx, mayPass, func() error {
		conn, err := e.wsql.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := e.bury(ctx, conn, s); err != nil {
			return broken(conn, err)
		}
		var last int64
		err = conn.QueryRowContext(ctx, "INSERT INTO writers (id, change) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET at = now() RETURNING change", s.id).Scan(&last)
		stored = last == s.change
		return broken(conn, err)
	})
	if err != nil {
		return false, fmt.Errorf("%w: the connection to %s broke while a change was being stored, and it has not answered since (%s): the change may be there or not; look before you make it again (%w)",
			ErrInDoubt, e.where, (e.busy + connectTimeout).Round(time.Second), err)
	}
	return stored, nil
}
