package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"reverie/store"
)

// Bounds of one statement for an engine on the other side of a network, in parameters and
// bytes. SQLite gets a row a statement: for more it notes how to undo half a statement,
// which costs several times what is saved.
const (
	maxParams = 2000
	maxBatch  = 1 << 20
)

// backUpAgain is how often the backup of what is there is made anew because somebody
// wrote meanwhile. After that it is made while all who write wait.
const backUpAgain = 2

var errWritten = errors.New("written to since the backup")

// replace makes the home what the backup says: files are staged, all tables are refilled
// in one transaction that leaves a mark, and then the files take their places.
func (x *restoring) replace(ctx context.Context, a *archive) error {
	w, err := x.fileChanges(a.m)
	for _, p := range w.Put {
		if err != nil {
			break
		}
		m, _ := a.m.member(filePrefix + p)
		if err = x.stage.put(a, m, p); err != nil {
			err = fmt.Errorf("stage %s: %w", p, err)
		}
	}
	if err == nil {
		err = x.stage.write(w)
	}
	for try := 0; err == nil; try++ {
		err = x.db.Exclusive(ctx, func(g *gorm.DB) error {
			if err := x.nothingUnseen(ctx, g, try == backUpAgain); err != nil {
				return err
			}
			return x.refill(ctx, g, a)
		})
		if !errors.Is(err, errWritten) {
			break
		}
		err = x.backUp(ctx, x.progress)
	}
	if err != nil {
		// An error at the very end of a transaction may hide that it was stored.
		if id, merr := marked(context.WithoutCancel(ctx), x.db); merr != nil || id != x.id {
			return errors.Join(fmt.Errorf("%w; nothing was changed", err), x.stage.drop())
		}
	}
	// The rows are those of the backup: nothing may end this half way but a crash.
	return x.stage.complete(context.WithoutCancel(ctx), x.db, w)
}

// nothingUnseen makes sure that the backup of what is there has all that the transaction
// is about to remove: what was answered as stored must be in one or the other.
func (x *restoring) nothingUnseen(ctx context.Context, g *gorm.DB, here bool) error {
	now, err := readSnapshot(g)
	switch {
	case err != nil || now == x.seen:
		return err
	case !here:
		return errWritten
	}
	return x.backUp(ctx, func(done, total int64) {
		g.Exec("SELECT 1") // a server ends a transaction in which nothing is asked for
		x.progress(done, total)
	})
}

// refill is the transaction.
func (x *restoring) refill(ctx context.Context, g *gorm.DB, a *archive) error {
	if mine, err := x.lease.Mine(g); err != nil || !mine {
		return errors.Join(err, store.ErrLeaseLost)
	}
	r := &refilling{restoring: x, ctx: ctx, g: g, total: 0}
	for _, m := range a.m.Members {
		if m.Rows != nil {
			r.total += *m.Rows
		}
	}
	if err := r.begin(a); err != nil {
		return err
	}
	for _, t := range tables() {
		x.r.Tables[t.name].Added = a.m.Rows(t.name)
		if err := r.table(a, t); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return r.end(a)
}

// refilling is the refill under way.
type refilling struct {
	*restoring
	ctx         context.Context
	g           *gorm.DB
	now         store.Serving   // what served before
	spaces      map[int64]int64 // row id of a space in the backup to the one here
	oldSpace    int64           // that the table meta of the first schema names as the serving one
	serving     *store.Serving  // of the backup
	done, total int64
}

// begin empties the tables, except that partitions stay, raised and empty, and spaces
// stay: what running servers know by a version or by the row id of a space must never
// come to mean something else.
func (r *refilling) begin(a *archive) error {
	var err error
	if r.now, err = store.ReadServing(r.g); err != nil {
		return err
	}
	if r.spaces, _, err = mapSpaces(r.ctx, r.g, a); err != nil {
		return err
	}
	for _, t := range tables() {
		var n int64
		if err := r.g.Raw("SELECT COUNT(*) FROM " + t.name).Row().Scan(&n); err != nil {
			return err
		}
		r.r.Tables[t.name] = &Counts{Removed: n}
	}
	statements := []string{"UPDATE partitions SET version = version + 1, live = 0", "DELETE FROM outbox"}
	for _, t := range tables() {
		switch t.name {
		case "partitions", "spaces", "serving":
		default:
			statements = append(statements, "DELETE FROM "+t.name)
		}
	}
	for _, s := range statements {
		if err := r.g.Exec(s).Error; err != nil {
			return err
		}
	}
	return nil
}

// insert is the statement that stores rows of a table, up to the first value.
func insert(t table, cols []column) (head, tail string) {
	head = "INSERT INTO " + t.name + " (" + quoted(cols) + ") VALUES "
	switch t.name {
	case "partitions":
		// It was raised already: the version is above what it was here and above the backup's,
		// and a partition that is new here keeps the backup's.
		tail = ` ON CONFLICT ("key") DO UPDATE SET live = excluded.live,
			version = CASE WHEN excluded.version >= partitions.version THEN excluded.version + 1 ELSE partitions.version END`
	case "spaces":
		var set []string
		for _, c := range cols {
			if c.name != "id" {
				set = append(set, `"`+c.name+`" = excluded."`+c.name+`"`)
			}
		}
		tail = ` ON CONFLICT ("id") DO UPDATE SET ` + strings.Join(set, ", ")
	}
	return head, tail
}

// table refills one table.
func (r *refilling) table(a *archive, t table) error {
	var head, tail, row string
	var cols []column
	var args []any
	size, rows := 0, 0
	flush := func() error {
		if rows == 0 {
			return nil
		}
		err := r.g.Exec(head+row+strings.Repeat(","+row, rows-1)+tail, args...).Error
		args, size, rows = args[:0], 0, 0
		return err
	}
	err := a.lines(r.ctx, t, func(cs []column) error {
		cols = cs
		head, tail = insert(t, cols)
		row = "(" + strings.TrimSuffix(strings.Repeat("?,", len(cols)), ",") + ")"
		return nil
	}, func(line []byte, values []any) error {
		if r.done++; r.done%4096 == 0 || r.done == r.total {
			r.progress(r.done, r.total)
		}
		for i, c := range cols {
			if !c.isSpace(t) {
				continue
			}
			id, _ := values[i].(int64)
			here, ok := r.spaces[id]
			if values[i] = here; !ok && t.name != "serving" {
				return nil // of a space that is nowhere: nothing can be compared with it
			}
		}
		if r.special(t, cols, values) {
			return nil
		}
		args = append(args, values...)
		rows++
		if size += len(line); r.engine != store.SQLite && size < maxBatch && len(args)+len(cols) <= maxParams {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// special takes the rows that are not stored as they are.
func (r *refilling) special(t table, cols []column, values []any) bool {
	switch t.name {
	case "serving":
		s := store.Serving{}
		s.Space, _ = values[index(cols, "space")].(int64)
		s.Generation, _ = values[index(cols, "generation")].(int64)
		r.serving = &s
		return true
	case "meta":
		if values[index(cols, "name")] != "space" {
			return values[index(cols, "name")] == restoreMark
		}
		// Where the first schema kept what is the table serving now.
		r.oldSpace = r.spaces[asNumber(values[index(cols, "value")])]
		return true
	}
	return false
}

func asNumber(v any) int64 {
	var n int64
	switch v := v.(type) {
	case int64:
		return v
	case string:
		fmt.Sscan(v, &n)
	case []byte:
		fmt.Sscan(string(v), &n)
	}
	return n
}

// end sets which space serves, begins a new generation, and leaves the mark.
func (r *refilling) end(a *archive) error {
	s := store.Serving{Space: r.oldSpace}
	if r.serving != nil {
		s = *r.serving
	}
	err := r.g.Exec("UPDATE serving SET space = ?, generation = ? WHERE one = 1", s.Space, max(s.Generation, r.now.Generation)).Error
	if err == nil {
		err = store.NextGeneration(r.g)
	}
	if err == nil {
		err = r.g.Exec("INSERT INTO meta (name, value) VALUES (?, ?)", restoreMark, []byte(r.id)).Error
	}
	if err == nil && r.engine == store.Postgres {
		err = recount(r.g)
	}
	return err
}

// recount moves PostgreSQL's counters of row ids behind the rows that were stored with
// theirs; SQLite does so by itself. They never go back, so no id is given twice.
func recount(g *gorm.DB) error {
	for _, t := range tables() {
		for _, c := range t.cols {
			if c.role != counted {
				continue
			}
			var top int64
			if err := g.Raw(`SELECT COALESCE(MAX("` + c.name + `"), 0) FROM ` + t.name).Row().Scan(&top); err != nil {
				return err
			}
			if top == 0 {
				continue
			}
			err := g.Exec("SELECT setval(pg_get_serial_sequence(?, ?), GREATEST(?, nextval(pg_get_serial_sequence(?, ?))))", t.name, c.name, top, t.name, c.name).Error
			if err != nil {
				return fmt.Errorf("count on behind %s %d: %w", c.name, top, err)
			}
		}
	}
	return nil
}
