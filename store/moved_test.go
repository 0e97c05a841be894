package store_test

import (
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
