package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"reverie/store"
)

// doctorCmd checks the database, and saves what a damaged one still holds.
type doctorCmd struct {
	Repair bool `help:"Write a fresh database with everything that can still be read or made anew from the journal; the damaged files are kept aside. No server may run."`
}

// Run checks or repairs. It opens the file by itself: a database that cannot be opened
// is what it is for.
func (d *doctorCmd) Run(ctx context.Context, e *env) error {
	if e.cfg.Storage.DSN != "" {
		return d.postgres(ctx, e)
	}
	path := filepath.Join(e.cfg.Home, databaseName)
	// A log without its database is something to look at, too.
	if databaseBytes(path) == 0 && !exists(path) {
		return fmt.Errorf("there is no database in %s yet: nothing to check", e.cfg.Home)
	}
	do := store.Check
	if d.Repair {
		do = store.Salvage
	}
	r, err := do(ctx, path)
	if err != nil {
		return err
	}
	if err := e.report(path, r); err != nil {
		return err
	}
	if len(r.Problems) > 0 && !r.Changed {
		return errors.New("the database has problems; stop all servers of this home and run: reverie doctor --repair")
	}
	return nil
}

// postgres checks a PostgreSQL database, whose repair is its own tools' business.
func (d *doctorCmd) postgres(ctx context.Context, e *env) error {
	if d.Repair {
		return usage(errors.New("--repair is for SQLite; restore a PostgreSQL database with its own tools, or a backup with: reverie backup restore"))
	}
	db, err := openStore(ctx, e.cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := db.Check(ctx)
	if err != nil {
		return err
	}
	if err := e.report(databasePlace(e.cfg), r); err != nil {
		return err
	}
	if len(r.Problems) > 0 {
		return errors.New("the database has problems; restore a backup with: reverie backup restore")
	}
	return nil
}

func (e *env) report(place string, r store.Report) error {
	if e.json {
		return e.printJSON(r)
	}
	e.printReport(place, r)
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (e *env) printReport(path string, r store.Report) {
	if len(r.Problems) == 0 {
		e.printf("%s is sound\n", path)
	}
	for _, p := range r.Problems {
		e.printf("problem   %s\n", p)
	}
	for _, t := range slices.Sorted(maps.Keys(r.Read)) {
		e.printf("read      %d rows of %s\n", r.Read[t], t)
	}
	for _, t := range slices.Sorted(maps.Keys(r.Rebuilt)) {
		e.printf("rebuilt   %d rows of %s\n", r.Rebuilt[t], t)
	}
	for _, l := range r.Lost {
		e.printf("lost      %s\n", l)
	}
	for _, a := range r.Aside {
		e.printf("kept      %s\n", a)
	}
	if r.Changed {
		e.printf("repaired  %s\n", path)
	}
}
