package index

import "reverie/internal/lexical"

// MaxHits bounds the hits of a search.
const MaxHits = 50

// Search ranks the memories that keep allows (nil allows all) and returns the
// best k of them, at most [MaxHits]. Equal scores come newest first, then by
// the higher RID. keep must not call back into the partition; what it drops
// has no influence on the scores of the rest, except that the rarity of words
// and the average length are those of the whole partition. Nothing is held back
// for being far off: a query unrelated to everything finds k memories, with low
// scores and confidence [Low].
//
// A query without any term and without a vector (empty, or punctuation alone)
// asks for nothing in particular: the newest memories come, with score 0 and
// confidence [Low].
func (p *Partition) Search(q Query, keep func(*Meta) bool, k int) Result {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.start()
	defer p.pool.Put(s)
	s.filterDocs(p, keep)
	s.readQuery(p, q.Text)
	s.scoreWords(p)
	s.scoreGrams(p)
	s.scoreMeaning(p, q)
	s.fuse(p)
	k = max(0, min(k, MaxHits))
	hits := s.hits(p, s.best(p, k+lookahead), k)
	return Result{Hits: hits, Considered: len(s.kept), Confidence: confidence(hits)}
}

// search is the working memory of one search, used again by later ones. The
// arrays are by slot.
type search struct {
	keep  []bool
	kept  []uint32 // the slots kept, ascending
	count []uint32

	words   []float32 // BM25 of terms
	letters []float32 // BM25 of grams and characters
	cos     []float32 // cosine or noCosine
	base    []float32 // fused, without context
	fused   []float32
	dense   bool // the query has a vector that can be compared
	trusted bool // and its model understands the query

	terms     []queryTerm
	termAt    map[uint64]int32
	spellings []byte

	grams       []uint32
	gramWeights []float64
	gramDF      []uint32
	gramIDF     []float64
	gramSeen    []bool
	gramMass    float64   // idf of all grams of the query
	wordMass    mass      // of its terms
	letterMass  mass      // of its grams and characters
	idfOf       []float64 // by document frequency, 0 where not computed yet
	gramTable   gramTable
	users       []gramUser
	buf         []uint32
	line        []uint32
	heap        []uint32
}

func (p *Partition) start() *search {
	s, _ := p.pool.Get().(*search)
	if s == nil {
		s = &search{termAt: make(map[uint64]int32)}
	}
	n := len(p.docs)
	s.keep, s.count = resize(s.keep, n), resize(s.count, n)
	s.words, s.letters = resize(s.words, n), resize(s.letters, n)
	s.cos, s.base, s.fused = resize(s.cos, n), resize(s.base, n), resize(s.fused, n)
	s.kept = s.kept[:0]
	s.wordMass, s.letterMass, s.gramMass, s.dense = mass{}, mass{}, 0, false
	return s
}

// resize gives a zeroed slice of length n, in the old memory if it is enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	s = s[:n]
	clear(s)
	return s
}

func (s *search) filterDocs(p *Partition, keep func(*Meta) bool) {
	for slot := range p.docs {
		d := &p.docs[slot]
		if d.live && (keep == nil || keep(&d.Meta)) {
			s.keep[slot] = true
			s.kept = append(s.kept, uint32(slot))
		}
	}
}

func (s *search) scoreMeaning(p *Partition, q Query) {
	s.trusted = q.DenseTrusted
	v, err := Quantize(q.Vector)
	s.dense = err == nil && len(v.Q) == p.dense.dim && !lexical.Blank(q.Text)
	if !s.dense {
		v = Vec{}
	}
	p.dense.cosines(v, s.keep, s.cos)
}

// best returns the k best slots, best first.
func (s *search) best(p *Partition, k int) []uint32 {
	if k <= 0 {
		return nil
	}
	// A heap with the worst of the best so far on top.
	worse := func(a, b uint32) bool {
		if s.fused[a] != s.fused[b] {
			return s.fused[a] < s.fused[b]
		}
		return p.newer(a, b) > 0
	}
	h := s.heap[:0]
	down := func(i int) {
		for {
			c := 2*i + 1
			if c >= len(h) {
				return
			}
			if c+1 < len(h) && worse(h[c+1], h[c]) {
				c++
			}
			if !worse(h[c], h[i]) {
				return
			}
			h[i], h[c] = h[c], h[i]
			i = c
		}
	}
	for _, slot := range s.kept {
		if len(h) < k {
			h = append(h, slot)
			for i := len(h) - 1; i > 0 && worse(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
				h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
			}
		} else if worse(h[0], slot) {
			h[0] = slot
			down(0)
		}
	}
	s.heap = h
	out := make([]uint32, len(h))
	for i := len(h) - 1; i >= 0; i-- {
		out[i] = h[0]
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		down(0)
	}
	return out
}
