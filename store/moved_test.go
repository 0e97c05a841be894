package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"reverie/store"
)

// What is written into a file that nobody will find again must not be acknowledged.
func TestMovedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not let go of an open file")
	}
	for name, move := range map[string]func(path string) error{
		"file deleted":    os.Remove,
		"home deleted":    func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"file renamed":    func(path string) error { return os.Rename(path, path+".old") },
		"home renamed":    func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old") },
		"file replaced":   func(path string) error { return replace(path, path+".new") },
		"home not a home": func(path string) error { return replaceDir(filepath.Dir(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "home")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "reverie.db")
			db := open(t, path, store.Options{})
			write(t, db, "p", 2)
			if err := move(path); err != nil {
				t.Fatal(err)
			}
			err := db.Write(t.Context(), "p", func(tx *store.Tx) error { return ackRow(tx, 1) })
			wants(t, err, store.ErrMoved, "nothing was stored", "start the server again", "--home")
			err = db.Exec(t.Context(), "INSERT INTO meta (name, value) VALUES ('x', x'00')")
			wants(t, err, store.ErrMoved, "nothing was stored")
			if v, n := version(t, db, "p"), count(t, db, "SELECT (SELECT COUNT(*) FROM memos) + (SELECT COUNT(*) FROM meta)"); v != 2 || n != 0 {
				t.Errorf("version %d and %d rows after the refusals", v, n)
			}
		})
	}
}

func replace(path, by string) error {
	if err := os.WriteFile(by, nil, 0o600); err != nil {
		return err
	}
	return os.Rename(by, path)
}

func replaceDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.WriteFile(dir, nil, 0o600)
}

// A file that comes back is the same file; a change of the process's folder moves nothing.
func TestMovedAndBack(t *testing.T) {
	t.Chdir(t.TempDir())
	db := open(t, "reverie.db", store.Options{})
	works(t, db)
	if runtime.GOOS != "windows" {
		if err := os.Rename("reverie.db", "away"); err != nil {
			t.Fatal(err)
		}
		wants(t, db.Write(t.Context(), "p", func(*store.Tx) error { return nil }), store.ErrMoved)
		if err := os.Rename("away", "reverie.db"); err != nil {
			t.Fatal(err)
		}
	}
	works(t, db)
	t.Chdir(t.TempDir())
	works(t, db)
}

// A log without its database is not dropped for a new database.
func TestOrphanLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "live.db")
	db := open(t, path, store.Options{})
	write(t, db, "p", 20)
	wal := contents(t, path+"-wal")
	if len(wal) == 0 {
		t.Fatal("no log")
	}
	for what, make := range map[string]func(path string) error{
		"missing": func(string) error { return nil },
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		path := filepath.Join(t.TempDir(), "reverie.db")
		if err := errors.Join(make(path), os.WriteFile(path+"-wal", wal, 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := store.Open(t.Context(), path, store.Options{})
		wants(t, err, store.ErrDamaged, path+" is "+what, path+"-wal", "put reverie.db back", "move the -wal file away")
		if r, err := store.Check(t.Context(), path); err == nil && len(r.Problems) == 0 {
			t.Errorf("%s: a check calls it sound", what)
		}
		if !bytes.Equal(wal, contents(t, path+"-wal")) {
			t.Errorf("%s: the log was changed", what)
		}
		if _, err := os.Stat(path); (err != nil) != (what == "missing") {
			t.Errorf("%s: the refused database: %v", what, err)
		}
		if what == "empty" { // the log may hold enough for a repair
			r, err := store.Salvage(t.Context(), path)
			if err != nil || r.Read["partitions"] != 1 {
				t.Errorf("salvage of a log: %+v, %v", r, err)
			}
		}
		os.Remove(path + "-wal")
		works(t, open(t, path, store.Options{}))
	}
}
