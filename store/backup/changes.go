package backup

import (
	"fmt"
	"time"
)

// maxNotes bounds the notes of one sort.
const maxNotes = 20

// Mode says what a restore does with what is there.
type Mode string

// The modes.
const (
	// Replace makes the home what it was when the backup was written.
	Replace Mode = "replace"
	// Merge adds what is missing and takes what is newer in the backup; nothing is removed.
	Merge Mode = "merge"
)

// Counts are rows of a table.
type Counts struct {
	Added    int64 `json:"added"`
	Replaced int64 `json:"replaced"` // there, with other values
	Removed  int64 `json:"removed"`
	Kept     int64 `json:"kept"` // there and staying as they are
}

func (c *Counts) add(d Counts) {
	c.Added, c.Replaced, c.Removed, c.Kept = c.Added+d.Added, c.Replaced+d.Replaced, c.Removed+d.Removed, c.Kept+d.Kept
}

// FileChanges are files of the home, by their paths in it.
type FileChanges struct {
	Added    []string `json:"added,omitempty"`
	Replaced []string `json:"replaced,omitempty"`
	Removed  []string `json:"removed,omitempty"`
	// Differ are those that stay though the backup has them with another content.
	Differ []string `json:"differ,omitempty"`
	Kept   int      `json:"kept"` // the same in both
}

// Changes are what a restore does to a home, or would do.
type Changes struct {
	File      string    `json:"file"`
	Mode      Mode      `json:"mode"`
	CreatedAt time.Time `json:"created_at"`    // of the backup
	Old       bool      `json:"old,omitempty"` // it is of P1
	// Tables counts rows by table. Versions of partitions rise besides.
	Tables map[string]*Counts `json:"tables"`
	// Partitions counts memories and memos by partition and table.
	Partitions map[string]map[string]*Counts `json:"partitions"`
	Files      FileChanges                   `json:"files"`
	// Pending is how many memories wait for a vector afterwards, of a merge.
	Pending int64 `json:"pending,omitempty"`
	// Notes are sentences about what cannot be restored, or differs from what one expects.
	Notes []string `json:"notes,omitempty"`
}

func newChanges(file string, mode Mode, at time.Time) Changes {
	return Changes{File: file, Mode: mode, CreatedAt: at, Tables: map[string]*Counts{}, Partitions: map[string]map[string]*Counts{}}
}

// count adds to a table, and to the partition if that is not "".
func (c *Changes) count(table, part string, n Counts) {
	if c.Tables[table] == nil {
		c.Tables[table] = &Counts{}
	}
	c.Tables[table].add(n)
	if part == "" || n == (Counts{}) {
		return
	}
	if c.Partitions[part] == nil {
		c.Partitions[part] = map[string]*Counts{}
	}
	if c.Partitions[part][table] == nil {
		c.Partitions[part][table] = &Counts{}
	}
	c.Partitions[part][table].add(n)
}

func (c *Changes) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// Result is what a restore did. Of one that replaces, Added is all rows of the backup and
// Removed all that were there, unless [RestoreOptions].Compare is set.
type Result struct {
	Changes
	ID     string `json:"id"`     // in the journal, of a merge
	Before Info   `json:"before"` // the backup of what was there
}
