package index

import (
	"fmt"
	"slices"
	"sync"

	"reverie/internal/lexical"
)

// Partition is the index of one partition. All methods may be called
// concurrently: searches run side by side, a change waits for them and they for it.
type Partition struct {
	analyzer *lexical.Analyzer

	mu    sync.RWMutex
	byRID map[int64]uint32
	docs  []doc    // by slot
	free  []uint32 // slots to use again
	words vocabulary
	dense vectors

	tokens, letters int64 // sums over the live docs

	scratch []uint32 // term ids of the doc being added
	pool    sync.Pool
}

// doc is what is kept of a memory. A free slot has live false.
type doc struct {
	Meta
	live    bool
	terms   []uint32 // ids, ascending, each once
	tokens  uint32   // terms with repetitions
	letters uint32   // grams of the words with repetitions
	rows    []uint32 // passages in dense
}

// New makes an empty partition.
func New(a *lexical.Analyzer) *Partition {
	return &Partition{
		analyzer: a,
		byRID:    make(map[int64]uint32),
		words:    newVocabulary(),
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
	*n = doc{Meta: d.Meta, live: true}

	ids := p.scratch[:0]
	p.analyzer.Terms(d.Text, func(t []byte, kind lexical.Kind) {
		ids = append(ids, p.words.id(t, kind))
	})
	p.scratch = ids
	slices.Sort(ids)
	n.tokens = uint32(len(ids))
	distinct := 0
	for i := 0; i < len(ids); {
		j := i + 1
		for j < len(ids) && ids[j] == ids[i] {
			j++
		}
		p.words.add(ids[i], slot, j-i)
		n.letters += uint32((j - i) * p.words.terms[ids[i]].grams())
		ids[distinct] = ids[i]
		distinct++
		i = j
	}
	n.terms = slices.Clone(ids[:distinct])
	p.tokens += int64(n.tokens)
	p.letters += int64(n.letters)
	for _, v := range d.Vectors {
		n.rows = append(n.rows, p.dense.add(slot, v))
	}
	p.byRID[d.RID] = slot
	return nil
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
	for _, id := range n.terms {
		p.words.remove(id, slot)
	}
	for _, row := range n.rows {
		p.dense.remove(row)
	}
	p.tokens -= int64(n.tokens)
	p.letters -= int64(n.letters)
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
	return uint32(len(p.docs) - 1)
}

// Len is the number of memories in the partition.
func (p *Partition) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.byRID)
}

// Bytes estimates the memory the partition takes, for a cache with a budget.
func (p *Partition) Bytes() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return int64(len(p.docs))*(1200+int64(p.dense.dim)) + 1024
}
