package config

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// keyNames lists all keys and all sections, in the order of the table.
func keyNames() (names, sections []string) {
	for _, k := range keys() {
		names = append(names, k.name)
		if section, _, ok := strings.Cut(k.name, "."); ok && !slices.Contains(sections, section) {
			sections = append(sections, section)
		}
	}
	return names, sections
}

// suggestKey ends the sentence "unknown key ...": with the key that was probably meant, or with those there are.
func suggestKey(name string, table bool) string {
	names, sections := keyNames()
	if table {
		if s := DidYouMean(name, sections); s != "" {
			return s
		}
		return "; the sections are " + strings.Join(sections, ", ")
	}
	// The right name in the wrong section is a nearer miss than any misspelling.
	last := name[strings.LastIndexByte(name, '.')+1:]
	for _, n := range names {
		if n == last || strings.HasSuffix(n, "."+last) {
			return fmt.Sprintf("; did you mean %q?", n)
		}
	}
	if s := DidYouMean(name, names); s != "" {
		return s
	}
	section, _, inSection := strings.Cut(name, ".")
	var siblings []string
	for _, n := range names {
		switch s, rest, ok := strings.Cut(n, "."); {
		case inSection && ok && s == section:
			siblings = append(siblings, rest)
		case !inSection && !ok:
			siblings = append(siblings, n)
		}
	}
	if inSection {
		return fmt.Sprintf("; the keys of [%s] are %s", section, strings.Join(siblings, ", "))
	}
	return fmt.Sprintf("; the keys outside sections are %s; the sections are %s", strings.Join(siblings, ", "), strings.Join(sections, ", "))
}

// unknownFlags reports values for keys that do not exist.
func unknownFlags(flags map[string]string) []error {
	names, _ := keyNames()
	var problems []error
	for name := range flags {
		if !slices.Contains(names, name) {
			problems = append(problems, &Error{Where: "command line", Key: name, Reason: "unknown key" + suggestKey(name, false)})
		}
	}
	sort.Slice(problems, func(i, j int) bool { return problems[i].Error() < problems[j].Error() })
	return problems
}

// DidYouMean returns "; did you mean ...?" if one of the names is close to s, else "".
func DidYouMean(s string, names []string) string {
	best, bestDistance := "", 4
	s = canonical(s)
	for _, n := range names {
		if n == "" {
			continue
		}
		if d := distance(s, canonical(n)); d < bestDistance && d*3 <= len(n) {
			best, bestDistance = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

func canonical(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_")
}

// distance is how many letters have to be inserted, deleted, replaced or swapped with their neighbour to make b of a.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, old, row = old, row, older
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
