package index

import (
	"hash/maphash"
	"math"
	"slices"
	"unicode/utf8"

	"reverie/internal/lexical"
)

// posting is one memory's use of a term: slot<<8 | count, the count capped at 255.
type posting uint32

const maxCount = 255

func newPosting(slot uint32, count int) posting {
	return posting(slot<<8 | uint32(min(count, maxCount)))
}

func (p posting) slot() uint32 { return uint32(p >> 8) }
func (p posting) count() int   { return int(p & maxCount) }

// term is an entry of the vocabulary. Its postings are sorted by slot.
type term struct {
	hash  uint64
	posts []posting
	// word is the spelling, kept only for words that can be compared by letters.
	word string
}

// vocabulary is an inverted index whose terms are known by a 64-bit hash.
type vocabulary struct {
	seed  maphash.Seed
	ids   map[uint64]uint32
	terms []term
	free  []uint32
	bytes int64
}

func newVocabulary() vocabulary {
	return vocabulary{seed: maphash.MakeSeed(), ids: make(map[uint64]uint32)}
}

func (v *vocabulary) hash(b []byte) uint64 { return maphash.Bytes(v.seed, b) }

// id finds a term or makes it.
func (v *vocabulary) id(b []byte, kind lexical.Kind) uint32 {
	h := v.hash(b)
	id, ok := v.ids[h]
	if !ok {
		if n := len(v.free); n > 0 {
			id, v.free = v.free[n-1], v.free[:n-1]
		} else {
			id = uint32(len(v.terms))
			v.terms = append(v.terms, term{})
		}
		v.terms[id] = term{hash: h}
		if kind != lexical.Character {
			v.terms[id].word = string(b)
		}
		v.ids[h] = id
	}
	return id
}

func (v *vocabulary) add(id, slot uint32, count int) {
	t := &v.terms[id]
	p := newPosting(slot, count)
	if n := len(t.posts); n == 0 || t.posts[n-1] < p {
		t.posts = append(t.posts, p)
		return
	}
	i, _ := slices.BinarySearch(t.posts, posting(slot<<8))
	t.posts = slices.Insert(t.posts, i, p)
}

func (v *vocabulary) remove(id, slot uint32) {
	t := &v.terms[id]
	i, _ := slices.BinarySearch(t.posts, posting(slot<<8))
	if len(t.posts) > 1 {
		t.posts = slices.Delete(t.posts, i, i+1)
		return
	}
	delete(v.ids, t.hash)
	*t = term{}
	v.free = append(v.free, id)
}

// idf is the weight of a term that df of n memories use.
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
}

// grams is the number of four-character runs of a term with a spelling.
func (t *term) grams() int {
	if t.word == "" {
		return 0
	}
	return max(0, utf8.RuneCountInString(t.word)+2-lexical.GramLen+1)
}
