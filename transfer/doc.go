// Package transfer carries data into and out of a store: export and import as lines of
// JSON, the data of the programs that came before, and old partition keys to today's.
//
// Where to look: line.go has the format, lines.go reads it; export.go writes it, survey.go
// checks a whole file before import.go stores it; keys.go moves old partitions, merge.go
// says what happens where two become one, keyfiles.go moves the files named after them;
// p2.go and the files beside it bring notes kept as Markdown, p1.go and those beside it
// the collection of a vector database.
//
// Everything here works on the whole store and asks no role: it is for the operator's
// commands, never for a caller. Memories go in through [Memories], so that the rules of
// package vector hold; what comes from other programs passes the cleaning that all text
// from outside passes.
//
// What does not live here: backups, which hold everything byte for byte including the
// history (package store/backup), and the wording of the commands (package cli).
package transfer

import (
	"context"

	"reverie/vector"
)

// Memories stores memories in bulk; a *vector.Service does.
type Memories interface {
	Import(ctx context.Context, part string, ms []vector.Memory, o vector.ImportOptions) (vector.ImportReport, error)
}
