package backup

import (
	"archive/zip"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"

	"gorm.io/gorm"

	"reverie/store"
)

// writer writes the members and keeps the manifest.
type writer struct {
	f           *os.File
	z           *zip.Writer
	m           *Manifest
	progress    func(done, total int64)
	done, total int64
	seen        snapshot
	unwritten   error // of the file
}

// Write writes to the file, and remembers its error: one that passes through the store
// would be taken for the database's.
func (w *writer) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	if err != nil {
		w.unwritten = err
	}
	return n, err
}

// snapshot tells one state of the store from a later one: versions only rise. Damaged ones
// must not keep a backup from being made, whatever sum they have.
type snapshot struct{ partitions, versions, generation int64 }

func readSnapshot(g *gorm.DB) (s snapshot, err error) {
	err = g.Raw(`SELECT COUNT(*), CAST(COALESCE(SUM(version % 1000000007), 0) AS BIGINT),
		CAST(COALESCE((SELECT generation FROM serving WHERE one = 1), 0) AS BIGINT) FROM partitions`).Row().Scan(&s.partitions, &s.versions, &s.generation)
	return s, err
}

// begin begins the file anew.
func (w *writer) begin() error {
	if err := w.f.Truncate(0); err != nil {
		return err
	}
	if _, err := w.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w.z = zip.NewWriter(w)
	w.z.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestSpeed) })
	w.m.Members, w.done, w.total = []Member{}, 0, 0
	return nil
}

func (w *writer) all(ctx context.Context, db *store.DB, home string) error {
	err := db.Read(ctx, func(g *gorm.DB) error {
		// A read may be made again, when the connection to a server broke.
		err := w.begin()
		if err != nil {
			return err
		}
		if w.seen, err = readSnapshot(g); err != nil {
			return err
		}
		if w.progress != nil {
			for _, t := range tables() {
				var n int64
				if err := g.Raw("SELECT COUNT(*) FROM " + t.name).Row().Scan(&n); err != nil {
					return err
				}
				w.total += n
			}
		}
		for _, t := range tables() {
			if err := w.table(ctx, g, t); err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
		return nil
	})
	if w.unwritten != nil {
		return w.unwritten
	}
	if err != nil {
		return err
	}
	if err := w.files(ctx, home); err != nil {
		return err
	}
	doc, sum, err := w.m.encode()
	if err != nil {
		return err
	}
	for _, x := range []struct {
		name string
		data []byte
	}{{manifestName, doc}, {sumName, sum}} {
		out, err := w.create(x.name)
		if err == nil {
			_, err = out.Write(x.data)
		}
		if err != nil {
			return err
		}
	}
	return w.z.Close()
}

func (w *writer) create(name string) (io.Writer, error) {
	return w.z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.m.CreatedAt})
}

// summed counts and sums what passes.
type summed struct {
	w io.Writer
	h hash.Hash
	n int64
}

func (s *summed) Write(b []byte) (int, error) {
	s.h.Write(b)
	s.n += int64(len(b))
	return s.w.Write(b)
}

// member writes one member by fill and notes it in the manifest.
func (w *writer) member(name string, fill func(io.Writer) (rows *int64, err error)) error {
	out, err := w.create(name)
	if err != nil {
		return err
	}
	s := &summed{w: out, h: sha256.New()}
	rows, err := fill(s)
	if err != nil {
		return err
	}
	w.m.Members = append(w.m.Members, Member{Name: name, Rows: rows, Bytes: s.n, SHA256: hex.EncodeToString(s.h.Sum(nil))})
	return nil
}

func (w *writer) table(ctx context.Context, g *gorm.DB, t table) error {
	return w.member(tableFile(t.name), func(out io.Writer) (*int64, error) {
		n, line := int64(0), []byte(nil)
		head, err := json.Marshal(columnNames(t.cols))
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(append(head, '\n')); err != nil {
			return nil, err
		}
		err = eachRow(g, "SELECT "+quoted(t.cols)+" FROM "+t.name+where(t)+" ORDER BY "+quoted(t.keys()), len(t.cols), func(values []any) error {
			if line, err = appendRow(line[:0], t.cols, values); err != nil {
				return fmt.Errorf("row %d: %w", n+1, err)
			}
			if len(line) > maxLine {
				return fmt.Errorf("row %d has %d bytes; a backup takes at most %d a row", n+1, len(line), maxLine)
			}
			n++
			w.advance(n)
			if n%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			_, err := out.Write(line)
			return err
		})
		return &n, err
	})
}

func (w *writer) advance(n int64) {
	if w.done++; w.progress != nil && (n == 1 || w.done%4096 == 0 || w.done == w.total) {
		w.progress(w.done, w.total)
	}
}

// where leaves out the row by which a restore is completed.
func where(t table) string {
	if t.name == "meta" {
		return " WHERE name <> '" + restoreMark + "'"
	}
	return ""
}

// eachRow calls fn with the values of each row of a query. They are the same slice.
func eachRow(g *gorm.DB, query string, columns int, fn func([]any) error, args ...any) error {
	rows, err := g.Raw(query, args...).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	values, into := make([]any, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := fn(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (w *writer) files(ctx context.Context, home string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	files, left, err := homeFiles(root)
	if err != nil {
		return err
	}
	w.m.Left = left
	for _, p := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := openPlain(root, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since it was listed
		}
		if err != nil {
			return fmt.Errorf("file %s: %w", p, err)
		}
		err = w.member(filePrefix+p, func(out io.Writer) (*int64, error) {
			_, err := io.Copy(out, f)
			return nil, err
		})
		f.Close()
		if err != nil {
			return fmt.Errorf("file %s: %w", p, err)
		}
	}
	return nil
}

func columnNames(cols []column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.name
	}
	return out
}

// quoted lists columns for SQL. The quotes are standard; some of the names are words of
// one engine or the other.
func quoted(cols []column) string { return `"` + strings.Join(columnNames(cols), `", "`) + `"` }
