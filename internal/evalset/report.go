package evalset

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Cuts are the numbers of answers at which hits are counted.
var Cuts = []int{1, 3, 5, 10}

// Report is how a search did on a set.
type Report struct {
	Set string
	// Left is how many questions were left out.
	Left       int
	All        Scores
	Categories []Scores // by name
	results    map[string][]result
}

// Scores sum up a group of questions. Shares are from 0 to 1, by position in [Cuts].
type Scores struct {
	Name    string
	Queries int
	Any     []float64 // at least one right answer among the first k
	Every   []float64 // all right answers among the first k
	Recall  []float64 // mean share of the right answers among the first k
	MRR     float64   // mean of 1/rank of the first right answer
	Tokens  float64   // mean length of an answer
	P50     time.Duration
	P95     time.Duration
}

func newReport(set string) Report {
	return Report{Set: set, results: make(map[string][]result)}
}

func (r *Report) add(category string, x result) {
	r.results[category] = append(r.results[category], x)
}

func (r *Report) finish() {
	var all []result
	for name, rs := range r.results {
		r.Categories = append(r.Categories, sum(name, rs))
		all = append(all, rs...)
	}
	slices.SortFunc(r.Categories, func(a, b Scores) int { return cmp.Compare(a.Name, b.Name) })
	r.All = sum("", all)
	r.results = nil
}

func sum(name string, rs []result) Scores {
	s := Scores{
		Name: name, Queries: len(rs),
		Any: make([]float64, len(Cuts)), Every: make([]float64, len(Cuts)), Recall: make([]float64, len(Cuts)),
	}
	if len(rs) == 0 {
		return s
	}
	n := float64(len(rs))
	latencies := make([]time.Duration, len(rs))
	for i, r := range rs {
		latencies[i] = r.latency
		s.Tokens += float64(r.tokens) / n
		if r.rank > 0 {
			s.MRR += 1 / float64(r.rank) / n
		}
		for c, k := range Cuts {
			found := r.found[k]
			if found > 0 {
				s.Any[c] += 1 / n
			}
			if found == r.gold {
				s.Every[c] += 1 / n
			}
			s.Recall[c] += float64(found) / float64(r.gold) / n
		}
	}
	slices.Sort(latencies)
	s.P50, s.P95 = quantile(latencies, 50), quantile(latencies, 95)
	return s
}

// quantile is the value that at least percent of the sorted values do not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	i := (len(sorted)*percent+99)/100 - 1
	return sorted[max(i, 0)]
}

// String gives any-hit@5 / any-hit@10 / MRR in percent.
func (s Scores) String() string {
	if s.Queries == 0 {
		return "no questions"
	}
	return fmt.Sprintf("%.1f / %.1f / %.1f", 100*s.Any[2], 100*s.Any[3], 100*s.MRR)
}
