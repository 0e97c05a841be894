package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"reverie/store"
)

// lockName is the file in the folder of the backups that is held shared by those who
// write one, and alone by one who restores or sweeps. The system lets go of it with
// the process, so whatever is half done while nobody holds it is left from a crash.
const lockName = ".lock"

// lockEvery is how often one who waits for the lock looks again.
const lockEvery = 50 * time.Millisecond

// tempSuffix marks a backup that is being written.
const tempSuffix = ".tmp"

// locked is a hold on the folder of the backups; nil where the file system has no locks.
type locked struct{ f *flock.Flock }

func (l locked) release() {
	if l.f != nil {
		l.f.Close()
	}
}

// makeFolder makes the folder of the backups, for the account alone.
func makeFolder(home string) (string, error) {
	dir := filepath.Join(home, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of the backups: %w", full(dir, err))
	}
	return dir, nil
}

func newLock(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
}

// lockToWrite sweeps what crashes left, if nobody is writing, and takes the shared hold.
// It waits for one who restores.
func lockToWrite(ctx context.Context, dir string) (locked, error) {
	f := newLock(dir)
	if ok, err := f.TryLock(); err != nil {
		return noLock(dir, err)
	} else if ok {
		err := sweep(dir)
		f.Close()
		if err != nil {
			return locked{}, err
		}
	}
	if _, err := f.TryRLockContext(ctx, lockEvery); err != nil {
		return noLock(dir, err)
	}
	return locked{f}, nil
}

// lockAlone takes the exclusive hold, waiting for at most as long as given; ok is false
// if others hold it.
func lockAlone(ctx context.Context, dir string, wait time.Duration) (l locked, ok bool, err error) {
	f := newLock(dir)
	ctx, cancel := context.WithTimeout(ctx, max(wait, lockEvery))
	defer cancel()
	ok, err = f.TryLockContext(ctx, lockEvery)
	switch {
	case ok:
		return locked{f}, true, nil
	case errors.Is(err, context.DeadlineExceeded):
		return locked{}, false, nil
	}
	l, err = noLock(dir, err)
	return l, err == nil, err
}

// noLock goes on without a lock where the file system has none.
func noLock(dir string, err error) (locked, error) {
	if errors.Is(err, errors.ErrUnsupported) {
		return locked{}, nil
	}
	return locked{}, fmt.Errorf("lock the folder of the backups: %w", full(dir, err))
}

// sweep removes half-written backups. Nobody may be writing one.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look through the backups: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), tempSuffix)
		if _, _, _, is := parseName(name); !ok || !is {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a half-written backup: %w", err)
		}
	}
	return nil
}

// listed is a backup as its name tells it.
type listed struct {
	name string
	at   time.Time
	n    int
	kind Kind
}

// names are the backups of a folder, newest first.
func names(dir string) ([]listed, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look through the backups: %w", err)
	}
	var out []listed
	for _, e := range entries {
		if at, n, k, ok := parseName(e.Name()); ok {
			out = append(out, listed{e.Name(), at, n, k})
		}
	}
	slices.SortFunc(out, func(a, b listed) int { return cmp.Or(b.at.Compare(a.at), b.n-a.n) })
	return out, nil
}

// rotate removes all but the newest automatic backups, and never those to be spared.
func rotate(dir string, keep int, spare ...string) error {
	all, err := names(dir)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.kind != Auto {
			continue
		}
		if keep--; keep >= 0 || slices.Contains(spare, b.name) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, b.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old automatic backup: %w", err)
		}
	}
	return nil
}

// full puts [store.ErrFull] before the error of a disk without room.
func full(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: free space on the disk of %s, then try again (%w)", store.ErrFull, path, err)
	}
	return err
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
