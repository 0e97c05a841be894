package index

import "cmp"
import "slices"

// Similar finds memories that say nearly the same as text, for a warning when
// one is written: vecs are the passages of the text, none to compare by words
// alone. Score is the likeness. It prefers precision: no hit is the usual answer.
func (p *Partition) Similar(vecs []Vec, text string, keep func(*Meta) bool, k int) []Hit {
	p.mu.RLock()
	defer p.mu.RUnlock()
	terms := p.queryTerms(text)
	n := len(p.byRID)
	shared := make(map[uint32]float64)
	var total float64
	for _, q := range terms {
		id, ok := p.words.ids[q.hash]
		if !ok {
			total += idf(n, 0)
			continue
		}
		posts := p.words.terms[id].posts
		w := idf(n, len(posts))
		total += w
		for _, post := range posts {
			shared[post.slot()] += w
		}
	}
	var hits []Hit
	for slot, s := range shared {
		d := &p.docs[slot]
		if keep != nil && !keep(&d.Meta) {
			continue
		}
		overlap := s / total
		h := Hit{RID: d.RID, Score: overlap, Match: Words}
		best := -2.0
		for _, row := range d.rows {
			for _, v := range vecs {
				if len(v.Q) == p.dense.dim {
					best = max(best, p.dense.cosine(v, row))
				}
			}
		}
		if best > -2 {
			h.Distance, h.HasDistance, h.Match = 2-2*best, true, Both
			h.Score = (overlap + best) / 2
		}
		if h.Score > 0.7 {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.RID, a.RID))
	})
	return hits[:min(k, len(hits))]
}
