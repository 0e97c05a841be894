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
)

// leaseName is that of the lease by which one restore at a time changes a database.
const leaseName = "restore"

// leaseTTL is how long a restore after a killed one has to wait at most.
const leaseTTL = 10 * time.Second

// RestoreOptions of [Restore] and [Plan]; Domain is needed for [Merge] and for backups of
// P1. The zero value of every other field is its default.
type RestoreOptions struct {
	// Mode is by default Replace for a backup of this program, and Merge for one of P1:
	// that holds memories only, of those who were known then.
	Mode Mode
	// Compare counts the rows of a restore that replaces one by one before, as [Plan] does,
	// which takes as long as that. Without it all rows count as added.
	Compare bool
	// Keep and Version are those of the backup that is made first; see [Options].
	Keep    int
	Version string
	Domain  Domain
	// MapKey reads a partition key of P1, with the scope that P1 stored beside it; ok is
	// false for one that belongs to nobody that is known. Needed for backups of P1.
	MapKey func(key, scope string) (part string, ok bool)
	// Progress is told how much of how much of one step is done, if it is not nil.
	Progress func(step string, done, total int64)
}

// restoring is one restore, or the plan of one.
type restoring struct {
	db     *store.DB
	home   string
	root   *os.Root
	engine string
	o      RestoreOptions
	id     string // of the restore; "plan" for none
	dry    bool
	step   string
	lease  *store.Lease
	stage  *stage
	spare  []string // backups that are not rotated away
	seen   snapshot // the state of the store that is in r.Before
	r      Result
}

func (x *restoring) progress(done, total int64) {
	if x.o.Progress != nil {
		x.o.Progress(x.step, done, total)
	}
}

// prepare opens and verifies a backup.
func prepare(ctx context.Context, db *store.DB, home, path string, o RestoreOptions) (*restoring, *source, error) {
	if o.Mode != "" && o.Mode != Replace && o.Mode != Merge {
		return nil, nil, fmt.Errorf("mode %q; allowed: replace, merge", o.Mode)
	}
	src, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	if src.old != nil {
		o.Mode = cmp.Or(o.Mode, Merge)
	}
	o.Mode = cmp.Or(o.Mode, Replace)
	x := &restoring{db: db, home: home, o: o, id: "plan", step: "verify", engine: db.Engine()}
	if err := x.look(ctx, src, path); err != nil {
		src.Close()
		return nil, nil, err
	}
	return x, src, nil
}

func (x *restoring) look(ctx context.Context, src *source, path string) (err error) {
	if (src.old != nil || x.o.Mode == Merge) && x.o.Domain == nil {
		return errors.New("restore without the packages that own the data")
	}
	at := time.Time{}
	if src.old != nil {
		at = src.old.at
	} else {
		at = src.zip.m.CreatedAt
		if err := src.zip.verify(ctx, x.progress); err != nil {
			return err
		}
	}
	x.r.Changes = newChanges(path, x.o.Mode, at)
	x.r.Old = src.old != nil
	x.root, err = os.OpenRoot(x.home)
	return err
}

// Restore gives a home back what a backup holds.
//
// The backup is verified as a whole and then what is there is backed up (kind [Auto]);
// only if both succeed is anything changed. Replacing is one step, see the package
// comment. Merging goes partition by partition: after an error or a kill the same call goes on.
//
// Errors: those of [Verify], [*store.HeldError] and [store.ErrBusy] if another process
// restores or backs up, [store.ErrFull].
func Restore(ctx context.Context, db *store.DB, home, path string, o RestoreOptions) (Result, error) {
	x, src, err := prepare(ctx, db, home, path, o)
	if err != nil {
		return Result{}, fmt.Errorf("restore %s: %w; nothing was changed", path, err)
	}
	defer x.root.Close()
	defer src.Close()
	if err := x.alone(ctx, src, path); err != nil {
		return Result{}, fmt.Errorf("restore %s: %w", path, err)
	}
	return x.r, nil
}

// alone restores under the lock of the home and the lease of the database.
func (x *restoring) alone(ctx context.Context, src *source, path string) error {
	dir, err := makeFolder(x.home)
	if err != nil {
		return err
	}
	l, ok, err := lockAlone(ctx, dir, 0)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: another process is writing or restoring a backup in %s; nothing was changed, try again when it is done", store.ErrBusy, dir)
	}
	defer l.release()
	if _, err := finish(ctx, x.db, x.home); err != nil {
		return err
	}
	if x.lease, err = waitForLease(ctx, x.db); err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	defer x.lease.Release()
	ctx = x.lease.Context()

	if inside, err := filepath.Abs(filepath.Dir(path)); err == nil && inside == dir {
		x.spare = append(x.spare, filepath.Base(path))
	}
	if err := x.backUp(ctx, x.progress); err != nil {
		return err
	}
	if x.stage, err = newStage(x.root); err != nil {
		return full(x.home, err)
	}
	x.id, x.r.ID = x.stage.id, x.stage.id
	switch {
	case src.old != nil:
		err = x.restoreOld(ctx, src.old)
	case x.o.Mode == Merge:
		err = x.merge(ctx, src.zip)
	default:
		return full(x.home, x.replaceCounted(ctx, src.zip))
	}
	return full(x.home, errors.Join(err, x.stage.drop()))
}

// replaceCounted replaces, and reports what differed if that was asked for.
func (x *restoring) replaceCounted(ctx context.Context, a *archive) error {
	if !x.o.Compare {
		return x.replace(ctx, a)
	}
	if err := x.plan(ctx, a); err != nil {
		return errors.Join(fmt.Errorf("%w; nothing was changed", err), x.stage.drop())
	}
	counted := x.r.Changes
	x.r.Changes = newChanges(counted.File, counted.Mode, counted.CreatedAt)
	if err := x.replace(ctx, a); err != nil {
		return err
	}
	x.r.Tables, x.r.Partitions = counted.Tables, counted.Partitions
	return nil
}

// backUp makes the backup of what is there, in place of one that was made too early.
func (x *restoring) backUp(ctx context.Context, progress func(done, total int64)) (err error) {
	x.step = "back up"
	defer func() { x.step = "restore" }()
	if x.r.Before.Path != "" {
		if err := os.Remove(x.r.Before.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the backup of what was there a moment ago: %w", err)
		}
	}
	o := Options{Kind: Auto, Reason: "before restore", Keep: x.o.Keep, Version: x.o.Version, Progress: progress}
	if x.r.Before, x.seen, err = create(ctx, x.db, x.home, o, x.spare...); err != nil {
		return fmt.Errorf("%w; without a backup of what is there nothing is restored", err)
	}
	return nil
}

// waitForLease takes the lease, and waits for the end of one that a killed process left.
func waitForLease(ctx context.Context, db *store.DB) (*store.Lease, error) {
	l, err := db.Lease(ctx, leaseName, leaseTTL)
	var held *store.HeldError
	if !errors.As(err, &held) || time.Until(held.Until) > leaseTTL {
		return l, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Until(held.Until) + 10*time.Millisecond):
	}
	return db.Lease(ctx, leaseName, leaseTTL)
}
