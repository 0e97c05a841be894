package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// p2PluginDir is where the bot keeps P2's data, below its own data folder.
	p2PluginDir = "plugin_data/astrbot_plugin_memory_beyond"
	// p2MaxNote is the size up to which P2 itself writes notes, in bytes.
	p2MaxNote = 64 << 10
	// p2MaxState bounds a state file, in bytes: a summary and some numbers.
	p2MaxState = 4 << 20
	p2Index    = "MEMORY.md"
)

// p2Name is P2's rule for the names of notes.
var p2Name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,117}\.md$`)

// ErrNoNotes means that a folder holds no notes of P2.
var ErrNoNotes = errors.New("no notes here")

// p2Source is P2's data folder.
type p2Source struct {
	root  *os.Root
	notes string // the folder of notes, below root
	whole bool   // root is the data folder that was given, not one above it
}

// openP2 finds the folder of notes at, or below, what was given: the plugin's data folder,
// the folder memories in it, or a data folder of the bot.
func openP2(dir string) (p2Source, error) {
	for _, below := range []string{"", p2PluginDir, "data/" + p2PluginDir} {
		base := filepath.Join(dir, filepath.FromSlash(below))
		if isDir(filepath.Join(base, "memories")) {
			root, err := os.OpenRoot(base)
			return p2Source{root, "memories", true}, err
		}
	}
	if isDir(filepath.Join(dir, "session")) || isDir(filepath.Join(dir, "global")) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return p2Source{}, err
		}
		root, err := os.OpenRoot(filepath.Dir(abs)) // beside it is the folder state
		return p2Source{root, filepath.Base(abs), false}, err
	}
	return p2Source{}, fmt.Errorf("%w: %s has no folder memories (usual place: data/%s)", ErrNoNotes, dir, p2PluginDir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// others lists what is in the folders and not looked at: whoever trusts that everything
// was taken over may delete it.
func (s p2Source) others(r *P2Report) error {
	for dir, known := range map[string][]string{".": {s.notes, "state"}, s.notes: {"global", "session"}} {
		if dir == "." && !s.whole {
			continue
		}
		entries, err := fs.ReadDir(s.root.FS(), dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if slices.Contains(known, e.Name()) {
				continue
			}
			name, what := path.Join(dir, e.Name()), "file"
			if e.IsDir() {
				name, what = name+"/", "folder"
			}
			r.Skipped = append(r.Skipped, P2Left{name, "not a " + what + " that is taken over: those are memories/global, memories/session and state"})
		}
	}
	return nil
}

// p2File is a file that was read.
type p2File struct {
	folder string // of the chat; empty for global notes
	name   string // of the file
	to     string // where it goes in the home
	data   []byte
	at     time.Time // when it was last changed
}

// list reads what may be read below a folder, and lists what may not.
func (s p2Source) list(dir string, rule func(name string) bool, most int64, r *P2Report) ([]p2File, error) {
	entries, err := fs.ReadDir(s.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []p2File
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		data, at, err := s.read(name, e, rule, most)
		if err != nil {
			r.Skipped = append(r.Skipped, P2Left{name, err.Error()})
			continue
		}
		out = append(out, p2File{name: e.Name(), data: data, at: at})
	}
	return out, nil
}

func (s p2Source) read(name string, e fs.DirEntry, rule func(string) bool, most int64) ([]byte, time.Time, error) {
	info, err := s.root.Lstat(name)
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, time.Time{}, errors.New("a symbolic link")
	case info.IsDir():
		return nil, time.Time{}, errors.New("a folder where files are expected")
	case !info.Mode().IsRegular():
		return nil, time.Time{}, errors.New("not a regular file")
	case !rule(e.Name()):
		return nil, time.Time{}, errors.New("not a name that the notes have")
	case info.Size() > most:
		return nil, time.Time{}, fmt.Errorf("%d bytes; the limit is %d", info.Size(), most)
	}
	data, err := s.root.ReadFile(name)
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case int64(len(data)) > most:
		return nil, time.Time{}, fmt.Errorf("more than %d bytes", most)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, time.Time{}, errors.New("not a text in UTF-8")
	}
	return data, info.ModTime(), nil
}

// keep copies a file into the home byte for byte. What is there and differs stays.
func (p *p2Import) keep(f p2File) {
	if p.home == nil {
		return
	}
	had, err := p.home.ReadFile(f.to)
	switch {
	case err == nil && bytes.Equal(had, f.data):
		p.r.Same++
		return
	case err == nil:
		p.r.Differ = append(p.r.Differ, f.to)
		return
	case errors.Is(err, fs.ErrNotExist) && p.o.DryRun:
		p.r.Copied++
		return
	case errors.Is(err, fs.ErrNotExist):
		err = writeIn(p.home, f.to, f.data, f.at)
	}
	if err != nil {
		p.r.Skipped = append(p.r.Skipped, P2Left{f.to, err.Error()})
		return
	}
	p.r.Copied++
}

// writeIn makes a file that does not exist, with the time of the original.
func writeIn(root *os.Root, name string, data []byte, at time.Time) (err error) {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp := path.Join(dir, ".import-"+strings.ToLower(path.Base(name))+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			root.Remove(temp)
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = root.Chtimes(temp, at, at); err != nil {
		return err
	}
	if err = root.Rename(temp, name); err != nil || runtime.GOOS == "windows" {
		return err
	}
	return syncIn(root, dir)
}
