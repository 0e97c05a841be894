package index

import (
	"cmp"
	"math"
	"slices"

	"reverie/internal/lexical"
)

// MaxHits bounds the hits of a search.
const MaxHits = 50

const (
	wordK1, wordB = 1.2, 0.5
	gramK1, gramB = 1.2, 0.5

	weightWords   = 1.0
	weightMeaning = 1.0
	weightGrams   = 0.3
)

// channels are the scores of every slot, one array a channel.
type channels struct {
	keep  []bool
	kept  []uint32
	words []float32
	grams []float32
	cos   []float32
	count []uint16
}

func (c *channels) reset(n int) {
	c.keep = resize(c.keep, n)
	c.words = resize(c.words, n)
	c.grams = resize(c.grams, n)
	c.cos = resize(c.cos, n)
	c.count = resize(c.count, n)
	c.kept = c.kept[:0]
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

// Search ranks the memories that keep allows (nil: all) and gives the best k.
func (p *Partition) Search(q Query, keep func(*Meta) bool, k int) Result {
	p.mu.RLock()
	defer p.mu.RUnlock()
	ch, _ := p.pool.Get().(*channels)
	if ch == nil {
		ch = new(channels)
	}
	defer p.pool.Put(ch)
	p.fill(ch, q, keep)
	return p.rank(ch, k)
}

func (p *Partition) fill(ch *channels, q Query, keep func(*Meta) bool) {
	ch.reset(len(p.docs))
	for slot := range p.docs {
		d := &p.docs[slot]
		if d.live && (keep == nil || keep(&d.Meta)) {
			ch.keep[slot] = true
			ch.kept = append(ch.kept, uint32(slot))
		}
	}
	terms := p.queryTerms(q.Text)
	p.scoreWords(ch, terms)
	p.scoreGrams(ch, terms)
	v, err := Quantize(q.Vector)
	if err != nil || !q.DenseTrusted {
		v = Vec{}
	}
	p.dense.cosines(v, ch.keep, ch.cos)
}

type queryTerm struct {
	hash  uint64
	word  string
	count int
}

func (p *Partition) queryTerms(text string) []queryTerm {
	var terms []queryTerm
	at := make(map[uint64]int)
	p.analyzer.Terms(text, func(t []byte, kind lexical.Kind) {
		h := p.words.hash(t)
		i, ok := at[h]
		if !ok {
			i = len(terms)
			at[h] = i
			w := ""
			if kind != lexical.Character {
				w = string(t)
			}
			terms = append(terms, queryTerm{hash: h, word: w})
		}
		terms[i].count++
	})
	return terms
}

func (p *Partition) scoreWords(ch *channels, terms []queryTerm) {
	n := len(p.byRID)
	avg := float64(p.tokens) / float64(max(n, 1))
	for _, q := range terms {
		id, ok := p.words.ids[q.hash]
		if !ok {
			continue
		}
		posts := p.words.terms[id].posts
		w := float32(idf(n, len(posts)) * float64(q.count) * (wordK1 + 1))
		for _, post := range posts {
			slot := post.slot()
			if !ch.keep[slot] {
				continue
			}
			t := float32(post.count())
			ch.words[slot] += w * t / (t + float32(wordK1*(1-wordB)) + float32(wordK1*wordB/avg)*float32(p.docs[slot].tokens))
		}
	}
}

func (p *Partition) scoreGrams(ch *channels, terms []queryTerm) {
	// Which grams the query has, and which words of the vocabulary have them.
	at := make(map[uint32]int)
	var grams []uint32
	var counts []int
	for _, q := range terms {
		lexical.Grams([]byte(q.word), func(g uint32) bool {
			i, ok := at[g]
			if !ok {
				i = len(grams)
				at[g] = i
				grams = append(grams, g)
				counts = append(counts, 0)
			}
			counts[i] += q.count
			return true
		})
	}
	if len(grams) == 0 {
		return
	}
	users := make([][]uint32, len(grams))
	for id := range p.words.terms {
		w := p.words.terms[id].word
		if w == "" {
			continue
		}
		lexical.Grams([]byte(w), func(g uint32) bool {
			if i, ok := at[g]; ok {
				users[i] = append(users[i], uint32(id))
			}
			return true
		})
	}
	n := len(p.byRID)
	avg := float64(p.letters) / float64(max(n, 1))
	var touched []uint32
	for i := range grams {
		touched = touched[:0]
		for _, id := range users[i] {
			for _, post := range p.words.terms[id].posts {
				slot := post.slot()
				if ch.count[slot] == 0 {
					touched = append(touched, slot)
				}
				ch.count[slot] += uint16(post.count())
			}
		}
		w := float32(idf(n, len(touched)) * float64(counts[i]) * (gramK1 + 1))
		for _, slot := range touched {
			t := float32(ch.count[slot])
			ch.count[slot] = 0
			if ch.keep[slot] {
				ch.grams[slot] += w * t / (t + float32(gramK1*(1-gramB)) + float32(gramK1*gramB/avg)*float32(p.docs[slot].letters))
			}
		}
	}
}

type ranked struct {
	slot  uint32
	score float32
}

func (p *Partition) rank(ch *channels, k int) Result {
	res := Result{Considered: len(ch.kept)}
	all := make([]ranked, len(ch.kept))
	for i, slot := range ch.kept {
		all[i].slot = slot
	}
	addStandard(all, ch.words, weightWords)
	addStandard(all, ch.grams, weightGrams)
	addStandard(all, ch.cos, weightMeaning)
	slices.SortFunc(all, func(a, b ranked) int {
		x, y := &p.docs[a.slot], &p.docs[b.slot]
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(y.Created, x.Created), cmp.Compare(y.RID, x.RID))
	})
	for _, r := range all[:min(k, MaxHits, len(all))] {
		h := Hit{RID: p.docs[r.slot].RID, Score: 1 / (1 + math.Exp(-float64(r.score)/2)), Match: Words}
		if c := ch.cos[r.slot]; c != noCosine {
			h.Distance, h.HasDistance, h.Match = 2-2*float64(c), true, Meaning
			if ch.words[r.slot] > 0 {
				h.Match = Both
			}
		}
		res.Hits = append(res.Hits, h)
	}
	res.Confidence = Medium
	return res
}

// addStandard adds weight times the standard score of a channel. A memory
// without a cosine counts as average.
func addStandard(all []ranked, channel []float32, weight float32) {
	var n, sum, squares float64
	for _, r := range all {
		if x := float64(channel[r.slot]); x != noCosine {
			n++
			sum += x
			squares += x * x
		}
	}
	if n == 0 {
		return
	}
	mean := sum / n
	sd := math.Sqrt(max(0, squares/n-mean*mean))
	if sd < 1e-6 {
		return
	}
	for i, r := range all {
		if x := channel[r.slot]; x != noCosine {
			all[i].score += weight * float32((float64(x)-mean)/sd)
		}
	}
}
