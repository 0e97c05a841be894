package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-gormigrate/gormigrate/v2"

	"reverie/store/migrations"
)

// migrate brings the schema up to date, after a copy of what was there.
func (e *sqliteEngine) migrate(ctx context.Context, copies string) error {
	var have int
	if err := e.wsql.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch want := migrations.Version(); {
	case have == want:
		return nil
	case have > want:
		return fmt.Errorf("%w: %s has schema %d and this program knows up to %d; install the newer reverie", ErrNewer, e.path, have, want)
	}
	if have > 0 && copies != "" {
		if err := e.copyTo(ctx, copies, have); err != nil {
			return fmt.Errorf("copy the database before its schema is brought up to date: %w", classifySQLite(e.path, err))
		}
	}
	// One immediate transaction: of several processes that start at once, one migrates
	// and the others then find nothing to do.
	g := gormigrate.New(e.w.WithContext(ctx), &gormigrate.Options{TableName: "migrations", IDColumnName: "id", IDColumnSize: 64, UseTransaction: true}, migrations.SQLite())
	if err := g.Migrate(); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// copyTo writes the database as it is into a folder, under a name that says of which
// schema it is: the older program opens it when it is put back in its place.
func (e *sqliteEngine) copyTo(ctx context.Context, dir string, schema int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("reverie-schema%d-%s.db", schema, time.Now().UTC().Format("20060102T150405.000Z"))
	path := filepath.Join(dir, name)
	part := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	defer os.Remove(part)
	// Made here, so that nobody else may read it for a moment.
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := e.wsql.ExecContext(ctx, "VACUUM INTO ?", part); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return syncDir(dir)
}
