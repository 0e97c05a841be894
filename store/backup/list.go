package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// oldBackups matches the backups that P1, the program before this one, wrote.
const oldBackups = "embed_backup_*.json"

// KindOld is what [List] calls a backup of P1: an embed_backup_*.json.
const KindOld Kind = "p1"

// List returns the backups of a home, newest first, by reading their manifests. One that
// cannot be read is listed with its problem.
func List(home string) ([]Info, error) {
	dir := filepath.Join(home, folder)
	all, err := names(dir)
	if err != nil {
		return nil, err
	}
	out := []Info{}
	for _, b := range all {
		x := Info{Path: filepath.Join(dir, b.name), Name: b.name, Kind: b.kind, CreatedAt: b.at}
		a, err := openArchive(x.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // rotated away since it was listed
		}
		if err == nil {
			x, err = infoOf(x.Path, a.m)
			a.Close()
		}
		if err != nil {
			x.Problem = err.Error()
		}
		out = append(out, x)
	}
	old, err := filepath.Glob(filepath.Join(dir, oldBackups))
	slices.Sort(old)
	slices.Reverse(old)
	for _, path := range old {
		x := Info{Path: path, Name: filepath.Base(path), Kind: KindOld}
		if st, err := os.Stat(path); err == nil {
			x.Bytes, x.CreatedAt = st.Size(), st.ModTime().UTC()
		}
		// embed_backup_20260131_120000.json, in UTC
		if at, err := time.Parse("20060102_150405", strings.TrimSuffix(strings.TrimPrefix(x.Name, "embed_backup_"), ".json")); err == nil {
			x.CreatedAt = at
		}
		out = append(out, x)
	}
	return out, err
}

func infoOf(path string, m *Manifest) (Info, error) {
	st, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	return Info{
		Path: path, Name: filepath.Base(path), Bytes: st.Size(), Kind: m.Kind, CreatedAt: m.CreatedAt, Reason: m.Reason,
		Schema: m.Schema, Engine: m.Engine, Memories: m.Rows("memories"), Files: m.Files(), Left: m.Left,
	}, nil
}

// Locate turns what a person types into the path of a backup: a path, or a name from the
// list of the home's backups. Where both are there, the path counts.
func Locate(home, name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if filepath.Base(name) == name {
		path := filepath.Join(home, folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no backup %s, neither here nor in %s (see: reverie backup list): %w", name, filepath.Join(home, folder), fs.ErrNotExist)
}

// Report is what [Verify] found in a sound backup.
type Report struct {
	Info
	Rows     int64 `json:"rows"`     // of all tables
	Unpacked int64 `json:"unpacked"` // bytes of all members
}

// Verify reads all of a backup and holds it to its manifest: every checksum, the shape of
// every row, every count. It changes nothing and needs no database.
//
// Errors: [ErrForeign], [ErrBroken], [store.ErrNewer], each with what is wrong.
func Verify(ctx context.Context, path string, progress func(done, total int64)) (Report, error) {
	src, err := open(path)
	if err != nil {
		return Report{}, fmt.Errorf("verify backup %s: %w", path, err)
	}
	defer src.Close()
	if src.old != nil {
		st, err := os.Stat(path)
		if err != nil {
			return Report{}, err
		}
		n := int64(len(src.old.rows))
		return Report{Info: Info{Path: path, Name: filepath.Base(path), Bytes: st.Size(), Kind: KindOld, CreatedAt: src.old.at, Memories: n}, Rows: n, Unpacked: st.Size()}, nil
	}
	if err := src.zip.verify(ctx, progress); err != nil {
		return Report{}, fmt.Errorf("verify backup %s: %w", path, err)
	}
	x, err := infoOf(path, src.zip.m)
	r := Report{Info: x}
	for _, m := range src.zip.m.Members {
		r.Unpacked += m.Bytes
		if m.Rows != nil {
			r.Rows += *m.Rows
		}
	}
	return r, err
}
