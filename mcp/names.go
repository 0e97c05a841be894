package mcp

import (
	"fmt"
	"strings"
)

// unknownName refuses a name that is none of the allowed ones.
func unknownName(what, name string, allowed []string) error {
	hint := ""
	if near := nearest(name, allowed); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	known := strings.Join(allowed, ", ")
	if known == "" {
		known = "none"
	}
	return badArgument("unknown %s %s%s allowed: %s", what, quote(shorten(name, 48)), cmpOr(hint, ";"), known)
}

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// nearest finds the allowed name that name is probably a slip of.
func nearest(name string, allowed []string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(shorten(s, 64)))
	}
	best, least := "", 3
	for _, a := range allowed {
		if d := distance(plain(name), plain(a)); d < least && d < len(a)/2 {
			best, least = a, d
		}
	}
	return best
}

// distance counts the single-character edits between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			last, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, last+cost)
		}
	}
	return row[len(b)]
}
