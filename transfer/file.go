package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// WriteFile makes the file at path what write writes, readable by its owner only: either
// the whole of it or, after an error, what stood there before. A symbolic link to a file
// is followed. What is no file, such as a pipe or /dev/null, is written to and stays what
// it is.
func WriteFile(path string, write func(io.Writer) error) error {
	st, err := os.Stat(path)
	switch {
	case err != nil: // not there; if it is worse, making it says so
	case st.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0:
		return writeThrough(path, write)
	case st.IsDir():
		return fmt.Errorf("write %s: it is a folder; give the name of a file in it", path)
	case !st.Mode().IsRegular():
		return fmt.Errorf("write %s: it is no file; give another name", path)
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return replaceFile(path, write)
}

// writeThrough writes to what cannot be replaced.
func writeThrough(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<16)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replaceFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	if err := errors.Join(b.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename last through a power cut. Windows has no such call and needs
// none.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
