// Package migrations holds the schema as frozen steps.
//
// A step that has been released is never edited: a change of the schema is a new
// step. Each step is SQL in a file of its own, one file a dialect.
package migrations

import (
	"embed"
	"fmt"
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

// SQLite returns the steps for SQLite. Each sets user_version, so that a program can
// tell with one read whether there is anything to do.
func SQLite() []*gormigrate.Migration {
	out := make([]*gormigrate.Migration, len(steps))
	for i, name := range steps {
		out[i] = &gormigrate.Migration{ID: name, Migrate: func(tx *gorm.DB) error {
			return run(tx, name+".sqlite.sql", i+1)
		}}
	}
	return out
}

func run(tx *gorm.DB, file string, version int) error {
	b, err := files.ReadFile(file)
	if err != nil {
		return err
	}
	for _, stmt := range strings.Split(string(b), ";\n") {
		if strings.TrimSpace(stmt) == "" {
			continue
		}
		if err := tx.Exec(stmt).Error; err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)).Error
}
