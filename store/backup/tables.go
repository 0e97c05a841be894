package backup

import "fmt"

// kind is what a column holds.
type kind int

const (
	integer kind = iota
	text
	blob
)

// role is what a restore has to know about a column besides; mostly nothing.
type role int

const (
	// key is part of the primary key.
	key role = iota + 1
	// counted is a primary key that the engine counts up by itself.
	counted
	// space is the row id of an embedding space, which may have another one where it
	// is restored.
	space
	// spaceKey is both.
	spaceKey
)

type column struct {
	name string
	kind kind
	role role
	// null says that the column may be empty; def that it has a default, so that rows of
	// a time before it can be restored.
	null, def bool
}

// table is a table as a backup knows it. The list is not read from the engine, so that
// files of two engines are the same; a test holds it against the schema.
type table struct {
	name string
	part string // column with the partition, if rows belong to one
	cols []column
}

// tables are those that a backup holds, in the order in which they are written and read.
func tables() []table {
	return []table{
		{name: "meta", cols: []column{{name: "name", kind: text, role: key}, {name: "value", kind: blob}}},
		{name: "partitions", part: "key", cols: []column{
			{name: "key", kind: text, role: key}, {name: "version", kind: integer}, {name: "live", kind: integer, def: true},
		}},
		{name: "spaces", cols: []column{
			{name: "id", kind: integer, role: counted}, {name: "fingerprint", kind: text}, {name: "protocol", kind: text},
			{name: "model", kind: text}, {name: "base_url", kind: text, def: true}, {name: "dim", kind: integer},
			{name: "version", kind: text, def: true}, {name: "state", kind: text}, {name: "created_at", kind: integer},
		}},
		{name: "memories", part: "part", cols: []column{
			{name: "rid", kind: integer, role: counted}, {name: "id", kind: text}, {name: "part", kind: text}, {name: "rev", kind: integer},
			{name: "state", kind: text}, {name: "scope", kind: text}, {name: "content", kind: text}, {name: "hash", kind: blob},
			{name: "tags", kind: text, def: true}, {name: "importance", kind: text}, {name: "private", kind: integer, def: true},
			{name: "said_by", kind: text, def: true}, {name: "source", kind: text}, {name: "conversation", kind: text, def: true},
			{name: "created_at", kind: integer}, {name: "updated_at", kind: integer}, {name: "event_time", kind: integer, def: true},
			{name: "superseded_by", kind: text, def: true}, {name: "archived_at", kind: integer, def: true},
			{name: "deleted_at", kind: integer, def: true}, {name: "used_at", kind: integer, def: true}, {name: "seen", kind: integer, def: true},
		}},
		{name: "vectors", cols: []column{{name: "rid", kind: integer, role: key}, {name: "space", kind: integer, role: spaceKey}, {name: "emb", kind: blob}}},
		{name: "pending", cols: []column{{name: "rid", kind: integer, role: key}, {name: "space", kind: integer, role: spaceKey}}},
		{name: "memos", part: "part", cols: []column{
			{name: "part", kind: text, role: key}, {name: "content", kind: text}, {name: "version", kind: integer},
			{name: "updated_at", kind: integer}, {name: "updated_by", kind: text, def: true},
		}},
		{name: "journal", part: "part", cols: []column{
			{name: "seq", kind: integer, role: counted}, {name: "part", kind: text}, {name: "version", kind: integer}, {name: "at", kind: integer},
			{name: "actor", kind: text, def: true}, {name: "role", kind: text, def: true}, {name: "source", kind: text, def: true},
			{name: "conversation", kind: text, def: true}, {name: "run", kind: text, def: true}, {name: "kind", kind: text},
			{name: "object", kind: text}, {name: "action", kind: text}, {name: "before", kind: text, null: true}, {name: "after", kind: text, null: true},
		}},
		{name: "serving", cols: []column{{name: "one", kind: integer, role: key}, {name: "space", kind: integer, role: space}, {name: "generation", kind: integer}}},
		{name: "canaries", cols: []column{{name: "space", kind: integer, role: spaceKey}, {name: "emb", kind: blob}, {name: "checked_at", kind: integer}}},
	}
}

// volatile are the tables that no backup holds: what they say is true for the moment. The
// engines have some of their own besides, such as that of the migrations.
func volatile() []string { return []string{"leases", "outbox"} }

func (c column) isKey() bool { return c.role == key || c.role == counted || c.role == spaceKey }

func (c column) isSpace(t table) bool {
	return c.role == space || c.role == spaceKey || t.name == "spaces" && c.name == "id"
}

// maxCount bounds numbers that count up. One near the end of 64 bits would leave no next
// one, and since they never fall no later restore could take it back.
const maxCount = 1 << 53

// counts reports whether a column holds such a number: ids of rows, versions, generations.
func (c column) counts() bool {
	if c.kind != integer {
		return false
	}
	switch c.name {
	case "version", "rev", "generation":
		return true
	}
	return c.role == counted || c.role == space || c.role == spaceKey
}

// checkCounts holds the numbers of a row that count up to what can be.
func checkCounts(cols []column, values []any) error {
	for i, c := range cols {
		if !c.counts() {
			continue
		}
		if n, ok := values[i].(int64); !ok || n < 0 || n > maxCount {
			return fmt.Errorf("column %s: no number to which anything has counted", c.name)
		}
	}
	return nil
}

// keys are the columns of the primary key.
func (t table) keys() []column {
	var out []column
	for _, c := range t.cols {
		if c.isKey() {
			out = append(out, c)
		}
	}
	return out
}

func (t table) column(name string) (column, bool) {
	for _, c := range t.cols {
		if c.name == name {
			return c, true
		}
	}
	return column{}, false
}

// index is the position of a column among those given, -1 if it is not there.
func index(cols []column, name string) int {
	for i, c := range cols {
		if c.name == name {
			return i
		}
	}
	return -1
}

func tableNamed(name string) (table, bool) {
	for _, t := range tables() {
		if t.name == name {
			return t, true
		}
	}
	return table{}, false
}
