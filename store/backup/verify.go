package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// lines calls begin with the columns of a table and fn with each row, as it stands in the
// file and parsed; both are valid until the next. A table that the backup does not have,
// being of a time before it, has no rows; begin is not called then.
func (a *archive) lines(ctx context.Context, t table, begin func([]column) error, fn func(line []byte, values []any) error) error {
	m, ok := a.m.member(tableFile(t.name))
	if !ok {
		return nil
	}
	return a.read(m, func(r io.Reader) error {
		in := bufio.NewScanner(r)
		in.Buffer(make([]byte, 64<<10), maxLine+1024)
		var cols []column
		var values []any
		n := int64(-1)
		for ; in.Scan(); n++ {
			line := in.Bytes()
			if n < 0 {
				var err error
				if cols, err = parseHeader(line, t); err != nil {
					return fmt.Errorf("%w: table %s %w", ErrBroken, t.name, err)
				}
				values = make([]any, len(cols))
				if err := begin(cols); err != nil {
					return err
				}
				continue
			}
			err := parseRow(line, cols, values)
			if err == nil {
				err = checkCounts(cols, values)
			}
			if err != nil {
				return fmt.Errorf("%w: table %s, row %d: %w", ErrBroken, t.name, n+1, err)
			}
			if n%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if err := fn(line, values); err != nil {
				return err
			}
		}
		switch err := in.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return fmt.Errorf("%w: table %s, row %d is longer than %d bytes", ErrBroken, t.name, n+1, maxLine)
		case err != nil:
			return err
		case n != *m.Rows:
			return fmt.Errorf("%w: table %s has %d rows and should have %d", ErrBroken, t.name, max(n, 0), *m.Rows)
		}
		return nil
	})
}

// verify reads everything.
func (a *archive) verify(ctx context.Context, progress func(done, total int64)) error {
	var done, total int64
	for _, m := range a.m.Members {
		total += m.Bytes
	}
	for _, need := range []string{"meta", "partitions", "spaces", "memories", "vectors", "pending", "memos", "journal"} {
		if _, ok := a.m.member(tableFile(need)); !ok { // in every schema that ever was
			return fmt.Errorf("%w: table %s is missing", ErrBroken, need)
		}
	}
	for _, m := range a.m.Members {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if name, ok := strings.CutPrefix(m.Name, tablePrefix); ok {
			t, _ := tableNamed(strings.TrimSuffix(name, ".jsonl"))
			var last int64
			err = a.lines(ctx, t, func([]column) error { return nil }, func(line []byte, _ []any) error {
				if done += int64(len(line)) + 1; progress != nil && done-last > 1<<20 {
					last = done
					progress(done, total)
				}
				return nil
			})
		} else {
			err = a.read(m, func(io.Reader) error { return nil })
			done += m.Bytes
		}
		if err != nil {
			return err
		}
	}
	if progress != nil {
		progress(total, total)
	}
	return nil
}
