package backup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"reverie/store"
)

// fileChanges compares the files of a backup with those of the home, notes what is to be
// done, and returns it.
func (x *restoring) fileChanges(m *Manifest) (swaps, error) {
	var w swaps
	have, left, err := homeFiles(x.root)
	if err != nil {
		return w, err
	}
	for _, l := range left {
		x.r.note("left alone: %s", l)
	}
	f := &x.r.Files
	theirs := map[string]bool{}
	for _, member := range m.Members {
		p, ok := trimFile(member.Name)
		if !ok {
			continue
		}
		theirs[p] = true
		if why := blocked(x.root, p); why != "" {
			x.r.note("%s is not restored: %s", p, why)
			continue
		}
		n, sum, err := sumOf(x.root, p)
		missing := errors.Is(err, fs.ErrNotExist)
		switch {
		case err != nil && !missing:
			return w, fmt.Errorf("file %s: %w", p, err)
		case p == "config.toml" && x.keepsConfig(m, missing):
			x.r.note("config.toml is not restored: it says where the data is, and the backup is of another place (%s here, %s there)", x.engine, clip(m.Engine))
		case missing:
			f.Added, w.Put = append(f.Added, p), append(w.Put, p)
		case n == member.Bytes && sum == member.SHA256:
			f.Kept++
		case x.o.Mode == Merge:
			f.Differ = append(f.Differ, p)
		default:
			f.Replaced, w.Put = append(f.Replaced, p), append(w.Put, p)
		}
	}
	if x.o.Mode == Replace {
		for _, p := range have {
			if !theirs[p] && !(p == "config.toml" && x.keepsConfig(m, false)) {
				f.Removed, w.Remove = append(f.Removed, p), append(w.Remove, p)
			}
		}
	}
	for _, list := range []*[]string{&f.Added, &f.Replaced, &f.Removed, &f.Differ} {
		slices.SortFunc(*list, cmp.Compare[string])
	}
	return w, nil
}

// keepsConfig reports whether config.toml stays as it is, or missing: the one of the
// backup may name a database, and the next start would look there and find none of what
// was restored.
func (x *restoring) keepsConfig(m *Manifest, missing bool) bool {
	return m.Engine != x.engine || m.Engine != store.SQLite && !missing
}
