package evalset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrFormat is wrapped by the errors about lines that are not what they should be.
var ErrFormat = errors.New("bad evaluation data")

// Doc is a text that may be found.
type Doc struct {
	Corpus   string `json:"corpus"`
	ID       string `json:"id"`
	Text     string `json:"text"`
	Time     string `json:"time"`
	Caption  string `json:"caption"`
	UserText string `json:"user_text"`
}

// Conversation names the conversation a text was said in, "" if it stands
// alone: ids of the form D3:7 are turns of conversation D3; texts that tell
// what the user said in them are exchanges, and those of one day belong together.
func (d Doc) Conversation() string {
	if name, turn, ok := strings.Cut(d.ID, ":"); ok && name != "" && turn != "" {
		return name
	}
	if d.UserText != "" {
		return d.Time
	}
	return ""
}

// When is the time of a text, zero if it has none or it cannot be read.
func (d Doc) When() time.Time {
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime, "3:04 pm on 2 January, 2006"} {
		if t, err := time.Parse(layout, d.Time); err == nil {
			return t
		}
	}
	return time.Time{}
}

// Query is a question with the ids of the texts that answer it.
type Query struct {
	Corpus   string   `json:"corpus"`
	ID       string   `json:"qid"`
	Text     string   `json:"query"`
	Gold     []string `json:"gold"`
	Category string   `json:"category"`
	Lang     string   `json:"lang"`
}

// maxLine bounds a line of a file, in bytes.
const maxLine = 16 << 20

// ReadDocs reads a corpus. name stands for it in errors.
func ReadDocs(r io.Reader, name string) ([]Doc, error) {
	seen := make(map[[2]string]int)
	return readLines(r, name, func(d *Doc, line int) error {
		switch {
		case d.Corpus == "":
			return errors.New("corpus is missing")
		case d.ID == "":
			return errors.New("id is missing")
		case strings.TrimSpace(d.Text) == "":
			return errors.New("text is missing")
		}
		key := [2]string{d.Corpus, d.ID}
		if at, ok := seen[key]; ok {
			return fmt.Errorf("id %q of corpus %q is on line %d already", d.ID, d.Corpus, at)
		}
		seen[key] = line
		return nil
	})
}

// ReadQueries reads questions. name stands for them in errors.
func ReadQueries(r io.Reader, name string) ([]Query, error) {
	return readLines(r, name, func(q *Query, _ int) error {
		switch {
		case q.Corpus == "":
			return errors.New("corpus is missing")
		case strings.TrimSpace(q.Text) == "":
			return errors.New("query is missing")
		case len(q.Gold) == 0:
			return errors.New("gold is missing")
		}
		return nil
	})
}

func readLines[T any](r io.Reader, name string, check func(*T, int) error) ([]T, error) {
	var out []T
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" {
			continue
		}
		var t T
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w: %w", name, n, ErrFormat, err)
		}
		if err := check(&t, n); err != nil {
			return nil, fmt.Errorf("%s:%d: %w: %w", name, n, ErrFormat, err)
		}
		out = append(out, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w: no lines", name, ErrFormat)
	}
	return out, nil
}

// file is a file of a folder, read.
type file[T any] struct {
	stem  string // without folder and suffix
	lines []T
}

func readFiles[T any](dir, suffix string, read func(io.Reader, string) ([]T, error)) ([]file[T], error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		return nil, err
	}
	files := make([]file[T], len(names))
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		lines, err := read(f, filepath.Base(name))
		f.Close()
		if err != nil {
			return nil, err
		}
		files[i] = file[T]{strings.TrimSuffix(filepath.Base(name), suffix), lines}
	}
	return files, nil
}
