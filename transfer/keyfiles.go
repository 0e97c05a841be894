package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"reverie/internal/caller"
)

// keyLike tells files named after an old key from all others, which are nobody's
// business here.
var keyLike = regexp.MustCompile(`^([A-Za-z0-9]+_)?(Private|Group|Channel|user|group)_[0-9]+$|^[0-9]+$`)

// files moves what is named after old keys: profiles and folders of notes. The names are
// looked up in the folders and not in the database, so that an interrupted run is made good.
// What cannot be moved is listed and no error: the partitions have moved already.
func (o MigrateOptions) files(r *MigrateReport) error {
	root, err := os.OpenRoot(o.Home) // a symbolic link must not lead out of the home
	if err != nil {
		return err
	}
	defer root.Close()
	placed := map[string]string{}
	for _, m := range r.Moved {
		placed[m.From] = m.To
	}
	f := &keyFiles{root: root, dry: o.DryRun, r: r}
	for _, where := range []struct{ dir, ext string }{{"profile", ".md"}, {"memories/session", ""}} {
		entries, err := fs.ReadDir(root.FS(), where.dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			f.left(where.dir, fmt.Sprintf("not a folder of this home that can be read (%v)", err))
			continue
		}
		for _, e := range entries {
			old, ok := strings.CutSuffix(e.Name(), where.ext)
			if !ok || e.IsDir() != (where.ext == "") || !keyLike.MatchString(old) {
				continue
			}
			if _, current := caller.CurrentKey(old); current {
				continue
			}
			to := placed[old]
			if k, ok := caller.ParseKey(old, "", o.Platform); ok {
				to = k.String()
			}
			from := path.Join(where.dir, e.Name())
			if to == "" {
				f.left(from, why(old, ""))
				continue
			}
			if err := f.move(from, path.Join(where.dir, to+where.ext)); err != nil {
				f.left(from, err.Error())
			}
		}
	}
	return nil
}

type keyFiles struct {
	root *os.Root
	dry  bool
	r    *MigrateReport
}

func (f *keyFiles) left(name, reason string) {
	f.r.Unplaced = append(f.r.Unplaced, Unplaced{File: name, Reason: reason})
}

// move renames a file or folder. Of two folders the files become one folder's; a file
// that stands there already stays, and the other one too unless it is the same.
func (f *keyFiles) move(from, to string) error {
	info, err := f.root.Lstat(from)
	if err != nil {
		return err
	}
	there, err := f.root.Lstat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.rename(from, to)
	case err != nil:
		return err
	case info.IsDir() && there.IsDir():
		return f.join(from, to)
	case !info.Mode().IsRegular() || !there.Mode().IsRegular():
		f.left(from, to+" is there already")
		return nil
	}
	a, err := f.root.ReadFile(from)
	if err != nil {
		return err
	}
	b, err := f.root.ReadFile(to)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		f.left(from, to+" is there already and differs: put together what is worth keeping, remove one, and run this again")
		return nil
	}
	f.r.Files = append(f.r.Files, FileMove{from, to})
	if f.dry {
		return nil
	}
	return f.root.Remove(from)
}

func (f *keyFiles) rename(from, to string) error {
	f.r.Files = append(f.r.Files, FileMove{from, to})
	if f.dry {
		return nil
	}
	if err := f.root.Rename(from, to); err != nil {
		return fmt.Errorf("rename %s: %w", from, err)
	}
	return syncIn(f.root, path.Dir(to))
}

func (f *keyFiles) join(from, to string) error {
	entries, err := fs.ReadDir(f.root.FS(), from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := f.move(path.Join(from, e.Name()), path.Join(to, e.Name())); err != nil {
			return err
		}
	}
	if !f.dry {
		f.root.Remove(from) // stays if something in it stayed
	}
	return nil
}

// syncIn makes what was renamed in a folder below root last through a power cut.
func syncIn(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}
