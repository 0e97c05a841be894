package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"reverie/journal"
	"reverie/memo"
	"reverie/store"
	"reverie/vector"
)

// ImportOptions of [Import]; the zero value is the default of every field.
type ImportOptions struct {
	OnConflict vector.Conflict // default vector.KeepStored; the same for memos
	By         journal.Origin  // for the journal
	DryRun     bool            // say what would happen, store nothing
	// Progress is told how many of how many lines are stored, if it is not nil.
	Progress func(done, total int)
}

// Counts says what became of one kind of thing.
type Counts struct {
	Added    int `json:"added"`
	Known    int `json:"known"`    // there already
	Replaced int `json:"replaced"` // changed in place
	Kept     int `json:"kept"`     // differs from what is stored, which stayed
}

// Refused is a line of an export that cannot be imported.
type Refused struct {
	Line      int    `json:"line"`
	Partition string `json:"partition"`
	ID        string `json:"id,omitempty"`
	Reason    string `json:"reason"`
}

// Over is a partition that holds more than may be written to it.
type Over struct {
	Partition string `json:"partition"`
	Live      int    `json:"live"`
	Limit     int    `json:"limit"`
}

// ImportReport says what an import did, or would do.
type ImportReport struct {
	Partitions int    `json:"partitions"` // taken in, also those where nothing changed
	Memories   Counts `json:"memories"`
	Memos      Counts `json:"memos"`
	Pending    int    `json:"pending"` // memories that wait for a vector
	Left       int    `json:"left"`    // partitions of which nothing was imported, for the refused lines in them
	// Refused lists the first maxRefused lines, RefusedTotal counts all.
	Refused      []Refused `json:"refused,omitempty"`
	RefusedTotal int       `json:"refused_total"`
	OverLimit    []Over    `json:"over_limit,omitempty"`
}

// maxRefused bounds the lines that a report lists.
const maxRefused = 1000

func (r *ImportReport) refuse(x Refused) {
	if r.RefusedTotal++; len(r.Refused) < maxRefused {
		r.Refused = append(r.Refused, x)
	}
}

// take adds what the import of a partition's memories did.
func (r *ImportReport) take(part string, v vector.ImportReport) {
	r.Memories.Added += v.Added
	r.Memories.Known += v.Known
	r.Memories.Replaced += v.Replaced
	r.Memories.Kept += v.Kept
	r.Pending += v.Pending
	if v.Live > v.Limit {
		r.OverLimit = append(r.OverLimit, Over{part, v.Live, v.Limit})
	}
}

// Import reads what [Export] wrote. The file is checked as a whole first: what is not an
// export, or was cut off, is [ErrFormat] and stores nothing. Of a partition with a line
// that cannot be imported nothing is imported; the report lists such lines. An id that
// belongs to another partition of this store is such a line: nothing moves.
//
// Importing the same again changes nothing, so an import that was interrupted is repeated.
func Import(ctx context.Context, db *store.DB, memories Memories, r io.ReadSeeker, o ImportOptions) (ImportReport, error) {
	var out ImportReport
	bad, total, err := survey(ctx, db, r, &out)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return out, fmt.Errorf("import: %w", err)
	}
	in := &importer{db: db, memories: memories, o: o, bad: bad, total: total, report: &out}
	if err := in.run(ctx, r); err != nil {
		return out, fmt.Errorf("import: %w", err)
	}
	out.Left = len(bad)
	return out, nil
}

// importer stores what the survey found good.
type importer struct {
	db          *store.DB
	memories    Memories
	o           ImportOptions
	bad         map[string]bool
	done, total int
	report      *ImportReport
}

func (in *importer) run(ctx context.Context, r io.Reader) error {
	l, err := newLines(r)
	if err != nil {
		return err
	}
	var group []entry
	memos, memories := 0, 0
	for {
		e, err := l.entry(memos, memories)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return fmt.Errorf("the file changed while it was read: %w", err)
		}
		if end || len(group) > 0 && group[0].part != e.part {
			if err := in.partition(ctx, group); err != nil {
				return err
			}
			group = group[:0]
		}
		if end {
			return nil
		}
		if e.memo != nil {
			memos++
		} else {
			memories++
		}
		group = append(group, e)
	}
}

// partition stores the entries of one partition.
func (in *importer) partition(ctx context.Context, group []entry) error {
	if len(group) == 0 {
		return nil
	}
	part := group[0].part
	if !in.bad[part] {
		if err := in.store(ctx, part, group); err != nil {
			return err
		}
	}
	if in.done += len(group); in.o.Progress != nil {
		in.o.Progress(in.done, in.total)
	}
	return nil
}

func (in *importer) store(ctx context.Context, part string, group []entry) error {
	var ms []vector.Memory
	var at []int // the line of each
	var text *memo.Memo
	for _, e := range group {
		if _, err := check(e); err != nil {
			return fmt.Errorf("line %d: the file changed while it was read: %w", e.line, err)
		}
		if e.memo != nil {
			m, _ := e.memo.memo() // checked
			text = &m
			continue
		}
		m, _ := e.memory.memory() // checked
		ms, at = append(ms, m), append(at, e.line)
	}
	v, err := in.memories.Import(ctx, part, ms, vector.ImportOptions{OnConflict: in.o.OnConflict, By: in.o.By, Whole: true, DryRun: in.o.DryRun})
	if err != nil && len(v.Refused) > 0 {
		// Since the survey, another process wrote here.
		in.bad[part] = true
		for _, x := range v.Refused {
			in.report.refuse(Refused{at[x.Index], part, x.ID, x.Reason})
		}
		return nil
	}
	if err != nil {
		return err
	}
	in.report.Partitions++
	in.report.take(part, v)
	if text != nil {
		return in.memo(ctx, part, *text)
	}
	return nil
}

// memo stores a memo as it is, or over another one as its next version.
func (in *importer) memo(ctx context.Context, part string, m memo.Memo) error {
	c, before := &in.report.Memos, in.report.Memos
	err := in.db.Write(ctx, part, func(tx *store.Tx) error {
		*c = before // should the transaction have to begin again
		old, err := readMemo(tx.DB, part)
		if err != nil {
			return err
		}
		change := journal.Change{Kind: journal.KindMemo, Object: part, Action: journal.Create, After: m}
		replace := in.o.OnConflict == vector.ReplaceAll || in.o.OnConflict == vector.ReplaceOlder && m.UpdatedAt.After(old.UpdatedAt)
		switch {
		case old.Version == 0:
			c.Added++
		case old.Content == m.Content:
			c.Known++
			return store.ErrUnchanged
		case !replace && old.Content != "":
			c.Kept++
			return store.ErrUnchanged
		default:
			c.Replaced++
			m.Version = max(m.Version, old.Version+1)
			change.Action, change.Before, change.After = journal.Update, old, m
		}
		if in.o.DryRun {
			return store.ErrUnchanged
		}
		if err := writeMemo(tx.DB, part, m); err != nil {
			return err
		}
		return journal.Append(tx, in.o.By, change)
	})
	if err != nil {
		return fmt.Errorf("memo of %s: %w", part, err)
	}
	return nil
}
