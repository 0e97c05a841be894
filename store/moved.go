package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// openFile is the file that a path meant when the database was opened. A file that is
// deleted or renamed stays open and takes every write, of which nobody will see
// anything again.
type openFile struct {
	path string // absolute: the process may change its folder
	info fs.FileInfo
}

// lookAt notes which file a path means. It does not open the file: closing it again
// would drop the POSIX locks that SQLite has on it in this process.
func lookAt(path string) (openFile, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return openFile{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return openFile{}, readOnly(path, err)
	}
	os.SameFile(info, info) // Windows asks for the file's identity only at the first comparison
	return openFile{abs, info}, nil
}

// orphanLog returns an error that is [ErrDamaged] if the database file is missing or
// empty and its log is not: the log holds the newest memories, and SQLite would delete
// it unread. The log is looked at first, since a database has content before its log.
func orphanLog(path string) error {
	wal, err := os.Stat(path + "-wal")
	if err != nil || wal.Size() == 0 {
		return nil
	}
	what := "missing"
	switch st, err := os.Stat(path); {
	case err == nil && st.Size() > 0:
		return nil
	case err == nil:
		what = "empty"
	case !errors.Is(err, fs.ErrNotExist):
		return nil // whoever opens it says more
	}
	return fmt.Errorf("%w: %s is %s but its log %s-wal is there, with the newest changes; put %s back beside it, or move the -wal file away to begin anew",
		ErrDamaged, path, what, path, filepath.Base(path))
}

// inPlace returns an error that is [ErrMoved] unless the path still means the file.
func (f openFile) inPlace() error {
	now, err := os.Stat(f.path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the database file was moved, replaced or deleted while it was open: nothing was stored; start the server again, with --home if the home has moved (%w)", ErrMoved, err)
	case !os.SameFile(f.info, now):
		return fmt.Errorf("%w: the database file was moved, replaced or deleted while it was open: nothing was stored; start the server again, with --home if the home has moved (%s is another file now)", ErrMoved, f.path)
	}
	return nil
}
