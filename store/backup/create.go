package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"reverie/store"
	"reverie/store/migrations"
)

// DefaultKeep is how many automatic backups stay when nothing is said.
const DefaultKeep = 3

// Options of [Create]; the zero value is the default of every field.
type Options struct {
	Kind   Kind   // default Manual
	Reason string // why, for people
	// Keep is how many automatic backups stay, the newest; below 1 it is [DefaultKeep].
	// The one just written always stays.
	Keep    int
	Version string // of the program
	// Progress is told how many of how many rows are done, if it is not nil.
	Progress func(done, total int64)
}

// Info is a backup in the list.
type Info struct {
	Path      string    `json:"path"`
	Name      string    `json:"name"`
	Bytes     int64     `json:"bytes"`
	Kind      Kind      `json:"kind"`
	CreatedAt time.Time `json:"created_at"`
	Reason    string    `json:"reason,omitempty"`
	Schema    int       `json:"schema,omitempty"`
	Engine    string    `json:"engine,omitempty"`
	Memories  int64     `json:"memories"` // of all states
	Files     int       `json:"files"`
	Left      []string  `json:"left,omitempty"` // files that were not taken
	// Problem says why it cannot be read, empty if the manifest is sound.
	Problem string `json:"problem,omitempty"`
}

// Create writes a backup of the database and the home into the home's folder of backups,
// and removes automatic ones beyond Keep. It holds a bounded amount of memory, takes no
// lock on the database, and may run while servers write. It waits for a restore.
//
// After an error no backup has a new name. Errors: [store.ErrFull] and what reading gives.
func Create(ctx context.Context, db *store.DB, home string, o Options) (Info, error) {
	if _, err := Finish(ctx, db, home); err != nil {
		return Info{}, fmt.Errorf("create backup: complete the restore before: %w", err)
	}
	dir, err := makeFolder(home)
	if err != nil {
		return Info{}, fmt.Errorf("create backup: %w", err)
	}
	l, err := lockToWrite(ctx, dir)
	if err != nil {
		return Info{}, fmt.Errorf("create backup: %w", err)
	}
	defer l.release()
	i, _, err := create(ctx, db, home, o)
	return i, err
}

// create is Create for one who holds the folder, and says which state of the store is in
// it. Those to be spared are not rotated away.
func create(ctx context.Context, db *store.DB, home string, o Options, spare ...string) (Info, snapshot, error) {
	var none snapshot
	if o.Keep < 1 {
		o.Keep = DefaultKeep
	}
	o.Kind = cmp.Or(o.Kind, Manual)
	if o.Kind != Manual && o.Kind != Auto {
		return Info{}, none, fmt.Errorf("create backup: kind %q; allowed: manual, auto", o.Kind)
	}
	dir := filepath.Join(home, folder)
	m := &Manifest{
		Program: program, Format: formatVersion, Version: o.Version, Schema: migrations.Version(), Engine: db.Engine(),
		CreatedAt: time.Now().UTC().Truncate(time.Millisecond), Kind: o.Kind, Reason: o.Reason, Members: []Member{},
	}
	f, name, err := reserve(dir, m.CreatedAt, o.Kind)
	if err != nil {
		return Info{}, none, fmt.Errorf("create backup: %w", full(dir, err))
	}
	path := filepath.Join(dir, name)
	w := &writer{f: f, m: m, progress: o.Progress}
	err = w.all(ctx, db, home)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return Info{}, none, fmt.Errorf("create backup: %w", full(dir, err))
	}
	if err := syncDir(dir); err != nil {
		return Info{}, none, fmt.Errorf("create backup: %w", err)
	}
	if o.Kind == Auto {
		if err := rotate(dir, o.Keep, append(spare, name)...); err != nil {
			return Info{}, none, fmt.Errorf("create backup: %w", err)
		}
	}
	i, err := infoOf(path, m)
	return i, w.seen, err
}

// reserve makes the file in which a backup is written. Its name is that of the backup
// with a suffix: whoever has made that file is the only one who may take the name.
func reserve(dir string, at time.Time, k Kind) (*os.File, string, error) {
	for n := 0; ; n++ {
		name := nameOf(at, n, k)
		f, err := os.OpenFile(filepath.Join(dir, name+tempSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return f, name, nil
		}
		f.Close()
		os.Remove(f.Name())
	}
}
