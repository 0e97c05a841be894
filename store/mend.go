package store

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// readable reports whether a row of memories has values that mean something, beyond
// being of the right types.
func readable(t *table, values []any) bool {
	text, _ := t.at(values, "tags").(string)
	var tags []string
	private, _ := t.at(values, "private").(int64)
	return json.Unmarshal([]byte(text), &tags) == nil && tags != nil && (private == 0 || private == 1)
}

// mend puts, in a row of memories, a default in the place of every value that cannot be
// read. It reports false for a row whose id, owner, state, grade or text cannot be read:
// there is no honest default for these.
func mend(t *table, values []any, now time.Time) bool {
	content, _ := t.at(values, "content").(string)
	hash, _ := t.at(values, "hash").([]byte)
	id, _ := t.at(values, "id").(string)
	if !isID(id) || !utf8.ValidString(content) || !bytes.Equal(hash, contentHash(content)) {
		return false
	}
	for i, c := range t.cols {
		if i == t.rowid {
			continue
		}
		_, isInt := values[i].(int64)
		text, isText := values[i].(string)
		isText = isText && utf8.ValidString(text)
		switch c.name {
		case "tags":
			var tags []string
			if !isText || json.Unmarshal([]byte(text), &tags) != nil || tags == nil {
				values[i] = "[]"
			}
		case "private":
			if n, _ := values[i].(int64); !isInt || n < 0 || n > 1 {
				values[i] = int64(1) // the side on which nothing is told to a group
			}
		case "part", "state", "scope", "importance", "source":
			if !isText {
				return false
			}
		case "created_at", "updated_at":
			if !isInt {
				values[i] = now.UnixMicro()
			}
		case "seen":
			if !isInt {
				values[i] = int64(1)
			}
		default:
			switch {
			case c.kind == "INTEGER" && !isInt:
				values[i] = int64(0)
			case c.kind == "TEXT" && !isText:
				values[i] = ""
			}
		}
	}
	return true
}
