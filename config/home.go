package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
)

// anotherHome is the next step when the home folder cannot be used.
const anotherHome = "choose another folder with --home DIR or REVERIE_HOME"

// ResolveHome says where the home folder is, as an absolute path, and where that was said: "flag --home",
// "environment REVERIE_HOME" or "default". It touches nothing. A leading ~/ means the user's own folder, because the
// files in which MCP clients set variables are not read by a shell.
func ResolveHome(o Options) (dir, origin string, err error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	switch {
	case o.HomeFlag != "":
		dir, origin = o.HomeFlag, "flag --home"
	case getenv("REVERIE_HOME") != "":
		dir, origin = getenv("REVERIE_HOME"), "environment REVERIE_HOME"
	default:
		base := o.DataHome
		if base == "" {
			base = xdg.DataHome
		}
		dir, origin = filepath.Join(base, "reverie"), "default"
	}
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		own, err := os.UserHomeDir()
		if err != nil {
			return "", "", fmt.Errorf("find home folder %s: %w (%s)", dir, err, anotherHome)
		}
		dir = filepath.Join(own, rest)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", fmt.Errorf("find home folder %s: %w (%s)", dir, err, anotherHome)
	}
	return abs, origin, nil
}

// EnsureHome creates the home folder with mode 0700 if it is missing, and makes sure that files can be written in it.
// An existing folder keeps its mode. Every error says what to do.
func EnsureHome(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create home folder %s: %w (%s)", dir, reason(err), anotherHome)
		}
	case err != nil:
		return fmt.Errorf("open home folder %s: %w (%s)", dir, reason(err), anotherHome)
	case !info.IsDir():
		return fmt.Errorf("home %s is a file, not a folder (%s)", dir, anotherHome)
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("home folder %s cannot be written: %w (%s)", dir, reason(err), anotherHome)
	}
	return nil
}

// reason is err without the path, which the message has already. If another path is to blame, it stays.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s %s: %w", pe.Op, pe.Path, pe.Err)
	}
	return err
}
