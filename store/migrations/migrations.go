// Package migrations holds the schema as frozen steps.
//
// A step that has been released is never edited: a change of the schema is a new
// step. Each step is SQL in a file of its own, one file a dialect.
package migrations

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/go-gormigrate/gormigrate/v2"
	"gorm.io/gorm"
)

//go:embed *.sql
var files embed.FS

// steps in order; the position of a step, counted from 1, is the schema version.
var steps = []string{
	"0001_first",
	"0002_spaces",
}

// Version is the schema version that this program writes.
func Version() int { return len(steps) }

// Names returns the steps in order.
func Names() []string { return slices.Clone(steps) }

// SQLite returns the steps for SQLite. Each sets user_version, so that a program can
// tell with one read whether there is anything to do.
func SQLite() []*gormigrate.Migration {
	return all(func(tx *gorm.DB, name string, version int) error {
		if err := run(tx, name+".sqlite.sql"); err != nil {
			return err
		}
		return tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)).Error
	})
}

// Postgres returns the steps for PostgreSQL.
func Postgres() []*gormigrate.Migration {
	return all(func(tx *gorm.DB, name string, _ int) error { return run(tx, name+".postgres.sql") })
}

func all(step func(tx *gorm.DB, name string, version int) error) []*gormigrate.Migration {
	out := make([]*gormigrate.Migration, len(steps))
	for i, name := range steps {
		out[i] = &gormigrate.Migration{ID: name, Migrate: func(tx *gorm.DB) error { return step(tx, name, i+1) }}
	}
	return out
}

// run executes the statements of a file.
func run(tx *gorm.DB, file string) error {
	b, err := files.ReadFile(file)
	if err != nil {
		return err
	}
	for _, stmt := range statements(string(b)) {
		if err := tx.Exec(stmt).Error; err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// statements splits SQL at the semicolons that end a line outside of a function's body,
// which stands between two "$$".
func statements(sql string) []string {
	var out []string
	var stmt strings.Builder
	for line := range strings.Lines(sql) {
		stmt.WriteString(line)
		inBody := strings.Count(stmt.String(), "$$")%2 == 1
		code, _, _ := strings.Cut(line, "--")
		if !inBody && strings.HasSuffix(strings.TrimSpace(code), ";") {
			out = append(out, strings.TrimSpace(stmt.String()))
			stmt.Reset()
		}
	}
	return out
}
