package index

import (
	"cmp"
	"slices"
)

// A memory is reported as similar when it says nearly the same by words and by
// meaning. Either alone has to be overwhelming: texts of one topic share words,
// and texts of one form ("my favourite ... is ...") share meaning.
const similarScore = 0.72

// apart is the cosine below which texts are not alike whatever their words.
const apart = 0.48

// Similar finds memories that say nearly the same as text, for a warning when
// one is written; vecs are the passages of the text, none to compare by words
// alone. Score is the likeness, 0.72 to 1. A long memory that contains a short
// one is similar to it; so are a statement and its opposite. It prefers
// precision: no hit is the usual answer. The best k come, best first.
func (p *Partition) Similar(vecs []Vec, text string, keep func(*Meta) bool, k int) []Hit {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.start()
	defer p.pool.Put(s)
	s.filterDocs(p, keep)
	s.readQuery(p, text)
	mass := s.shareWords(p)
	s.idfOf = resize(s.idfOf, len(p.byRID)+1)
	s.bestCosines(p, vecs)

	var hits []Hit
	for _, slot := range s.kept {
		h := Hit{RID: p.docs[slot].RID, Match: Words}
		cos := float64(s.cos[slot])
		like := cos
		if cos != noCosine {
			if like = p.onBuiltinScale(cos); like < apart {
				continue
			}
		}
		contained, common := s.overlap(p, slot, mass)
		h.Score = likeness(contained, common, int(s.count[slot]), like)
		if h.Score < similarScore {
			continue
		}
		if cos != noCosine {
			h.Distance, h.HasDistance, h.Match = 2-2*cos, true, Meaning
			if contained > 0 {
				h.Match = Both
			}
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), p.newer(p.byRID[a.RID], p.byRID[b.RID]))
	})
	return hits[:min(max(k, 0), len(hits))]
}

// shareWords sums into words the idf of the terms that the text and each memory
// share, and into count how many they are. It returns the idf of all terms of the text.
func (s *search) shareWords(p *Partition) (mass float64) {
	n := len(p.byRID)
	for i := range s.terms {
		q := &s.terms[i]
		w := idf(n, q.df)
		mass += w
		if q.df == 0 {
			continue
		}
		for _, post := range p.words.terms[p.words.ids[q.hash]].posts {
			s.words[post.slot()] += float32(w)
			s.count[post.slot()]++
		}
	}
	return mass
}

// bestCosines sets cos to the best cosine of any passage of the text with any
// of each memory.
func (s *search) bestCosines(p *Partition, vecs []Vec) {
	for i := range s.cos {
		s.cos[i] = noCosine
	}
	for _, v := range vecs {
		if len(v.Q) != p.dense.dim || v.check() != nil {
			continue
		}
		s.base = resize(s.base, len(p.docs))
		p.dense.cosines(v, s.keep, s.base)
		for _, slot := range s.kept {
			s.cos[slot] = max(s.cos[slot], s.base[slot])
		}
	}
}

// overlap compares the words of the text, whose idf sum to mass, with those of
// a memory: how much of the shorter of the two is in the other, and how much
// of both is in both.
func (s *search) overlap(p *Partition, slot uint32, mass float64) (contained, common float64) {
	shared := float64(s.words[slot])
	if shared == 0 {
		return 0, 0
	}
	var own float64
	for _, id := range p.docs[slot].terms {
		df := len(p.words.terms[id].posts)
		w := s.idfOf[df]
		if w == 0 { // idf itself is never 0
			w = idf(len(p.byRID), df)
			s.idfOf[df] = w
		}
		own += w
	}
	return shared / min(mass, own), shared / (mass + own - shared)
}

// likeness weighs words against meaning; 0 for what is not alike. A single
// word in common is not enough whatever the rest says.
// Without vectors nearly all words must be the same.
func likeness(contained, common float64, shared int, cos float64) float64 {
	if shared < 2 && common < 0.5 {
		return 0
	}
	if cos == noCosine {
		if shared < 4 && common < 0.6 {
			return 0
		}
		return contained - 0.1
	}
	return (contained + cos) / 2
}
