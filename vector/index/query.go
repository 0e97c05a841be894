package index

import (
	"math"

	"reverie/internal/lexical"
)

// glossWeight is what a gloss counts against what is written, in a query and in
// a memory: a word of the dictionary is a guess at what the character beside it
// says for certain.
const glossWeight = 0.7

// repeatPower dampens repetitions in a query. Queries may be whole dialogues.
const repeatPower = 0.7

// queryTerm is a term of a query.
type queryTerm struct {
	hash   uint64
	df     int     // memories of the partition that use it
	weight float64 // occurrences, dampened
	kind   lexical.Kind
	text   []byte // spelling of a word or gloss
}

// readQuery cuts a query into its different terms in the order they appear.
func (s *search) readQuery(p *Partition, text string) {
	s.terms = s.terms[:0]
	clear(s.termAt)
	s.spellings = s.spellings[:0]
	p.analyzer.Terms(text, func(t []byte, kind lexical.Kind) {
		h := p.words.hash(t)
		i, ok := s.termAt[h]
		if !ok {
			i = int32(len(s.terms))
			s.termAt[h] = i
			q := queryTerm{hash: h, kind: kind, df: p.words.df(h)}
			if kind != lexical.Character && len(t) <= maxSpelling {
				at := len(s.spellings)
				s.spellings = append(s.spellings, t...)
				q.text = s.spellings[at:len(s.spellings):len(s.spellings)]
			}
			s.terms = append(s.terms, q)
		}
		if kind == lexical.Gloss {
			s.terms[i].weight += glossWeight
		} else {
			s.terms[i].weight++
			s.terms[i].kind = kind
		}
	})
	for i := range s.terms {
		s.terms[i].weight = math.Pow(s.terms[i].weight, repeatPower)
	}
}
