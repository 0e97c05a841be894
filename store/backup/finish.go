package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"gorm.io/gorm"

	"reverie/store"
)

// finishWait is how long [Finish] waits for a process that is just putting restored files
// in place, which takes milliseconds a file.
const finishWait = 30 * time.Second

// Finish completes a restore whose process ended after its rows were stored and before
// all its files were in place, and removes what earlier ones left. Call it whenever a
// home is opened, before anything reads its files; where there is nothing to do it costs
// one read. done says that there was something.
//
// An error leaves everything as it is for the next call. Until then the rows are those of
// the backup and some files are not.
func Finish(ctx context.Context, db *store.DB, home string) (done bool, err error) {
	id, err := marked(ctx, db)
	if err != nil {
		return false, fmt.Errorf("look for an unfinished restore: %w", err)
	}
	if id == "" && !anyStage(home) {
		return false, nil
	}
	dir, err := makeFolder(home)
	if err != nil {
		return false, err
	}
	wait := finishWait
	if id == "" {
		wait = 0 // who holds the lock may be the one to whom the folder belongs
	}
	l, ok, err := lockAlone(ctx, dir, wait)
	if err != nil {
		return false, err
	}
	if !ok {
		if id == "" {
			return false, nil
		}
		return false, fmt.Errorf("%w: another process is restoring a backup in %s; try again when it is done", store.ErrBusy, home)
	}
	defer l.release()
	return finish(ctx, db, home)
}

// finish is Finish for one who holds the lock alone.
func finish(ctx context.Context, db *store.DB, home string) (done bool, err error) {
	id, err := marked(ctx, db)
	if err != nil {
		return false, fmt.Errorf("look for an unfinished restore: %w", err)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return false, err
	}
	defer root.Close()
	if id != "" && validID(id) {
		s := &stage{home: root, id: id, dir: stagePrefix + id}
		w, err := s.read()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// The rows may be in a database of several homes, and the files in another one.
		case err != nil:
			return false, err
		default:
			if err := s.complete(ctx, db, w); err != nil {
				return false, fmt.Errorf("complete the restore %s: %w", id, err)
			}
			done = true
		}
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return done, err
	}
	for _, e := range entries {
		if stageName(e) && e.Name() != stagePrefix+id {
			done = true
			if err := root.RemoveAll(e.Name()); err != nil {
				return done, fmt.Errorf("remove what a restore left: %w", err)
			}
		}
	}
	return done, nil
}

// complete puts the files in place and then takes the mark away.
func (s *stage) complete(ctx context.Context, db *store.DB, w swaps) error {
	if err := s.swap(ctx, w); err != nil {
		return fmt.Errorf("%w (the rows are restored, and the next start tries again)", err)
	}
	err := db.Maintain(ctx, func(g *gorm.DB) error {
		return g.Exec("DELETE FROM meta WHERE name = ? AND value = ?", restoreMark, []byte(s.id)).Error
	})
	if err != nil {
		return err
	}
	return s.drop()
}

// marked is the id of a restore whose files are still to be put in place, "" for none.
func marked(ctx context.Context, db *store.DB) (string, error) {
	var id []byte
	err := db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT value FROM meta WHERE name = ?", restoreMark).Row().Scan(&id)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return string(id), err
}

func stageName(e fs.DirEntry) bool {
	id, ok := strings.CutPrefix(e.Name(), stagePrefix)
	return ok && e.IsDir() && validID(id)
}

func anyStage(home string) bool {
	entries, err := os.ReadDir(home)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if stageName(e) {
			return true
		}
	}
	return false
}
