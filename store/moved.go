package store

import (
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
