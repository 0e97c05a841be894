package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// repairedPath is where a finished new database waits to take the place of the old one.
func repairedPath(path string) string { return path + ".repaired" }

// finishRepair puts a finished new database, if there is one, in the place of the old
// one. The old one's log goes first: SQLite would replay it into the new file. Whoever
// is killed in between is followed by one who finds the new database still waiting and
// does the same again. Call it with the exclusive lock held.
func finishRepair(path string) error {
	fresh := repairedPath(path)
	if _, err := os.Stat(fresh); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the log of the damaged database: %w", err)
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("put the repaired database in place: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// copyAside copies a file to a new one and makes sure that it is on the disk.
func copyAside(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Sync()
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		os.Remove(to) // half a copy, of a file that stays where it is
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir makes renames in a folder last. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
