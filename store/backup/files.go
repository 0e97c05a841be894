package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// homeFiles are the files of a home that belong into a backup, sorted, and what was left
// out of it that a reader may miss, each with the reason. Symbolic links are not
// followed: what they lead to is not the home's.
func homeFiles(home *os.Root) (files, left []string, err error) {
	view := home.FS()
	for _, r := range roots() {
		// The walk would follow it.
		if st, err := home.Lstat(r); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			left = append(left, r+": a symbolic link, which is not followed")
			continue
		}
		err := fs.WalkDir(view, r, func(p string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // not there, or removed meanwhile
			case err != nil:
				return err
			case d.IsDir():
				if p == r && !restorable(p+"/x") {
					left = append(left, p+": a folder where a file belongs")
					return fs.SkipDir
				}
				return nil
			case d.Type()&fs.ModeSymlink != 0:
				left = append(left, p+": a symbolic link, which is not followed")
			case !d.Type().IsRegular():
				left = append(left, p+": no regular file")
			case passing(path.Base(p)):
			case !restorable(p):
				left = append(left, fmt.Sprintf("%q: a name that cannot be restored everywhere", p))
			default:
				files = append(files, p)
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("look through the files of the home: %w", err)
		}
	}
	slices.Sort(files)
	return files, left, nil
}

// openPlain opens a regular file, and nothing through a symbolic link that leads out of
// the home.
func openPlain(home *os.Root, p string) (*os.File, error) {
	f, err := home.Open(p)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", p)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sumOf is the size and checksum of a file of the home.
func sumOf(home *os.Root, p string) (n int64, sum string, err error) {
	f, err := openPlain(home, p)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// blocked says why a file cannot be put at a path of the home: something in its way is no
// folder, or it is itself something else than a file. Empty if it can.
func blocked(home *os.Root, p string) string {
	for at := path.Dir(p); at != "."; at = path.Dir(at) {
		st, err := home.Lstat(at)
		if err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return at + " is a symbolic link, which is not followed"
		}
		if err == nil && !st.IsDir() {
			return at + " is no folder"
		}
	}
	st, err := home.Lstat(p)
	switch {
	case err != nil || st.Mode().IsRegular():
		return ""
	case st.Mode()&fs.ModeSymlink != 0:
		return p + " is a symbolic link, which is not followed"
	}
	return p + " is no regular file"
}

// parents are the folders above a path within the home, the outermost first.
func parents(p string) []string {
	var out []string
	for i := range p {
		if p[i] == '/' {
			out = append(out, p[:i])
		}
	}
	return out
}

// trimFile is the path of a member that is a file of the home.
func trimFile(member string) (string, bool) { return strings.CutPrefix(member, filePrefix) }
