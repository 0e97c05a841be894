package index

import (
	"math"
	"slices"

	"reverie/internal/lexical"
)

// What the first hit's score must reach for [Medium] and [High] confidence.
// Of questions put to a store of other people's memories, about half stay below
// the first; of hits that were right, nine in ten are above it. In the right
// store a question without an answer is harder to tell: one in four of them
// reaches the second, of those with an answer one in two.
const (
	mediumScore = 0.45
	highScore   = 0.8
)

// relatedCosine is the cosine, on the built-in model's scale, from which a hit
// counts as found by its meaning.
const relatedCosine = 0.35

// builtinUnrelated is the cosine of unrelated texts under the built-in model.
const builtinUnrelated = 0.2

// lookahead is how many of the hits that follow may lend a hit their evidence.
// More would let a hit that has nothing to do with the query, come first by a
// chance word, pass for the answer below it.
const lookahead = 1

// hits makes the first k of ranked to hits. Scores come from the evidence in
// each hit alone, so that they mean the same for every query; to follow the
// ranking, which knows more (the pool, the conversation), a hit takes the best
// evidence of itself and the next one, and never more than the hit before it.
func (s *search) hits(p *Partition, ranked []uint32, k int) []Hit {
	hits := make([]Hit, min(k, len(ranked)))
	evidence := make([]float64, len(ranked))
	for i, slot := range ranked {
		var h Hit
		h, evidence[i] = s.hit(p, slot)
		if i < len(hits) {
			hits[i] = h
		}
	}
	limit := 1.0
	for i := range hits {
		limit = min(limit, slices.Max(evidence[i:min(i+lookahead+1, len(evidence))]))
		hits[i].Score = limit
	}
	return hits
}

// Calibrate tells what cosine unrelated texts have on average under the model
// that made the vectors; 0 stands for the built-in model's. Scores, confidence
// and [Partition.Similar] depend on it, the ranking does not.
func (p *Partition) Calibrate(unrelated float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !(unrelated > 0 && unrelated < 1) {
		unrelated = builtinUnrelated
	}
	p.unrelated = unrelated
}

// onBuiltinScale stretches a cosine so that unrelated texts lie where they lie
// under the built-in model.
func (p *Partition) onBuiltinScale(cos float64) float64 { return 1 - (1-cos)*p.stretch() }

// stretch is how much wider cosines lie apart on the built-in model's scale.
func (p *Partition) stretch() float64 { return (1 - builtinUnrelated) / (1 - p.unrelated) }

func confidence(hits []Hit) Confidence {
	switch {
	case len(hits) == 0 || hits[0].Score < mediumScore:
		return Low
	case hits[0].Score < highScore:
		return Medium
	}
	return High
}

// hit describes a memory found and weighs, from 0 to 1, what speaks for it:
// logistic curves fitted to questions put to the right store and to wrong ones.
func (s *search) hit(p *Partition, slot uint32) (Hit, float64) {
	h := Hit{RID: p.docs[slot].RID, Match: Words}
	share := s.coverage(p, slot)
	cos := float64(s.cos[slot])
	meaning := s.dense && cos != noCosine
	like := p.onBuiltinScale(cos)
	var e float64
	if meaning && s.trusted {
		e = max(logistic(-3.8+8.8*like+2.5*share), logistic(-3.4+5*share))
	} else if share = max(share, s.letterCoverage(p, slot)); share > 0 {
		e = logistic(-2.2 + 6*share)
	}
	words := s.words[slot] > 0
	if meaning && (like >= relatedCosine || !words) {
		h.Distance, h.HasDistance, h.Match = 2-2*cos, true, Meaning
		if words {
			h.Match = Both
		}
	}
	return h, e
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// coverage is the share of a query's words that a memory has, each word
// weighted by its rarity: once counted as written and once in English, since a
// memory in another language can only have it in one of the two ways. The
// larger share counts.
func (s *search) coverage(p *Partition, slot uint32) float64 {
	n := len(p.byRID)
	terms := p.docs[slot].terms
	var written, english struct{ has, all float64 }
	for i := range s.terms {
		q := &s.terms[i]
		w := idf(n, q.df)
		has := 0.0
		if q.df > 0 {
			if _, ok := slices.BinarySearch(terms, p.words.ids[q.hash]); ok {
				has = w
			}
		}
		if q.kind != lexical.Gloss {
			written.has += has
			written.all += w
		}
		if q.kind != lexical.Character {
			english.has += has
			english.all += w
		}
	}
	var share float64
	if written.all > 0 {
		share = written.has / written.all
	}
	if english.all > 0 {
		share = max(share, english.has/english.all)
	}
	return share
}

// letterCoverage is the share of the query's grams, weighted by rarity, that a
// memory has: what coverage is where inflection changes the words.
func (s *search) letterCoverage(p *Partition, slot uint32) float64 {
	if s.gramMass == 0 {
		return 0
	}
	s.gramSeen = resize(s.gramSeen, len(s.grams))
	var has float64
	for _, id := range p.docs[slot].terms {
		t := &p.words.terms[id]
		if t.grams == 0 {
			continue
		}
		s.buf = lexical.AppendGrams(s.buf[:0], p.words.spelling(t))
		for _, g := range s.buf {
			if cell := *s.gramTable.at(s.grams, g); cell != 0 && !s.gramSeen[cell-1] {
				s.gramSeen[cell-1] = true
				has += s.gramIDF[cell-1]
			}
		}
	}
	return has / s.gramMass
}
