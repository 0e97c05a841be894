package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"reverie/store"
	"reverie/store/migrations"
)

// program is what a manifest must name: other programs write zips with manifests, too.
const program = "reverie"

// formatVersion is the version of the file's layout.
const formatVersion = 1

// Names of the members about the others.
const (
	manifestName = "manifest.json"
	sumName      = "manifest.sha256"
	tablePrefix  = "tables/"
	filePrefix   = "files/"
)

// maxManifest bounds the manifest, in bytes: enough for 200,000 files.
const maxManifest = 64 << 20

var (
	// ErrForeign means that a file is no backup of this program.
	ErrForeign = errors.New("not a backup of reverie")
	// ErrBroken means that a backup is cut short, was changed after it was written, or
	// contradicts itself.
	ErrBroken = errors.New("damaged backup")
)

// Kind says who asked for a backup.
type Kind string

// The kinds. Automatic ones are rotated, manual ones are never removed.
const (
	Manual Kind = "manual"
	Auto   Kind = "auto"
)

// Manifest says what a backup holds.
type Manifest struct {
	Program   string    `json:"program"`
	Format    int       `json:"format"`
	Version   string    `json:"version"` // of the program that wrote it
	Schema    int       `json:"schema"`
	Engine    string    `json:"engine"` // sqlite or postgres
	CreatedAt time.Time `json:"created_at"`
	Kind      Kind      `json:"kind"`
	Reason    string    `json:"reason,omitempty"`
	Members   []Member  `json:"members"`
	// Left are files that were not taken, each with the reason.
	Left []string `json:"left,omitempty"`
}

// Member is one file inside a backup.
type Member struct {
	Name   string `json:"name"`
	Rows   *int64 `json:"rows,omitempty"` // of a table
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Rows is how many rows of a table the backup has.
func (m *Manifest) Rows(table string) int64 {
	for _, x := range m.Members {
		if x.Name == tableFile(table) && x.Rows != nil {
			return *x.Rows
		}
	}
	return 0
}

// Files is how many files of the home the backup has.
func (m *Manifest) Files() (n int) {
	for _, x := range m.Members {
		if strings.HasPrefix(x.Name, filePrefix) {
			n++
		}
	}
	return n
}

func (m *Manifest) member(name string) (Member, bool) {
	for _, x := range m.Members {
		if x.Name == name {
			return x, true
		}
	}
	return Member{}, false
}

func tableFile(name string) string { return tablePrefix + name + ".jsonl" }

// encode returns the manifest and its checksum as they are stored.
func (m *Manifest) encode() (doc, sum []byte, err error) {
	if doc, err = json.MarshalIndent(m, "", " "); err != nil {
		return nil, nil, err
	}
	h := sha256.Sum256(doc)
	return doc, []byte(hex.EncodeToString(h[:]) + "\n"), nil
}

// parseManifest reads a manifest and its checksum, and holds it to what is possible.
func parseManifest(doc, sum []byte) (*Manifest, error) {
	h := sha256.Sum256(doc)
	if strings.TrimSpace(string(sum)) != hex.EncodeToString(h[:]) {
		// Before anything in it is believed; but that it is of another program is said first.
		var who struct {
			Program string `json:"program"`
		}
		if json.Unmarshal(doc, &who) != nil || who.Program != program {
			return nil, fmt.Errorf("%w: its manifest is of another program", ErrForeign)
		}
		return nil, fmt.Errorf("%w: its manifest does not fit its checksum; it was changed or damaged after it was written", ErrBroken)
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(doc))
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: its manifest cannot be read", ErrBroken)
	}
	switch {
	case m.Program != program:
		return nil, fmt.Errorf("%w: its manifest is of another program", ErrForeign)
	case m.Format > formatVersion:
		return nil, fmt.Errorf("%w: the backup has format %d and this program knows up to %d; install the newer reverie", store.ErrNewer, m.Format, formatVersion)
	case m.Schema > migrations.Version():
		return nil, fmt.Errorf("%w: the backup has schema %d and this program knows up to %d; install the newer reverie (the backup was written by %s)", store.ErrNewer, m.Schema, migrations.Version(), clip(m.Version))
	case m.Format < 1 || m.Schema < 1:
		return nil, fmt.Errorf("%w: its manifest names format %d and schema %d", ErrBroken, m.Format, m.Schema)
	}
	return &m, m.check()
}

// check holds the members to their rules.
func (m *Manifest) check() error {
	seen, folders := map[string]bool{}, map[string]string{}
	for _, x := range m.Members {
		if seen[x.Name] {
			return fmt.Errorf("%w: %s is in it twice", ErrBroken, clip(x.Name))
		}
		seen[x.Name] = true
		if x.Bytes < 0 || x.Rows != nil && *x.Rows < 0 {
			return fmt.Errorf("%w: %s has a negative size", ErrBroken, clip(x.Name))
		}
		name, isTable := strings.CutPrefix(x.Name, tablePrefix)
		path, isFile := strings.CutPrefix(x.Name, filePrefix)
		switch {
		case isTable:
			name, ok := strings.CutSuffix(name, ".jsonl")
			if _, known := tableNamed(name); !ok || !known || x.Rows == nil {
				return fmt.Errorf("%w: it has a table %s, which this program does not know", ErrBroken, clip(x.Name))
			}
		case !isFile || x.Rows != nil || !restorable(path):
			return fmt.Errorf("%w: it has a file %s, which belongs in no home", ErrBroken, clip(x.Name))
		}
		for _, d := range parents(x.Name) {
			folders[d] = x.Name
		}
	}
	for _, x := range m.Members {
		if in := folders[x.Name]; in != "" {
			return fmt.Errorf("%w: %s is in it as a file, and as a folder with %s", ErrBroken, clip(x.Name), clip(in))
		}
	}
	return nil
}

// clip quotes the beginning of a text from a file that need not be honest.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "..."
	}
	return fmt.Sprintf("%q", s)
}
