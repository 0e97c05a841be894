package store

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// The engines, as [DB.Engine] names them.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// engine is what differs between SQLite and PostgreSQL. The errors that its methods
// return are classified: a condition that a user can do something about wraps one of the
// sentinels of this package.
type engine interface {
	name() string
	// change runs c in a transaction and commits. A context that ends before the
	// transaction begins cancels it, later it is not looked at.
	change(ctx context.Context, c change) error
	// read runs fn on one snapshot.
	read(ctx context.Context, fn func(*gorm.DB) error) error
	version(ctx context.Context, part string) (int64, error)
	mark(ctx context.Context, part string) (Mark, error)
	exec(ctx context.Context, query string, args []any) error
	// clock is the time by which all who use the database agree, asked for inside a
	// transaction.
	clock(g *gorm.DB) (time.Time, error)
	// hold is what ends a SELECT of rows that must not change until the transaction ends.
	hold() string
	check(ctx context.Context) (Report, error)
	close() error
}

// change is a transaction of change.
type change struct {
	part      string // whose version rises, empty for bookkeeping
	exclusive bool   // no other transaction of change overlaps it
	run       func(g *gorm.DB, version int64) error
}

const (
	versionQuery = "SELECT version FROM partitions WHERE key = "
	markQuery    = "SELECT s.space, s.generation, (SELECT version FROM partitions WHERE key = %s) FROM serving s WHERE s.one = 1"
)
