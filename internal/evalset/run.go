package evalset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Depth is how many answers [Run] asks for: as many as a search gives.
const Depth = 50

// Runner is a search under test. Run uses it from one goroutine.
type Runner interface {
	// Load replaces what the search knows by these texts.
	Load(ctx context.Context, docs []Doc) error
	// Search answers a question with at most k ids, best first.
	Search(ctx context.Context, query string, k int) (Answer, error)
}

// Answer is what a search found.
type Answer struct {
	IDs []string
	// Tokens is the length of what would be handed to a model.
	Tokens int
	// Latency is how long the search itself took.
	Latency time.Duration
}

// Options of a run. The zero value is the default.
type Options struct {
	// Skip names categories left out; nil leaves out "adversarial", whose
	// questions have no answer in their pool.
	Skip []string
	// Progress, if not nil, is called after every question with how many of
	// the set are done.
	Progress func(done, total int)
}

// Run puts every question of a set to the runner, pool by pool, and scores the
// answers. Gold ids that the pool lacks are ignored, and a question without
// any other is left out. Texts that are equal count as one: a store may keep
// only the first.
func Run(ctx context.Context, set Set, r Runner, o Options) (Report, error) {
	skip := o.Skip
	if skip == nil {
		skip = []string{"adversarial"}
	}
	report := newReport(set.Name)
	done := 0
	for _, pool := range set.Pools() {
		docs := set.Pool(pool)
		same := canonical(docs)
		loaded := false
		for _, q := range set.Queries {
			if q.Corpus != pool {
				continue
			}
			done++
			gold := goldOf(q, same)
			if slices.Contains(skip, q.Category) || len(gold) == 0 {
				report.Left++
				continue
			}
			if !loaded {
				if err := r.Load(ctx, docs); err != nil {
					return Report{}, fmt.Errorf("%s: load pool %s: %w", set.Name, pool, err)
				}
				loaded = true
			}
			answer, err := r.Search(ctx, q.Text, Depth)
			if err != nil {
				return Report{}, fmt.Errorf("%s: search %s: %w", set.Name, q.ID, err)
			}
			report.add(q.Category, score(answer, gold, same))
			if o.Progress != nil {
				o.Progress(done, len(set.Queries))
			}
		}
	}
	report.finish()
	return report, nil
}

// canonical maps every id to the first id with the same text.
func canonical(docs []Doc) map[string]string {
	first := make(map[string]string, len(docs))
	same := make(map[string]string, len(docs))
	for _, d := range docs {
		text := strings.TrimSpace(d.Text)
		if _, ok := first[text]; !ok {
			first[text] = d.ID
		}
		same[d.ID] = first[text]
	}
	return same
}

func goldOf(q Query, same map[string]string) map[string]bool {
	gold := make(map[string]bool, len(q.Gold))
	for _, id := range q.Gold {
		if c, ok := same[id]; ok {
			gold[c] = true
		}
	}
	return gold
}

// result is the outcome of one question.
type result struct {
	rank    int // of the first right answer, from 1; 0 for none
	found   map[int]int
	gold    int
	tokens  int
	latency time.Duration
}

func score(a Answer, gold map[string]bool, same map[string]string) result {
	r := result{found: make(map[int]int), gold: len(gold), tokens: a.Tokens, latency: a.Latency}
	seen := make(map[string]bool)
	for i, id := range a.IDs {
		c, ok := same[id]
		if !ok || !gold[c] || seen[c] {
			continue
		}
		seen[c] = true
		if r.rank == 0 {
			r.rank = i + 1
		}
		for _, k := range Cuts {
			if i < k {
				r.found[k]++
			}
		}
	}
	return r
}
