package backup

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"pgregory.net/rapid"

	"reverie/store"
)

// A table or column that a migration adds must be in a backup, or be known as volatile.
func TestTablesAreTheSchema(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "reverie.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type col struct {
		Name, Kind     string
		Null, Def, Key bool
	}
	schema, ours := map[string][]col{}, map[string][]col{}
	err = db.Read(t.Context(), func(g *gorm.DB) error {
		return eachRow(g, `SELECT m.name, c.name, c.type, c."notnull", c.dflt_value IS NOT NULL, c.pk,
			(SELECT COUNT(*) FROM pragma_index_list(m.name) l, pragma_index_info(l.name) i WHERE l."unique" AND l.partial = 0 AND i.cid = c.cid
				AND NOT EXISTS (SELECT 1 FROM pragma_table_info(m.name) p WHERE p.pk > 0))
			FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite~_%' ESCAPE '~' AND m.name <> 'migrations'
			ORDER BY m.name, c.cid`, 7, func(v []any) error {
			name := v[0].(string)
			if slices.Contains(volatile(), name) {
				schema[name] = nil
				return nil
			}
			key := v[5].(int64) > 0 || v[6].(int64) > 0
			schema[name] = append(schema[name], col{v[1].(string), v[2].(string), v[3].(int64) == 0 && !key, v[4].(int64) != 0, key})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[kind]string{integer: "INTEGER", text: "TEXT", blob: "BLOB"}
	for _, tb := range tables() {
		for _, c := range tb.cols {
			ours[tb.name] = append(ours[tb.name], col{c.name, kinds[c.kind], c.null, c.def, c.isKey()})
		}
		if _, ok := tb.column(tb.part); tb.part != "" && !ok {
			t.Errorf("table %s has no column %s", tb.name, tb.part)
		}
	}
	for _, name := range volatile() {
		ours[name] = nil
	}
	if d := cmp.Diff(schema, ours); d != "" {
		t.Errorf("tables of a backup (-schema +backup):\n%s", d)
	}
}

// Whatever a table may hold comes back as it was, byte for byte and type for type.
func TestRowRoundTrip(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.Int64(), func(v int64) any { return v }),
		rapid.Map(rapid.String(), func(v string) any { return v }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(v []byte) any { return v }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(v []byte) any { return string(v) }), // no UTF-8
		rapid.SampledFrom([]any{nil, int64(-1 << 63), int64(1<<63 - 1), "", []byte{}, "\u2028<&\"\\\x00\x7f", "张三", 1.5}),
	)
	rapid.Check(t, func(r *rapid.T) {
		var cols []column
		var values []any
		for range rapid.IntRange(1, 6).Draw(r, "columns") {
			cols = append(cols, column{name: "c", kind: kind(rapid.IntRange(0, 2).Draw(r, "kind")), null: true})
			values = append(values, value.Draw(r, "value"))
		}
		line, err := appendRow(nil, cols, values)
		if err != nil {
			r.Fatal(err)
		}
		if strings.Count(string(line), "\n") != 1 || line[len(line)-1] != '\n' {
			r.Fatalf("a row of several lines: %q", line)
		}
		got := make([]any, len(cols))
		if err := parseRow(line, cols, got); err != nil {
			r.Fatalf("%s: %v", line, err)
		}
		if d := cmp.Diff(values, got); d != "" {
			r.Fatalf("%s (-was +is):\n%s", line, d)
		}
		again, err := appendRow(nil, cols, got)
		if err != nil || string(again) != string(line) {
			r.Fatalf("written again: %s, before %s, %v", again, line, err)
		}
	})
}

func TestBadRows(t *testing.T) {
	cols := []column{{name: "n", kind: integer}, {name: "s", kind: text, null: true}, {name: "b", kind: blob}}
	for name, line := range map[string]string{
		"not JSON": `[1,"a"`, "an object": `{"n":1}`, "too few": `[1,"a"]`, "too many": `[1,"a","YQ==",1]`, "a fraction": `[1.5,"a","YQ=="]`,
		"beyond 64 bits": `[9223372036854775808,"a","YQ=="]`, "an exponent": `[1e3,"a","YQ=="]`, "text for a number": `["1","a","YQ=="]`,
		"a number for text": `[1,2,"YQ=="]`, "no base64": `[1,"a","?"]`, "loose base64": `[1,"a","YR=="]`, "unpadded": `[1,"a","YQ"]`, "null in a key": `[null,"a","YQ=="]`,
		"an odd object": `[1,{"what":1},"YQ=="]`, "a list": `[1,[],"YQ=="]`, "true": `[true,"a","YQ=="]`, "no UTF-8": "[1,\"\xff\",\"YQ==\"]", "escaped base64": `[1,"a","\u0059Q=="]`,
	} {
		if err := parseRow([]byte(line), cols, make([]any, 3)); err == nil {
			t.Errorf("%s is taken: %s", name, line)
		}
	}
}

func TestRestorable(t *testing.T) {
	for p, want := range map[string]bool{
		"config.toml": true, "knowledge_index.json": true, "prompt/a.md.jinja2": true, "memories/session/a:b/x.md": true, "state/张三.json": true, "profile/a/b/c": true,
		".env": false, "reverie.db": false, "backups/x.zip": false, "prompt": false, "config.toml/x": false, "../x": false, "prompt/../x": false, "/etc/passwd": false, "prompt//x": false,
		"prompt/./x": false, `prompt\x`: false, "prompt/x\n": false, "prompt/x.tmp": false, "prompt/.env": false, "state/x.lock": false, "state/x.damaged-1": false, "": false, ".": false,
		"restore-1/x": false, "C:/x": false, "prompt/" + strings.Repeat("x", 2000): false,
	} {
		if got := restorable(p); got != want {
			t.Errorf("restorable(%q) = %v", p, got)
		}
	}
}
