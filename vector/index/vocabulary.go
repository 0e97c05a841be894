package index

import (
	"hash/maphash"
	"math"
	"slices"

	"reverie/internal/lexical"
)

// posting is one memory's use of a term: slot<<8 | glossed | count.
type posting uint32

const (
	maxCount = 127
	// glossed marks a term that the memory has as a gloss only.
	glossed = 128
)

func newPosting(slot uint32, count int, gloss bool) posting {
	p := posting(slot<<8 | uint32(min(count, maxCount)))
	if gloss {
		p |= glossed
	}
	return p
}

func (p posting) slot() uint32 { return uint32(p >> 8) }
func (p posting) count() int   { return int(p & maxCount) }

// worth is what the term counts in the memory: less if it is a gloss only.
func (p posting) worth() float32 {
	if p&glossed != 0 {
		return glossWeight
	}
	return 1
}

// term is an entry of the vocabulary.
type term struct {
	hash  uint64
	posts []posting // sorted by slot; empty for a free entry
	// spelling is where the letters of a word lie in vocabulary.letters, and
	// how many they are. Terms that are not words have none.
	spellingAt  uint32
	spellingLen uint8
	grams       uint8 // runs of letters in the spelling
}

// maxSpelling is the length in bytes above which a word is not compared by
// letters: such words are keys and hashes.
const maxSpelling = 64

// vocabulary is an inverted index whose terms are known by a 64-bit hash.
type vocabulary struct {
	seed  maphash.Seed
	ids   map[uint64]uint32
	terms []term
	free  []uint32
	// letters holds the spellings one after another, those of terms that are
	// gone among them until they are more than half of it.
	letters []byte
	wasted  int
	// postingCap sums the capacities of all postings, for accounting.
	postingCap int
}

func newVocabulary() vocabulary {
	return vocabulary{seed: maphash.MakeSeed(), ids: make(map[uint64]uint32)}
}

func (v *vocabulary) hash(b []byte) uint64 { return maphash.Bytes(v.seed, b) }

// id finds a term or makes it.
func (v *vocabulary) id(b []byte, kind lexical.Kind) uint32 {
	h := v.hash(b)
	if id, ok := v.ids[h]; ok {
		return id
	}
	t := term{hash: h}
	if kind != lexical.Character && len(b) <= maxSpelling {
		t.spellingAt, t.spellingLen = uint32(len(v.letters)), uint8(len(b))
		t.grams = uint8(lexical.CountGrams(b))
		v.letters = append(v.letters, b...)
	}
	var id uint32
	if n := len(v.free); n > 0 {
		id, v.free = v.free[n-1], v.free[:n-1]
		v.terms[id] = t
	} else {
		id = uint32(len(v.terms))
		v.terms = append(v.terms, t)
	}
	v.ids[h] = id
	return id
}

func (v *vocabulary) spelling(t *term) []byte {
	return v.letters[t.spellingAt : t.spellingAt+uint32(t.spellingLen)]
}

// df is the number of memories that use a term.
func (v *vocabulary) df(hash uint64) int {
	id, ok := v.ids[hash]
	if !ok {
		return 0
	}
	return len(v.terms[id].posts)
}

// add notes that a memory uses a term, and whether as a gloss only. Each memory
// adds a term once.
func (v *vocabulary) add(id, slot uint32, count int, gloss bool) {
	t := &v.terms[id]
	before := cap(t.posts)
	p := newPosting(slot, count, gloss)
	if n := len(t.posts); n == 0 || t.posts[n-1] < p {
		t.posts = append(t.posts, p)
	} else {
		i, _ := slices.BinarySearch(t.posts, posting(slot<<8))
		t.posts = slices.Insert(t.posts, i, p)
	}
	v.postingCap += cap(t.posts) - before
}

// remove takes back what add noted. The last use of a term frees it.
func (v *vocabulary) remove(id, slot uint32) {
	t := &v.terms[id]
	if len(t.posts) > 1 {
		i, _ := slices.BinarySearch(t.posts, posting(slot<<8))
		t.posts = slices.Delete(t.posts, i, i+1)
		return
	}
	v.postingCap -= cap(t.posts)
	v.wasted += int(t.spellingLen)
	delete(v.ids, t.hash)
	*t = term{}
	v.free = append(v.free, id)
	if v.wasted > 1024 && v.wasted > len(v.letters)/2 {
		v.compact()
	}
}

// compact drops the spellings of terms that are gone.
func (v *vocabulary) compact() {
	letters := make([]byte, 0, len(v.letters)-v.wasted)
	for i := range v.terms {
		t := &v.terms[i]
		at := uint32(len(letters))
		letters = append(letters, v.spelling(t)...)
		t.spellingAt = at
	}
	v.letters, v.wasted = letters, 0
}

// idf is the weight of a term that df of n memories use.
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
}
