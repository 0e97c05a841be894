package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockEvery is how often one who waits for the home's lock looks again.
const lockEvery = 10 * time.Millisecond

// homeLock is a hold on the lock file beside the database: shared by everyone who has
// the database open, exclusive for one who replaces the file. The operating system
// lets go of it when a process dies.
type homeLock struct{ f *flock.Flock }

// lockPath is the lock file of the database at path: reverie.lock for reverie.db.
func lockPath(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".lock"
}

func newLock(path string) *flock.Flock {
	return flock.New(lockPath(path), flock.SetPermissions(0o600))
}

// share takes the shared lock for opening the database at path, after makeReady has made
// the file if it is not there; nil if no file is wanted. It waits at most timeout for one
// who replaces the file.
func share(ctx context.Context, path string, timeout time.Duration, makeReady func(context.Context, string) error) (*homeLock, error) {
	f := newLock(path)
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		if makeReady != nil {
			if err := makeReady(wait, path); err != nil {
				return nil, err
			}
		}
		ok, err := f.TryRLock()
		switch {
		case err != nil:
			return unlocked(path, err)
		case ok && (makeReady == nil || ready(path)):
			return &homeLock{f}, nil
		case ok: // replaced or removed in between
			f.Close()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wait.Done():
			return nil, fmt.Errorf("%w: another process is repairing or restoring %s; try again when it is done", ErrBusy, path)
		case <-time.After(lockEvery):
		}
	}
}

// exclusive takes the lock for one who replaces the database file, and refuses at once
// if anyone has the database open.
func exclusive(path string) (*homeLock, error) {
	f := newLock(path)
	ok, err := f.TryLock()
	if err != nil {
		return unlocked(path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s is open in another process; stop every reverie server and command of this home, then try again", ErrBusy, path)
	}
	return &homeLock{f}, nil
}

// unlocked says what to do about a lock file that cannot be locked. A file system
// without locks is not refused: SQLite brings locks of its own.
func unlocked(path string, err error) (*homeLock, error) {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	return nil, readOnly(path, err)
}

func (l *homeLock) release() {
	if l != nil {
		l.f.Close()
	}
}

func readOnly(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the folder of %s does not exist; create it, or choose another home with --home DIR or REVERIE_HOME (%w)", ErrReadOnly, path, err)
	}
	return fmt.Errorf("%w: cannot write %s; make its folder writable, or choose another home with --home DIR or REVERIE_HOME (%w)", ErrReadOnly, path, err)
}

// ready reports whether there is a database file and no half-done replacement of it.
func ready(path string) bool {
	if _, err := os.Lstat(repairedPath(path)); err == nil {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

// prepare sees to it that the home is ready, under the exclusive lock if there is
// anything to do.
//
// The file is made here, before SQLite would make it with the umask's mode: memories
// are private to the account. SQLite gives the WAL files the same mode. It is made
// under the lock because closing any descriptor of a file drops all POSIX locks that
// the process has on it, SQLite's included: no file that may be open as a database in
// this process may ever be opened in another way.
func prepare(ctx context.Context, path string) error {
	if ready(path) {
		return nil
	}
	l, err := exclusive(path)
	if errors.Is(err, ErrBusy) {
		return nil // someone else is making it, or has it open; the caller looks again
	}
	if err != nil {
		return err
	}
	defer l.release()
	if err := finishRepair(path); err != nil {
		return err
	}
	if err := orphanLog(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return readOnly(path, err)
	}
	return f.Close()
}

// LockHome takes the exclusive lock of the home of the database at path, for one who
// replaces the file: a repair, the restoring of a backup. While it is held, [Open]
// waits and then fails with [ErrBusy]. It fails with [ErrBusy] at once if anyone, in
// this process or another, has the database open.
func LockHome(path string) (release func(), err error) {
	l, err := exclusive(path)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}
