package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
)

// Report is what [Check] found and what [Salvage] did about it.
type Report struct {
	// Problems are short sentences with a count each; empty when all is well.
	Problems []string `json:"problems"`

	// What follows is filled in by Salvage only.

	Changed bool           `json:"changed"`           // the database was replaced by a repaired one
	Aside   []string       `json:"aside,omitempty"`   // copies of the damaged files
	Read    map[string]int `json:"read,omitempty"`    // rows taken over, by table
	Rebuilt map[string]int `json:"rebuilt,omitempty"` // rows made anew from the journal, by table
	Lost    []string       `json:"lost,omitempty"`    // short sentences about what could not be had back
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// fact is one that holds in every sound database. The query counts what is wrong.
type fact struct {
	sentence, query string
	postgres        string // the query in PostgreSQL's words, if they differ
}

var checks = []fact{
	{sentence: "%d partitions count their live memories wrongly",
		query: `SELECT COUNT(*) FROM partitions p WHERE p.live <> (SELECT COUNT(*) FROM memories m WHERE m.part = p.key AND m.state = 'live')`},
	{sentence: "%d memories belong to no partition",
		query: `SELECT COUNT(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM partitions p WHERE p.key = m.part)`},
	{sentence: "%d memories are newer than their partition",
		query: `SELECT COUNT(*) FROM memories m JOIN partitions p ON p.key = m.part WHERE m.rev > p.version`},
	{sentence: "%d partitions are older than their journal",
		query: `SELECT COUNT(*) FROM partitions p WHERE p.version < (SELECT MAX(j.version) FROM journal j WHERE j.part = p.key)`},
	{sentence: "%d memories have no journal entry",
		query: `SELECT COUNT(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM journal j WHERE j.part = m.part AND j.kind = 'memory' AND j.object = m.id)`},
	{sentence: "%d memories differ from their newest journal entry",
		query: `SELECT COUNT(*) FROM memories m JOIN journal j ON j.seq = (SELECT MAX(n.seq) FROM journal n WHERE n.part = m.part AND n.kind = 'memory' AND n.object = m.id)
		WHERE j.after IS NULL OR NOT json_valid(j.after) OR json_extract(j.after, '$.state') IS DISTINCT FROM m.state OR json_extract(j.after, '$.content') IS DISTINCT FROM m.content`},
	{sentence: "%d memories are in the journal but not in the store",
		query: `SELECT COUNT(*) FROM journal j WHERE j.kind = 'memory' AND j.after IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = j.object)
		AND NOT EXISTS (SELECT 1 FROM journal n WHERE n.part = j.part AND n.kind = 'memory' AND n.object = j.object AND n.seq > j.seq)`},
	{sentence: "%d contents are live more than once in a partition",
		query:    `SELECT COUNT(*) FROM (SELECT 1 FROM memories NOT INDEXED WHERE state = 'live' GROUP BY part, hash, private HAVING COUNT(*) > 1)`,
		postgres: `SELECT COUNT(*) FROM (SELECT 1 FROM memories WHERE state = 'live' GROUP BY part, hash, private HAVING COUNT(*) > 1) AS twice`},
	{sentence: "%d memories have tags that cannot be read",
		query: `SELECT COUNT(*) FROM memories m WHERE typeof(m.tags) = 'text' AND CASE WHEN json_valid(m.tags) AND json_type(m.tags) = 'array'
		THEN EXISTS (SELECT 1 FROM json_each(m.tags) t WHERE t.type <> 'text') ELSE 1 END`,
		postgres: `SELECT COUNT(*) FROM memories m WHERE CASE WHEN json_valid(m.tags) THEN json_typeof(m.tags::json) <> 'array' OR EXISTS (SELECT 1 FROM json_each(m.tags) t WHERE t.type <> 'text') ELSE true END`},
	{sentence: "%d memories are neither private nor not",
		query:    `SELECT COUNT(*) FROM memories WHERE typeof(private) = 'integer' AND private NOT IN (0, 1)`,
		postgres: `SELECT COUNT(*) FROM memories WHERE private NOT IN (0, 1)`},
	{sentence: "%d vectors belong to no memory",
		query: `SELECT COUNT(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.rid = v.rid)`},
	{sentence: "%d vectors belong to no embedding space",
		query: `SELECT COUNT(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = v.space)`},
	{sentence: "%d memories wait for a vector that they have, or do not exist",
		query: `SELECT COUNT(*) FROM pending p WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.rid = p.rid AND v.space = p.space)
		OR NOT EXISTS (SELECT 1 FROM memories m WHERE m.rid = p.rid) OR NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = p.space)`},
	{sentence: "%d rows are missing of the one that says which embedding space serves",
		query: `SELECT 1 - COUNT(*) FROM serving WHERE one = 1 AND (space = 0 OR space IN (SELECT id FROM spaces))`},
	{sentence: "%d memos differ from their newest journal entry, or have none",
		query: `SELECT COUNT(*) FROM memos o LEFT JOIN journal j ON j.seq = (SELECT MAX(n.seq) FROM journal n WHERE n.part = o.part AND n.kind = 'memo')
		WHERE j.after IS NULL OR NOT json_valid(j.after) OR json_extract(j.after, '$.content') IS DISTINCT FROM o.content OR CAST(json_extract(j.after, '$.version') AS TEXT) IS DISTINCT FROM CAST(o.version AS TEXT)`},
	{sentence: "%d memos are in the journal but not in the store",
		query: `SELECT COUNT(DISTINCT j.part) FROM journal j WHERE j.kind = 'memo' AND NOT EXISTS (SELECT 1 FROM memos o WHERE o.part = j.part)`},
}

// Check looks through the database at path, without changing it, for damage of the file
// and for rows that contradict one another. It may run while servers do; on a large
// store it takes seconds. What it finds is in the report; the error is for a check that
// could not be made at all, as on a full disk ([ErrFull]).
func Check(ctx context.Context, path string) (Report, error) {
	if _, err := os.Stat(path); err != nil {
		return Report{}, fmt.Errorf("check database: %w", cmp.Or(orphanLog(path), err))
	}
	lock, err := share(ctx, path, DefaultBusyTimeout, prepare)
	if err != nil {
		return Report{}, fmt.Errorf("check database: %w", err)
	}
	defer lock.release()
	return check(ctx, path)
}

// Check is the function [Check] for a database that is open. With PostgreSQL it reads
// every row and looks for rows that contradict one another; damage of the server's files
// is found as far as it hinders reading.
func (d *DB) Check(ctx context.Context) (Report, error) {
	return d.eng.check(ctx)
}

// check is Check for one who holds the home's lock.
func check(ctx context.Context, path string) (Report, error) {
	r := Report{Problems: []string{}}
	if st, err := os.Stat(path); err != nil {
		return r, fmt.Errorf("check database: %w", err)
	} else if st.IsDir() {
		return r, fmt.Errorf("check database: %w", &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid})
	}
	if err := orphanLog(path); err != nil {
		r.problem("%v", err)
		return r, nil // SQLite would delete the log
	}
	db, err := sql.Open(sqlite.DriverName, sqliteDSN(path, []string{fmt.Sprintf("busy_timeout(%d)", DefaultBusyTimeout/time.Millisecond), "query_only(1)"}, "readonly"))
	if err != nil {
		return r, fmt.Errorf("check database: %w", err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := checkFile(ctx, db, path, &r); err != nil {
		return r, fmt.Errorf("check database: %w", err)
	}
	// One snapshot, so that what servers write meanwhile is no contradiction.
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		if err := unreadable(ctx, path, err); err != nil {
			return r, fmt.Errorf("check database: %w", err)
		}
		r.problem("the rows cannot be read: %v", err)
		return r, nil
	}
	defer tx.Rollback()
	all := append([]fact{}, checks...)
	if types, err := typeFacts(ctx, tx); err == nil {
		all = append(all, types...)
	} // else the schema cannot be read, as the first of the checks will say
	for _, c := range all {
		var n int
		err := tx.QueryRowContext(ctx, c.query).Scan(&n)
		if err := unreadable(ctx, path, err); err != nil {
			return r, fmt.Errorf("check database: %w", err)
		}
		switch {
		case err != nil && len(r.Problems) == 0:
			r.problem("the rows cannot be checked: %v", err)
		case n > 0:
			r.problem(c.sentence, n)
		}
	}
	return r, nil
}

// unreadable tells an error of reading that is no fault of the file, such as a full disk
// on which SQLite cannot make the files that it needs beside it, and says what to do. It
// returns nil for a fault of the file.
func unreadable(ctx context.Context, path string, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	err = classifySQLite(path, err)
	for _, other := range []error{ErrFull, ErrReadOnly, ErrBusy} {
		if errors.Is(err, other) {
			return err
		}
	}
	return nil
}

// typeFacts are that the values of every table have the types of their columns, to which
// SQLite holds nobody. The table meta is left out: its values may be of any type.
func typeFacts(ctx context.Context, q querier) ([]fact, error) {
	tables, err := readTables(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []fact
	for _, t := range tables {
		if t.name == "meta" {
			continue
		}
		var wrong []string
		for _, c := range t.cols {
			allowed := "'" + strings.ToLower(c.kind) + "'"
			if c.nullable {
				allowed += ", 'null'"
			}
			wrong = append(wrong, fmt.Sprintf("typeof(%s) NOT IN (%s)", c.name, allowed))
		}
		out = append(out, fact{sentence: "%d rows of " + t.name + " have a value of the wrong type",
			query: "SELECT COUNT(*) FROM " + t.name + " WHERE " + strings.Join(wrong, " OR ")})
	}
	return out, nil
}

// checkFile looks for damaged pages and indexes that do not fit their tables.
func checkFile(ctx context.Context, db *sql.DB, path string, r *Report) error {
	const most = 1000
	rows, err := db.QueryContext(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", most))
	var found []string
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				found = append(found, line)
			}
		}
		err = rows.Err()
	}
	if err := unreadable(ctx, path, err); err != nil {
		return err
	}
	switch {
	case len(found) > 0:
		first := strings.Join(strings.Fields(strings.TrimPrefix(found[0], "*** in database main ***")), " ")
		r.problem("%d damaged places in the file, the first: %s", len(found), first)
	case err != nil:
		r.problem("the file cannot be read: %v", err)
	}
	return nil
}
