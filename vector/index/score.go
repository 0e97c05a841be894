package index

import (
	"slices"

	"reverie/internal/lexical"
)

// BM25 with the usual saturation and less than the usual punishment of length:
// a long memory is not a worse one.
const (
	saturation  = 1.0
	lengthShare = 0.4
)

// bm25 holds what the score of one channel needs for every posting.
type bm25 struct{ base, perLength float32 }

func newBM25(total int64, n int) bm25 {
	average := max(float64(total)/float64(max(n, 1)), 1e-9)
	return bm25{saturation * (1 - lengthShare), float32(saturation * lengthShare / average)}
}

func (b bm25) score(weight float32, count float32, length uint32) float32 {
	return weight * count / (count + b.base + b.perLength*float32(length))
}

// scoreWords fills words with the scores by terms, and enters those of single
// characters and pairs in letters too.
func (s *search) scoreWords(p *Partition) {
	n := len(p.byRID)
	b := newBM25(p.total.terms, n)
	for _, q := range s.terms {
		if q.df == 0 {
			continue
		}
		w := float32(idf(n, q.df) * q.weight * (saturation + 1))
		character := q.kind == lexical.Character
		for _, post := range p.words.terms[p.words.ids[q.hash]].posts {
			slot := post.slot()
			if !s.keep[slot] {
				continue
			}
			x := b.score(w, float32(post.count()), p.lengths[slot].terms)
			s.words[slot] += x
			if character {
				s.letters[slot] += x
			}
		}
	}
}

// gramBits is the size of the filter that tells most grams a query has not.
const gramBits = 1 << 15

// gramFilter is a bitmap over hashes of grams.
type gramFilter [gramBits / 64]uint64

func (f *gramFilter) at(gram uint32) (word, bit uint32) {
	h := gram * 0x9e3779b1 >> (32 - 15)
	return h >> 6, h & 63
}

func (f *gramFilter) add(gram uint32)      { w, b := f.at(gram); f[w] |= 1 << b }
func (f *gramFilter) has(gram uint32) bool { w, b := f.at(gram); return f[w]>>b&1 != 0 }

// gramUser is a word of the vocabulary that has a gram of the query.
type gramUser struct{ gram, term uint32 }

// scoreGrams adds to letters the BM25 of the grams that query and memory share.
// Grams are not indexed by memory: the vocabulary is small, so the words that
// have a gram are found first and the memories through their words.
func (s *search) scoreGrams(p *Partition) {
	s.readGrams()
	if len(s.grams) == 0 {
		return
	}
	s.findUsers(&p.words)
	n := len(p.byRID)
	b := newBM25(p.total.grams, n)
	for i := 0; i < len(s.users); {
		gram := s.users[i].gram
		s.touched = s.touched[:0]
		for ; i < len(s.users) && s.users[i].gram == gram; i++ {
			for _, post := range p.words.terms[s.users[i].term].posts {
				slot := post.slot()
				if s.count[slot] == 0 {
					s.touched = append(s.touched, slot)
				}
				s.count[slot] += uint32(post.count())
			}
		}
		s.gramDF[gram] = uint32(len(s.touched))
		w := float32(idf(n, len(s.touched)) * s.gramWeights[gram] * (saturation + 1))
		for _, slot := range s.touched {
			if s.keep[slot] {
				s.letters[slot] += b.score(w, float32(s.count[slot]), p.lengths[slot].grams)
			}
			s.count[slot] = 0
		}
	}
	for _, df := range s.gramDF {
		s.gramMass += idf(n, int(df))
	}
}

// readGrams collects the different grams of the query's words.
func (s *search) readGrams() {
	clear(s.gramAt)
	s.grams, s.gramWeights, s.gramDF = s.grams[:0], s.gramWeights[:0], s.gramDF[:0]
	s.filter = gramFilter{}
	for _, q := range s.terms {
		if q.text == nil {
			continue
		}
		s.buf = lexical.AppendGrams(s.buf[:0], q.text)
		for _, g := range s.buf {
			i, ok := s.gramAt[g]
			if !ok {
				i = uint32(len(s.grams))
				s.gramAt[g] = i
				s.grams = append(s.grams, g)
				s.gramWeights = append(s.gramWeights, 0)
				s.gramDF = append(s.gramDF, 0)
				s.filter.add(g)
			}
			s.gramWeights[i] += q.weight
		}
	}
}

// findUsers lists the words of the vocabulary with the query's grams, by gram.
// A word with a gram twice is listed twice.
func (s *search) findUsers(v *vocabulary) {
	s.users = s.users[:0]
	for id := range v.terms {
		t := &v.terms[id]
		if t.grams == 0 {
			continue
		}
		s.buf = lexical.AppendGrams(s.buf[:0], v.spelling(t))
		for _, g := range s.buf {
			if !s.filter.has(g) {
				continue
			}
			if i, ok := s.gramAt[g]; ok {
				s.users = append(s.users, gramUser{i, uint32(id)})
			}
		}
	}
	slices.SortFunc(s.users, func(a, b gramUser) int { return int(a.gram) - int(b.gram) })
}
