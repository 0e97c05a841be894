package index

import "reverie/internal/lexical"

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

// mass is what a memory may score for the parts of a query: for all, and for
// the most telling one alone.
type mass struct{ all, one float64 }

func (m *mass) add(x float64) {
	m.all += x
	m.one = max(m.one, x)
}

// chance is what a memory scores that has the query's most telling part by
// chance. What is nearly all of a query, such as the only name in it, is not
// there by chance.
func (m mass) chance() float64 {
	if m.all == 0 {
		return 0
	}
	share := m.one / m.all
	return m.one * (1 - share*share*share)
}

// scoreWords fills words with the scores by terms, and enters those of single
// characters and pairs in letters too.
func (s *search) scoreWords(p *Partition) {
	n := len(p.byRID)
	b := newBM25(p.total.terms, n)
	for _, q := range s.terms {
		character := q.kind == lexical.Character
		rarity := idf(n, q.df) * q.weight
		s.wordMass.add(rarity)
		if character {
			s.letterMass.add(rarity)
		}
		if q.df == 0 {
			continue
		}
		w := float32(rarity * (saturation + 1))
		for _, post := range p.words.terms[p.words.ids[q.hash]].posts {
			slot := post.slot()
			if !s.keep[slot] {
				continue
			}
			x := post.worth() * b.score(w, float32(post.count()), p.lengths[slot].terms)
			s.words[slot] += x
			if character {
				s.letters[slot] += x
			}
		}
	}
}

// gramTable finds the number of a gram among the query's. It is asked for
// every gram of the vocabulary and nearly always says no, so it is mostly empty.
type gramTable struct {
	cells []uint32 // number+1 of a gram, 0 for none; a power of two
	shift uint8
}

// gramCells is how many cells there are for every gram at least.
const gramCells = 16

// reset empties the table and makes it large enough for n grams.
func (t *gramTable) reset(n int) {
	bits := uint8(8)
	for 1<<bits < n*gramCells {
		bits++
	}
	t.cells, t.shift = resize(t.cells, 1<<bits), 32-bits
}

// at is the cell where a gram is, or where it belongs if it is nowhere.
func (t *gramTable) at(grams []uint32, gram uint32) *uint32 {
	for h := gram * 0x9e3779b1 >> t.shift; ; h = (h + 1) & uint32(len(t.cells)-1) {
		c := &t.cells[h]
		if *c == 0 || grams[*c-1] == gram {
			return c
		}
	}
}

// gramUser is a word of the vocabulary that has a gram of the query.
type gramUser struct{ gram, term uint32 }

// scoreGrams adds to letters the BM25 of the words that share grams with the
// query, a word being worth the grams it shares. Grams are not indexed by
// memory: the vocabulary is small, so the words that have a gram are found
// first and the memories through their words. How many memories have a gram
// is therefore known only up to repetitions: at most the sum over its words.
func (s *search) scoreGrams(p *Partition) {
	s.readGrams()
	if len(s.grams) == 0 {
		return
	}
	s.findUsers(&p.words)
	n := len(p.byRID)
	for _, u := range s.users {
		s.gramDF[u.gram] += uint32(len(p.words.terms[u.term].posts))
	}
	for i, df := range s.gramDF {
		s.gramIDF[i] = idf(n, min(int(df), n))
		s.gramMass += s.gramIDF[i]
		s.letterMass.add(s.gramIDF[i] * s.gramWeights[i])
	}
	b := newBM25(p.total.grams, n)
	for i := 0; i < len(s.users); {
		id := s.users[i].term
		var worth float64
		for ; i < len(s.users) && s.users[i].term == id; i++ {
			g := s.users[i].gram
			worth += s.gramIDF[g] * s.gramWeights[g]
		}
		w := float32(worth * (saturation + 1))
		for _, post := range p.words.terms[id].posts {
			if slot := post.slot(); s.keep[slot] {
				s.letters[slot] += post.worth() * b.score(w, float32(post.count()), p.lengths[slot].grams)
			}
		}
	}
}

// readGrams collects the different grams of the query's words.
func (s *search) readGrams() {
	s.grams, s.gramWeights = s.grams[:0], s.gramWeights[:0]
	n := 0
	for i := range s.terms {
		n += lexical.CountGrams(s.terms[i].text)
	}
	s.gramTable.reset(n)
	for _, q := range s.terms {
		if len(q.text) == 0 {
			continue
		}
		s.buf = lexical.AppendGrams(s.buf[:0], q.text)
		for _, g := range s.buf {
			cell := s.gramTable.at(s.grams, g)
			if *cell == 0 {
				s.grams = append(s.grams, g)
				s.gramWeights = append(s.gramWeights, 0)
				*cell = uint32(len(s.grams))
			}
			s.gramWeights[*cell-1] += q.weight
		}
	}
	s.gramDF = resize(s.gramDF, len(s.grams))
	s.gramIDF = resize(s.gramIDF, len(s.grams))
}

// findUsers lists the words of the vocabulary with the query's grams, by word.
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
			if cell := *s.gramTable.at(s.grams, g); cell != 0 {
				s.users = append(s.users, gramUser{cell - 1, uint32(id)})
			}
		}
	}
}
