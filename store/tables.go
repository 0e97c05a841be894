package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode/utf8"
)

// table is what tells the rows of one table from those of all others when nothing else
// does: how many columns of which types. A test holds that no two tables look alike.
type table struct {
	name  string
	cols  []column
	rowid int    // index of the column that is the rowid, -1 if none is
	put   string // the statement that stores a row
}

type column struct {
	name     string
	kind     string // INTEGER, TEXT, BLOB
	nullable bool
}

// newer says which of two versions of one row counts. Only pages of the past, when the
// free list is damaged too, hold second versions.
var newer = map[string]string{
	"memories":   "ON CONFLICT (rid) DO UPDATE SET %s WHERE excluded.rev > memories.rev",
	"partitions": "ON CONFLICT (key) DO UPDATE SET %s WHERE excluded.version > partitions.version",
	"memos":      "ON CONFLICT (part) DO UPDATE SET %s WHERE excluded.version > memos.version",
	// The new database begins with a row of its own.
	"serving": "ON CONFLICT (one) DO UPDATE SET %s WHERE excluded.generation >= serving.generation",
	// Two different vectors of one memory: none is believed, and it is embedded again.
	"vectors": "ON CONFLICT (rid, space) DO UPDATE SET emb = x'' WHERE excluded.emb <> vectors.emb",
}

// querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readTables reads from a database of today's schema what its tables look like. The
// table of migrations is the schema's own business and not among them.
func readTables(ctx context.Context, conn querier) ([]table, error) {
	rows, err := conn.QueryContext(ctx, `SELECT m.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite~_%' ESCAPE '~' AND m.name <> 'migrations' ORDER BY m.name, c.cid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []table
	for rows.Next() {
		var name string
		var c column
		var notNull, pk int
		if err := rows.Scan(&name, &c.name, &c.kind, &notNull, &pk); err != nil {
			return nil, err
		}
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, table{name: name, rowid: -1})
		}
		t := &out[len(out)-1]
		if pk == 1 && c.kind == "INTEGER" {
			t.rowid = len(t.cols)
		}
		c.nullable = notNull == 0 && pk == 0
		t.cols = append(t.cols, c)
	}
	for i := range out {
		out[i].prepare()
	}
	return out, rows.Err()
}

// prepare makes the statement that stores a row.
func (t *table) prepare() {
	var names, set []string
	for _, c := range t.cols {
		names = append(names, c.name)
		set = append(set, c.name+" = excluded."+c.name)
	}
	t.put = fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s) ", t.name, strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1))
	if rule, ok := newer[t.name]; ok {
		t.put += strings.Replace(rule, "%s", strings.Join(set, ", "), 1)
	} else {
		t.put += "ON CONFLICT DO NOTHING"
	}
}

// fits reports whether a record can be a row of the table.
func (t *table) fits(values []any) bool {
	if len(values) != len(t.cols) {
		return false
	}
	for i, c := range t.cols {
		switch v := values[i].(type) {
		case nil:
			if !c.nullable && i != t.rowid {
				return false
			}
		case int64:
			if c.kind != "INTEGER" || i == t.rowid {
				return false
			}
		case string:
			if c.kind != "TEXT" || !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return false
			}
		case []byte:
			if c.kind != "BLOB" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// row returns the arguments of put.
func (t *table) row(rowid int64, values []any) []any {
	if t.rowid >= 0 {
		values[t.rowid] = rowid
	}
	return values
}

// at returns the value of a named column.
func (t *table) at(values []any, name string) any {
	for i, c := range t.cols {
		if c.name == name {
			return values[i]
		}
	}
	return nil
}
