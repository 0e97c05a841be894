package evalset

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a corpus with the questions to put to it.
type Set struct {
	// Name is that of the query file; the corpus is added where it is another one.
	Name    string
	Docs    []Doc
	Queries []Query
}

// Pools gives the names of the pools that questions are put to, sorted.
func (s Set) Pools() []string {
	seen := make(map[string]bool)
	for _, q := range s.Queries {
		seen[q.Corpus] = true
	}
	pools := make([]string, 0, len(seen))
	for p := range seen {
		pools = append(pools, p)
	}
	slices.Sort(pools)
	return pools
}

// Pool gives the texts of a pool in the order of the file.
func (s Set) Pool(name string) []Doc {
	var docs []Doc
	for _, d := range s.Docs {
		if d.Corpus == name || d.Corpus == "*" {
			docs = append(docs, d)
		}
	}
	return docs
}

const (
	corpusSuffix  = "_corpus.jsonl"
	queriesSuffix = "_queries.jsonl"
)

// A query file belongs to a corpus file that has the pools of so many of its
// questions and, in these, so many of the texts that answer them.
const (
	leastPools = 0.9
	leastGold  = 0.8
)

// Load reads a folder and pairs its query files with its corpus files: those
// of one family (the name up to the first underline) that know the same pools
// and ids. A query file may go with several corpora, such as the same texts in
// two languages. A query file without a corpus is an error, and so is a folder
// without any.
func Load(dir string) ([]Set, error) {
	corpora, err := readFiles(dir, corpusSuffix, ReadDocs)
	if err != nil {
		return nil, fmt.Errorf("load evaluation sets: %w", err)
	}
	queries, err := readFiles(dir, queriesSuffix, ReadQueries)
	if err != nil {
		return nil, fmt.Errorf("load evaluation sets: %w", err)
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("load evaluation sets: no *%s in %s", queriesSuffix, dir)
	}
	var sets []Set
	for _, q := range queries {
		found := false
		for _, c := range corpora {
			if family(c.stem) != family(q.stem) || !fits(q.lines, c.lines) {
				continue
			}
			found = true
			name := q.stem
			if !strings.HasPrefix(q.stem, c.stem) {
				name += " on " + c.stem
			}
			sets = append(sets, Set{Name: name, Docs: c.lines, Queries: q.lines})
		}
		if !found {
			return nil, fmt.Errorf("load evaluation sets: %s%s has no corpus in %s with its pools and ids", q.stem, queriesSuffix, dir)
		}
	}
	return sets, nil
}

func family(stem string) string {
	name, _, _ := strings.Cut(stem, "_")
	return name
}

func fits(queries []Query, docs []Doc) bool {
	ids := make(map[[2]string]bool, len(docs))
	pools := make(map[string]bool)
	for _, d := range docs {
		ids[[2]string{d.Corpus, d.ID}] = true
		pools[d.Corpus] = true
	}
	var known, gold, have int
	for _, q := range queries {
		if !pools[q.Corpus] {
			continue
		}
		known++
		for _, g := range q.Gold {
			gold++
			if ids[[2]string{q.Corpus, g}] || ids[[2]string{"*", g}] {
				have++
			}
		}
	}
	return known > 0 && float64(known) >= leastPools*float64(len(queries)) && float64(have) >= leastGold*float64(gold)
}
