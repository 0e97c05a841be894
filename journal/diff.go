package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Diff says in short lines what an entry changed: "- field: old" and "+ field: new" for
// each top-level field of the object that differs, in the order of their names. Times
// of bookkeeping (updated_at, last_used_at) are left out.
func Diff(e Entry) []string {
	before, after := fields(e.Before), fields(e.After)
	names := []string{}
	for k := range before {
		names = append(names, k)
	}
	for k := range after {
		if _, ok := before[k]; !ok {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	var out []string
	for _, k := range names {
		if k == "updated_at" || k == "last_used_at" || bytes.Equal(before[k], after[k]) {
			continue
		}
		if v, ok := before[k]; ok {
			out = append(out, fmt.Sprintf("- %s: %s", k, show(v)))
		}
		if v, ok := after[k]; ok {
			out = append(out, fmt.Sprintf("+ %s: %s", k, show(v)))
		}
	}
	return out
}

func fields(raw json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if len(raw) > 0 {
		// A damaged entry has no fields to show, which the caller sees by itself.
		_ = json.Unmarshal(raw, &m)
	}
	return m
}

// show prints a string without quotes, on one line.
func show(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return strings.ReplaceAll(s, "\n", "\\n")
	}
	return string(v)
}
