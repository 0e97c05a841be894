package backup

import (
	"bytes"
	"context"
	"fmt"

	"gorm.io/gorm"

	"reverie/store"
)

// planBatch is how many rows are looked up in one query.
const planBatch = 200

// Plan says what [Restore] with these options would change. It verifies the backup as
// Restore does, and changes nothing.
func Plan(ctx context.Context, db *store.DB, home, path string, o RestoreOptions) (Changes, error) {
	x, src, err := prepare(ctx, db, home, path, o)
	if err != nil {
		return Changes{}, fmt.Errorf("plan the restore of %s: %w", path, err)
	}
	defer x.root.Close()
	defer src.Close()
	x.dry = true
	switch {
	case src.old != nil:
		err = x.restoreOld(ctx, src.old)
	case x.o.Mode == Merge:
		err = x.merge(ctx, src.zip)
	default:
		err = x.plan(ctx, src.zip)
	}
	if err != nil {
		return Changes{}, fmt.Errorf("plan the restore of %s: %w", path, err)
	}
	return x.r.Changes, nil
}

// plan compares every row of a backup with what is there.
func (x *restoring) plan(ctx context.Context, a *archive) error {
	err := x.db.Read(ctx, func(g *gorm.DB) error {
		x.r.Changes = newChanges(x.r.File, x.r.Mode, x.r.CreatedAt) // a read may be made again
		for _, t := range tables() {
			if t.name == "serving" {
				continue // one row, which is always there
			}
			if err := x.planTable(ctx, g, a, t); err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = x.fileChanges(a.m)
	return err
}

func (x *restoring) planTable(ctx context.Context, g *gorm.DB, a *archive, t table) error {
	present := map[string]int64{} // rows by partition, "" for tables without
	total := int64(0)
	if t.part == "" || t.name == "partitions" {
		var n int64
		if err := g.Raw("SELECT COUNT(*) FROM " + t.name + where(t)).Row().Scan(&n); err != nil {
			return err
		}
		present[""], total = n, n
	} else {
		err := eachRow(g, `SELECT "`+t.part+`", COUNT(*) FROM `+t.name+` GROUP BY "`+t.part+`"`, 2, func(v []any) error {
			n, _ := v[1].(int64)
			present[fmt.Sprint(v[0])] += n
			total += n
			return nil
		})
		if err != nil {
			return err
		}
	}
	c := &comparison{x: x, g: g, t: t, found: present, nothing: total == 0, shown: t.name == "memories" || t.name == "memos"}
	err := a.lines(ctx, t, func(cols []column) error {
		c.cols, c.at = cols, index(cols, t.part)
		if t.name == "partitions" {
			c.at = -1
		}
		return nil
	}, c.take)
	if err == nil {
		err = c.compare()
	}
	if err != nil {
		return err
	}
	for part, n := range present {
		c.count(part, Counts{Removed: n})
	}
	return nil
}

// comparison counts the rows of one table.
type comparison struct {
	x       *restoring
	g       *gorm.DB
	t       table
	cols    []column
	at      int              // column with the partition, -1 if there is none
	found   map[string]int64 // rows there of which the backup has none yet, by partition
	nothing bool             // is there: every row is a new one
	shown   bool             // by partition
	lines   map[string]theirs
	first   []any // of the batch, values of the first column of the primary key
}

type theirs struct {
	line []byte
	part string
}

func (c *comparison) count(part string, n Counts) {
	if !c.shown {
		part = ""
	}
	c.x.r.count(c.t.name, part, n)
}

func (c *comparison) key(values []any) string {
	var b []byte
	for _, k := range c.t.keys() {
		b, _ = appendValue(append(b, ','), k.kind, values[index(c.cols, k.name)])
	}
	return string(b)
}

func (c *comparison) take(line []byte, values []any) error {
	if c.lines == nil {
		c.lines = map[string]theirs{}
	}
	part := ""
	if c.at >= 0 {
		part = fmt.Sprint(values[c.at])
	}
	c.lines[c.key(values)] = theirs{append(bytes.Clone(line), '\n'), part}
	c.first = append(c.first, values[index(c.cols, c.t.keys()[0].name)])
	if len(c.first) < planBatch {
		return nil
	}
	return c.compare()
}

// compare looks the batch up, and counts.
func (c *comparison) compare() error {
	var err error
	if len(c.first) > 0 && !c.nothing {
		query := "SELECT " + quoted(c.cols) + " FROM " + c.t.name + ` WHERE "` + c.t.keys()[0].name + `" IN ?`
		err = eachRow(c.g, query, len(c.cols), c.match, c.first)
	}
	for _, their := range c.lines {
		c.count(their.part, Counts{Added: 1})
	}
	clear(c.lines)
	c.first = c.first[:0]
	return err
}

// match counts a row that is there, if the batch has one of the same key.
func (c *comparison) match(values []any) error {
	k := c.key(values)
	their, ok := c.lines[k]
	if !ok {
		return nil
	}
	delete(c.lines, k)
	ours := ""
	if c.at >= 0 {
		ours = fmt.Sprint(values[c.at])
	}
	c.found[ours]--
	line, err := appendRow(nil, c.cols, values)
	if err != nil {
		return err
	}
	if bytes.Equal(line, their.line) {
		c.count(their.part, Counts{Kept: 1})
	} else {
		c.count(their.part, Counts{Replaced: 1})
	}
	return nil
}
