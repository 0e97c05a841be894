package index

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"reverie/internal/lexical"
)

// Partition is the index of one partition. All methods may be called
// concurrently: searches run side by side, a change waits for them and they for it.
type Partition struct {
	analyzer *lexical.Analyzer

	mu    sync.RWMutex
	byRID map[int64]uint32
	// Memories live in slots. The arrays are parallel: lengths are read for
	// every posting and so do not lie among what is read rarely.
	docs    []doc
	lengths []length
	free    []uint32 // slots to use again

	words         vocabulary
	dense         vectors
	unrelated     float64 // see Calibrate
	conversations map[string]*conversation
	labels        labels

	total   struct{ terms, grams int64 } // sums of lengths
	held    int                          // bytes of docs' slices
	scratch []uint32                     // term ids of the memory being added
	pool    sync.Pool                    // of *search
}

// doc is what is kept of a memory. A free slot has live false.
type doc struct {
	Meta
	live         bool
	terms        []uint32 // ids, ascending, each once
	rows         []uint32 // passages in dense
	conversation *conversation
	label        uint32
}

// length is how long a memory is, repetitions counted: in terms, and in runs of letters.
type length struct{ terms, grams uint32 }

// New makes an empty partition whose texts and queries a cuts into words.
func New(a *lexical.Analyzer) *Partition {
	return &Partition{
		analyzer:      a,
		byRID:         make(map[int64]uint32),
		words:         newVocabulary(),
		unrelated:     builtinUnrelated,
		conversations: make(map[string]*conversation),
		labels:        newLabels(),
	}
}

// Put adds a memory or replaces the one with its RID. A vector that does not
// fit the others' dimension, or is unusable in itself, is an error that wraps
// [ErrVector] and changes nothing.
func (p *Partition) Put(d Doc) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.dense.fits(d.Vectors); err != nil {
		return fmt.Errorf("put memory %d: %w", d.RID, err)
	}
	p.remove(d.RID)
	slot := p.takeSlot()
	n := &p.docs[slot]
	*n = doc{Meta: d.Meta, live: true, label: p.label(d.SaidBy, d.Text)}
	p.putWords(slot, d.Text)
	p.putContext(slot)
	if len(d.Vectors) > 0 {
		n.rows = make([]uint32, len(d.Vectors))
		for i, v := range d.Vectors {
			n.rows[i] = p.dense.add(slot, v)
		}
	}
	p.held += n.held()
	p.byRID[d.RID] = slot
	return nil
}

func (p *Partition) putWords(slot uint32, text string) {
	ids := p.scratch[:0]
	// An id is doubled, plus one for a gloss: sorted, the uses of a term lie
	// together, and the first is a gloss only if all are.
	p.analyzer.Terms(text, func(t []byte, kind lexical.Kind) {
		id := p.words.id(t, kind) << 1
		if kind == lexical.Gloss {
			id++
		}
		ids = append(ids, id)
	})
	p.scratch = ids
	slices.Sort(ids)
	l := length{terms: uint32(len(ids))}
	distinct := 0
	for i := 0; i < len(ids); {
		id := ids[i] >> 1
		j := i + 1
		for j < len(ids) && ids[j]>>1 == id {
			j++
		}
		p.words.add(id, slot, j-i, ids[i]&1 != 0)
		l.grams += uint32(j-i) * uint32(p.words.terms[id].grams)
		ids[distinct] = id
		distinct++
		i = j
	}
	p.docs[slot].terms = slices.Clone(ids[:distinct])
	p.lengths[slot] = l
	p.total.terms += int64(l.terms)
	p.total.grams += int64(l.grams)
}

// Remove takes a memory out; an RID that is not there is no error.
func (p *Partition) Remove(rid int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(rid)
}

func (p *Partition) remove(rid int64) {
	slot, ok := p.byRID[rid]
	if !ok {
		return
	}
	n := &p.docs[slot]
	p.held -= n.held()
	for _, id := range n.terms {
		p.words.remove(id, slot)
	}
	for _, row := range n.rows {
		p.dense.remove(row)
	}
	p.removeContext(slot)
	p.labels.release(n.label)
	p.total.terms -= int64(p.lengths[slot].terms)
	p.total.grams -= int64(p.lengths[slot].grams)
	p.lengths[slot] = length{}
	delete(p.byRID, rid)
	*n = doc{}
	p.free = append(p.free, slot)
}

func (p *Partition) takeSlot() uint32 {
	if n := len(p.free); n > 0 {
		slot := p.free[n-1]
		p.free = p.free[:n-1]
		return slot
	}
	p.docs = append(p.docs, doc{})
	p.lengths = append(p.lengths, length{})
	return uint32(len(p.docs) - 1)
}

// newer orders slots: the memory made last first, the higher RID of two made at once.
func (p *Partition) newer(a, b uint32) int {
	x, y := &p.docs[a], &p.docs[b]
	return cmp.Or(cmp.Compare(y.Created, x.Created), cmp.Compare(y.RID, x.RID))
}

// Len is the number of memories in the partition.
func (p *Partition) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.byRID)
}

// held is what the slices of a doc take, strings of tags included.
func (d *doc) held() int {
	n := 4 * (cap(d.terms) + cap(d.rows))
	for _, t := range d.Tags {
		n += int(unsafe.Sizeof(t)) + len(t)
	}
	return n
}

// mapEntry is about what one entry of a map of small keys and values takes.
const mapEntry = 28

// Bytes is about the memory the partition takes, for a cache with a budget.
// It costs next to nothing to ask.
func (p *Partition) Bytes() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := int(unsafe.Sizeof(*p))
	n += cap(p.docs) * int(unsafe.Sizeof(doc{}))
	n += cap(p.lengths) * int(unsafe.Sizeof(length{}))
	n += p.held
	n += (len(p.byRID) + len(p.words.ids)) * mapEntry
	n += cap(p.words.terms)*int(unsafe.Sizeof(term{})) + 4*p.words.postingCap + cap(p.words.letters)
	n += 4 * (cap(p.words.free) + cap(p.free) + cap(p.scratch))
	n += p.dense.bytes()
	n += len(p.conversations)*(mapEntry+64) + 4*len(p.byRID)
	n += len(p.labels.all) * 64
	return int64(n)
}
