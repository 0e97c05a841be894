package backup

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// restoreMark is the row of the table meta that says, from the moment on when the rows
// are those of a backup, whose files are still to be put in place.
const restoreMark = "restore"

// stagePrefix begins the name of the folder in the home in which a restore prepares.
const stagePrefix = "restore-"

// swaps is what is to be done with files once the rows are restored.
type swaps struct {
	Put    []string `json:"put"`    // staged files that take their places
	Remove []string `json:"remove"` // files that the backup does not have
}

// stage is the folder in which a restore prepares what it will put in place.
type stage struct {
	home *os.Root
	id   string
	dir  string // relative to the home
}

// newStage makes the folder of a new restore.
func newStage(home *os.Root) (*stage, error) {
	var b [6]byte
	rand.Read(b[:])
	s := &stage{home: home, id: time.Now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(b[:])}
	s.dir = stagePrefix + s.id
	return s, home.Mkdir(s.dir, 0o700)
}

// validID reports whether an id is one that newStage makes: it comes out of the database
// and becomes part of a path.
func validID(id string) bool {
	return len(id) > 0 && len(id) < 64 && strings.Trim(id, "0123456789abcdefT-") == ""
}

func (s *stage) staged(p string) string { return s.dir + "/files/" + p }

// put stages a file of a backup, on the disk.
func (s *stage) put(a *archive, m Member, p string) error {
	to := s.staged(p)
	if err := s.home.MkdirAll(path.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := s.home.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = a.read(m, func(r io.Reader) error {
		_, err := io.Copy(f, r)
		return err
	})
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// write stores the list of swaps and makes sure that all that is staged is on the disk.
func (s *stage) write(w swaps) error {
	doc, err := json.Marshal(w)
	if err != nil {
		return err
	}
	f, err := s.home.OpenFile(s.dir+"/swaps.json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(doc)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	folders := map[string]bool{".": true, s.dir: true}
	for _, p := range w.Put {
		for _, d := range parents(s.staged(p)) {
			folders[d] = true
		}
	}
	return s.sync(folders)
}

func (s *stage) sync(folders map[string]bool) error {
	for d := range folders {
		if err := syncDir(filepath.Join(s.home.Name(), filepath.FromSlash(d))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// read returns the list of swaps.
func (s *stage) read() (swaps, error) {
	var w swaps
	f, err := s.home.Open(s.dir + "/swaps.json")
	if err != nil {
		return w, err
	}
	defer f.Close()
	if err := json.NewDecoder(bufio.NewReader(io.LimitReader(f, maxManifest))).Decode(&w); err != nil {
		return w, fmt.Errorf("read the list of files to restore: %w", err)
	}
	for _, p := range append(append([]string{}, w.Put...), w.Remove...) {
		if !restorable(p) {
			return w, fmt.Errorf("read the list of files to restore: it has %s, which belongs in no home", clip(p))
		}
	}
	return w, nil
}

// swap puts the staged files in place. It may be repeated: what is in place already is
// no longer staged. Files that are to go move into the stage, for the same reason.
func (s *stage) swap(ctx context.Context, w swaps) error {
	touched := map[string]bool{}
	var errs []error
	for _, p := range w.Put {
		if _, err := s.home.Lstat(s.staged(p)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := s.home.MkdirAll(path.Dir(p), 0o700)
		if err == nil {
			err = s.home.Rename(s.staged(p), p)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("put %s in place: %w", p, err))
		}
		touched["."] = true
		for _, d := range parents(p) {
			touched[d] = true
		}
	}
	for _, p := range w.Remove {
		to := s.dir + "/removed/" + p
		err := s.home.MkdirAll(path.Dir(to), 0o700)
		if err == nil {
			err = s.home.Rename(p, to)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove %s: %w", p, err))
		}
		touched[path.Dir(p)] = true
	}
	if err := ctx.Err(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.sync(touched))...)
}

// drop removes the folder with what is left in it.
func (s *stage) drop() error { return s.home.RemoveAll(s.dir) }
