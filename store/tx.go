package store

import (
	"context"
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

// Write runs fn in a transaction that changes partition part, and commits. The
// partition's version is raised by one in it. If fn returns an error or panics nothing
// is stored; if it returns [ErrUnchanged] nothing is stored and Write returns nil. fn
// must return the first error that a statement gives it: after some of them, such as
// that of a full disk, the transaction is over already.
//
// With PostgreSQL fn may run again from its beginning, after a lost connection or a
// deadlock, when nothing of the earlier run was stored: what it leaves outside of the
// database it must set and not add to.
//
// A context that ends before the transaction begins cancels it; once begun it runs to
// its end, so that no caller sees a cancelled call whose change was stored.
func (d *DB) Write(ctx context.Context, part string, fn func(*Tx) error) error {
	if part == "" {
		return errors.New("write without a partition")
	}
	return d.change(ctx, change{part: part, run: func(g *gorm.DB, version int64) error {
		return fn(&Tx{DB: g, Part: part, Version: version, Now: time.Now().UTC().Truncate(time.Microsecond)})
	}})
}

// Maintain runs fn in a transaction of change outside any partition's history:
// bookkeeping of several statements. No partition's version rises, so nothing that a
// cache depends on may change in it. The rules for fn are those of [DB.Write].
func (d *DB) Maintain(ctx context.Context, fn func(*gorm.DB) error) error {
	return d.change(ctx, change{run: func(g *gorm.DB, _ int64) error { return fn(g) }})
}

// Exclusive is Maintain for changes of the whole store, such as the switch of the
// serving space: no other transaction of change, of any process, overlaps it.
func (d *DB) Exclusive(ctx context.Context, fn func(*gorm.DB) error) error {
	return d.change(ctx, change{exclusive: true, run: func(g *gorm.DB, _ int64) error { return fn(g) }})
}

func (d *DB) change(ctx context.Context, c change) error {
	err := d.eng.change(ctx, c)
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return err
}

// Read runs fn on one consistent snapshot of the database. fn must not keep the handle,
// and with PostgreSQL it may run again as in [DB.Write]. It never waits for a writer.
// When ctx ends, fn's next statement fails; one under way may run to its end.
func (d *DB) Read(ctx context.Context, fn func(*gorm.DB) error) error {
	return d.eng.read(ctx, fn)
}

// Version returns the partition's version, 0 for one that was never written.
func (d *DB) Version(ctx context.Context, part string) (int64, error) {
	return d.eng.version(ctx, part)
}

// Exec runs one statement outside any partition's history: bookkeeping such as when a
// memory was last used, which no cache depends on.
func (d *DB) Exec(ctx context.Context, query string, args ...any) error {
	return d.eng.exec(ctx, query, args)
}
