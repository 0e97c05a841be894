package transfer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/vector"
)

// ErrNoPartition means that the store has no partition of that key.
var ErrNoPartition = errors.New("no such partition")

// ExportOptions of [Export]; the zero value exports everything.
type ExportOptions struct {
	Partitions []string // keys; none: all
	NoTrash    bool     // without memories that are in the trash
}

// ExportReport counts what was written.
type ExportReport struct {
	Partitions int      `json:"partitions"`
	Memos      int      `json:"memos"`
	Memories   int      `json:"memories"`
	Problems   []string `json:"problems,omitempty"` // damaged rows that are not in it, or not whole
}

// Export writes memos and memories of one snapshot of the store to w, one JSON object a
// line: first what the file is, then by partition its memo and its memories of every
// state, oldest first, then the counts. The same store gives the same bytes.
//
// Rows that cannot be read are left out and listed. Vectors and the history are not in
// it. An unknown partition is [ErrNoPartition], and nothing is written.
func Export(ctx context.Context, db *store.DB, w io.Writer, o ExportOptions) (r ExportReport, err error) {
	if db.Engine() == store.SQLite {
		r, err = export(ctx, db, w, nil, o)
	} else {
		r, err = exportSpooled(ctx, db, w, o)
	}
	if err != nil {
		return r, fmt.Errorf("export: %w", err)
	}
	return r, nil
}

// exportSpooled keeps everything in a temporary file until it is whole: with a server, a
// read is made again when the connection broke, and w cannot take back what it has.
func exportSpooled(ctx context.Context, db *store.DB, w io.Writer, o ExportOptions) (ExportReport, error) {
	f, err := os.CreateTemp("", "reverie-export-*") // mode 0600
	if err != nil {
		return ExportReport{}, fmt.Errorf("keep it until it is whole: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<16)
	r, err := export(ctx, db, b, func() error {
		b.Reset(f)
		_, err := f.Seek(0, io.SeekStart)
		return errors.Join(err, f.Truncate(0))
	}, o)
	if err != nil {
		return r, err
	}
	if err := b.Flush(); err != nil {
		return r, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return r, err
	}
	_, err = io.Copy(w, f)
	return r, err
}

// export writes to w. begin, if it is not nil, is called before the first line, and again
// when all begins anew.
func export(ctx context.Context, db *store.DB, w io.Writer, begin func() error, o ExportOptions) (r ExportReport, err error) {
	var unwritten error // not the store's error, whatever it looks like
	put := func(v any) error {
		b, err := encode(v)
		if err == nil {
			_, err = w.Write(b)
			unwritten = err
		}
		return err
	}
	err = db.Read(ctx, func(g *gorm.DB) error {
		r = ExportReport{}
		if begin != nil {
			if unwritten = begin(); unwritten != nil {
				return unwritten
			}
		}
		keys, err := partitionKeys(g)
		if err != nil {
			return err
		}
		if len(o.Partitions) > 0 {
			for _, p := range o.Partitions {
				if !slices.Contains(keys, p) {
					return fmt.Errorf("%w: %s (keys look like Local_Private_ID and Local_Group_ID; reverie status lists the largest)", ErrNoPartition, p)
				}
			}
			keys = slices.DeleteFunc(keys, func(k string) bool { return !slices.Contains(o.Partitions, k) })
		}
		if err := put(headLine{formatName, formatVersion}); err != nil {
			return err
		}
		for _, key := range keys {
			before := r.Memos + r.Memories
			if err := exportPartition(g, key, o, &r, put); err != nil {
				return err
			}
			if r.Memos+r.Memories > before {
				r.Partitions++
			}
		}
		return put(endLine{typeEnd, r.Memos, r.Memories})
	})
	return r, cmp.Or(unwritten, err)
}

func exportPartition(g *gorm.DB, key string, o ExportOptions, r *ExportReport, put func(any) error) error {
	m, err := readMemo(g, key)
	switch {
	case err != nil:
		r.Problems = append(r.Problems, err.Error())
	case m.Version > 0 && !utf8.ValidString(m.Content+m.UpdatedBy):
		r.Problems = append(r.Problems, "memo of "+key+": not valid UTF-8")
	case m.Version > 0:
		r.Memos++
		if err := put(memoLine{typeMemo, key, m.Content, m.Version, stamp(m.UpdatedAt), m.UpdatedBy}); err != nil {
			return err
		}
	}
	where, args := "", []any(nil)
	if o.NoTrash {
		where, args = "AND state <> ?", []any{string(vector.Deleted)}
	}
	return eachRow(g, func(m row, err error) error {
		switch {
		case err != nil:
		case !utf8.ValidString(m.Content + m.SaidBy + m.Conversation):
			err = fmt.Errorf("memory %s of %s: not valid UTF-8", m.ID, key)
		}
		if err != nil {
			r.Problems = append(r.Problems, err.Error())
			return nil
		}
		if m.damagedTags {
			r.Problems = append(r.Problems, fmt.Sprintf("memory %s of %s: its tags cannot be read, it is exported without them", m.ID, key))
		}
		r.Memories++
		return put(fromMemory(m.Memory))
	}, key, where, args...)
}
