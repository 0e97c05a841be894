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
	"time"

	"reverie/internal/caller"
)

const (
	p1Profile = "user_profile.md"
	p1Index   = "knowledge_index.json"
	p1Backups = "backups"
	// p1MaxFile bounds a file, in bytes: P1 itself has no bound.
	p1MaxFile = 16 << 20
)

var (
	// p1Knowledge is P1's rule for the names of knowledge entries.
	p1Knowledge = regexp.MustCompile(`^KNOWLEDGE_[0-9a-f]{8}\.md$`)
	// fileID is what an id may be made of to name a file on every system.
	fileID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9@.+-]*$`)
)

// p1File is a file that was read and where it goes, below the home.
type p1File struct {
	from, to string
	data     []byte
	at       time.Time
}

// readFiles reads the profile and the knowledge base.
func (p *p1Import) readFiles() ([]p1File, error) {
	if p.o.DataDir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(p.o.DataDir) // a symbolic link must not lead out of it
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out []p1File
	add := func(from, to string) {
		f, err := readP1(root, from)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			p.skip(from, err.Error())
		case to == "":
			p.skip(from, "whose profile is it? --profile-user says it")
		default:
			f.from, f.to = from, to
			out = append(out, f)
		}
	}
	to, err := p.profile()
	if err != nil {
		return nil, err
	}
	add(p1Profile, to)
	add(p1Index, p1Index)
	entries, err := fs.ReadDir(root.FS(), "knowledge")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		name := path.Join("knowledge", e.Name())
		if !p1Knowledge.MatchString(e.Name()) {
			p.skip(name, "not a name that knowledge entries have")
			continue
		}
		add(name, name)
	}
	backups, _ := fs.Glob(root.FS(), path.Join(p1Backups, "embed_backup_*.json"))
	if len(backups) > 0 {
		p.skip(p1Backups, fmt.Sprintf("%d backups of the collection, the newest %s: their memories come in with reverie backup restore", len(backups), path.Base(backups[len(backups)-1])))
	}
	return out, nil
}

func (p *p1Import) skip(name, reason string) {
	p.r.Skipped = append(p.r.Skipped, P1Left{name, reason})
}

// profile is the name of the profile's file here, empty if nobody said whose it is.
func (p *p1Import) profile() (string, error) {
	if p.o.ProfileUser == "" {
		return "", nil
	}
	k, ok := caller.ParseKey(p.o.ProfileUser, string(caller.ScopeUser), p.o.Platform)
	if !ok {
		k = caller.Key{Platform: p.o.Platform, Kind: caller.KindPrivate, ID: p.o.ProfileUser}
		if k.Platform == "" {
			k.Platform = caller.P1Platform
		}
	}
	if k.Kind != caller.KindPrivate || !fileID.MatchString(k.ID) {
		return "", fmt.Errorf("%w: a profile belongs to one person, and the id is to name a file: %q does not", caller.ErrInvalid, clip(p.o.ProfileUser))
	}
	return path.Join("profile", k.String()+".md"), nil
}

func readP1(root *os.Root, name string) (p1File, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return p1File{}, err
	case info.Mode()&fs.ModeSymlink != 0:
		return p1File{}, errors.New("a symbolic link")
	case !info.Mode().IsRegular():
		return p1File{}, errors.New("not a regular file")
	case info.Size() > p1MaxFile:
		return p1File{}, fmt.Errorf("%d bytes; the limit is %d", info.Size(), p1MaxFile)
	}
	data, err := root.ReadFile(name)
	return p1File{data: data, at: info.ModTime()}, err
}

// copyFiles copies the files byte for byte. What is there and differs stays.
func (p *p1Import) copyFiles(files []p1File) error {
	if p.o.Home == "" || len(files) == 0 {
		return nil
	}
	home, err := os.OpenRoot(p.o.Home)
	if err != nil {
		return err
	}
	defer home.Close()
	for _, f := range files {
		had, err := home.ReadFile(f.to)
		switch {
		case err == nil && bytes.Equal(had, f.data):
			p.r.Same++
			continue
		case err == nil:
			p.r.Differ = append(p.r.Differ, f.to)
			continue
		case errors.Is(err, fs.ErrNotExist) && p.o.DryRun:
			err = nil
		case errors.Is(err, fs.ErrNotExist):
			err = writeIn(home, f.to, f.data, f.at)
		}
		if err != nil {
			p.skip(f.from, strings.TrimSpace(err.Error()))
			continue
		}
		p.r.Copied = append(p.r.Copied, f.to)
	}
	return nil
}
