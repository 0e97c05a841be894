package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// Mark is what a reader compares before it trusts what it holds of a partition.
type Mark struct {
	// Version of the partition, 0 for one that was never written.
	Version int64
	// Serving is the embedding space that answers searches, and the generation of the
	// store.
	Serving
}

// Serving says which embedding space answers searches.
type Serving struct {
	Space int64 // row id of the space, 0 before there is one
	// Generation rises when everything that was read before is to be forgotten: after a
	// switch of spaces, a restored backup, moved partitions.
	Generation int64
}

// Mark returns the state of a partition, and of the store, in one read.
func (d *DB) Mark(ctx context.Context, part string) (Mark, error) {
	return d.eng.mark(ctx, part)
}

func scanMark(row *sql.Row) (Mark, error) {
	var m Mark
	var version sql.NullInt64
	err := row.Scan(&m.Space, &m.Generation, &version)
	m.Version = version.Int64
	if errors.Is(err, sql.ErrNoRows) {
		err = errServing
	}
	return m, err
}

// ReadServing reads which space serves inside a transaction. A transaction of change that
// read it can rely on it until it ends.
func ReadServing(g *gorm.DB) (Serving, error) {
	var s Serving
	err := g.Raw("SELECT space, generation FROM serving WHERE one = 1").Row().Scan(&s.Space, &s.Generation)
	if errors.Is(err, sql.ErrNoRows) {
		return s, errServing
	}
	return s, err
}

// errServing says that the one row is not there.
var errServing = fmt.Errorf("%w: it does not say which embedding space serves; stop all servers of this home and run: reverie doctor --repair", ErrDamaged)

// NoSpace is the error of a store whose serving space is not among its spaces.
func NoSpace(id int64) error {
	return fmt.Errorf("%w: embedding space %d serves and is not there; stop all servers of this home and run: reverie doctor --repair", ErrDamaged, id)
}

// Serve makes a space the serving one, inside [DB.Exclusive], and begins a new generation.
func Serve(g *gorm.DB, space int64) error {
	return g.Exec("UPDATE serving SET space = ?, generation = generation + 1 WHERE one = 1", space).Error
}

// NextGeneration makes every reader forget what it holds, inside [DB.Exclusive].
func NextGeneration(g *gorm.DB) error {
	return g.Exec("UPDATE serving SET generation = generation + 1 WHERE one = 1").Error
}
