package backup

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// folder is where a home keeps its backups.
const folder = "backups"

const stamp = "20060102T150405.000Z"

var fileName = regexp.MustCompile(`^reverie-(\d{8}T\d{6}\.\d{3}Z)(?:-(\d+))?-(manual|auto)\.zip$`)

// nameOf is the file name of the n-th backup of a millisecond, counted from 0.
func nameOf(at time.Time, n int, k Kind) string {
	count := ""
	if n > 0 {
		count = "-" + strconv.Itoa(n)
	}
	return fmt.Sprintf("reverie-%s%s-%s.zip", at.UTC().Format(stamp), count, k)
}

// parseName takes a file name apart; ok is false for files that are no backups.
func parseName(name string) (at time.Time, n int, k Kind, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return at, 0, "", false
	}
	at, err := time.Parse(stamp, m[1])
	if m[2] != "" {
		n, _ = strconv.Atoi(m[2])
	}
	return at, n, Kind(m[3]), err == nil
}

// roots are what of a home is truth or settings: files by their names, folders with all
// that is in them. What is not listed here is in no backup, so that a key or a lock that
// somebody puts into the home does not get into one.
func roots() []string {
	return []string{"config.toml", "prompt", "knowledge", "knowledge_index.json", "profile", "memories", "state"}
}

// restorable reports whether a backup may hold a file of this path, which is relative to
// the home and has slashes. It does not look at the disk.
func restorable(p string) bool {
	if !fs.ValidPath(p) || len(p) > 1024 || strings.ContainsFunc(p, unicode.IsControl) || strings.Contains(p, `\`) || !filepath.IsLocal(filepath.FromSlash(p)) {
		return false
	}
	first, _, inside := strings.Cut(p, "/")
	for _, r := range roots() {
		if first == r {
			return inside == (path.Ext(r) == "") && !passing(path.Base(p))
		}
	}
	return false
}

// passing reports whether a file name is one of something that passes: locks, half-written
// files, what was put aside as damaged, and files with keys.
func passing(base string) bool {
	ext := path.Ext(base)
	switch ext {
	case ".tmp", ".lock", ".part", ".damaged", ".env":
		return true
	}
	return strings.HasPrefix(ext, ".damaged-")
}
