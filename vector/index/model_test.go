package index_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"reverie/internal/lexical"
	"reverie/vector/index"
)

// someDoc draws a memory out of few words, so that many share some.
func someDoc(t *rapid.T, rid int64) index.Doc {
	words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields(
		"Anna: kettle kettles whistle garden gardens 早报 用户身份 C盘 don't v1.2 самовар café mother-in-law running ran")), 0, 8).Draw(t, "words")
	d := index.Doc{Meta: index.Meta{
		RID:          rid,
		Created:      rapid.Int64Range(0, 5).Draw(t, "created"),
		Importance:   uint8(rapid.IntRange(0, 2).Draw(t, "importance")),
		Conversation: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "conversation"),
	}, Text: strings.Join(words, " ")}
	for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "passages") {
		d.Vectors = append(d.Vectors, someVec(t))
	}
	return d
}

func someVec(t *rapid.T) index.Vec {
	v := make([]float32, 4)
	for i := range v {
		v[i] = float32(rapid.IntRange(-3, 3).Draw(t, "component"))
	}
	v[0] += 10
	q, err := index.Quantize(v)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func someQuery(t *rapid.T) index.Query {
	words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields("Anna kettle whistling garden 早报 身份 C盘 dont v1.2 самовары cafe mother run ???")), 0, 5).Draw(t, "query")
	q := index.Query{Text: strings.Join(words, " "), DenseTrusted: rapid.Bool().Draw(t, "trusted")}
	if rapid.Bool().Draw(t, "vector") {
		q.Vector = someVec(t).Float()
	}
	return q
}

func sameResults(a, b index.Result) error {
	if a.Considered != b.Considered || len(a.Hits) != len(b.Hits) || a.Confidence != b.Confidence {
		return fmt.Errorf("%+v, want %+v", a, b)
	}
	for i, h := range a.Hits {
		w := b.Hits[i]
		if h.RID != w.RID || h.Match != w.Match || h.HasDistance != w.HasDistance ||
			math.Abs(h.Score-w.Score) > 1e-9 || math.Abs(h.Distance-w.Distance) > 1e-6 {
			return fmt.Errorf("hit %d is %+v, want %+v", i, h, w)
		}
	}
	return nil
}

// TestHistoryLeavesNoTrace: a partition that went through any changes answers
// as one that was filled with what is left, in the same order or another.
func TestHistoryLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := index.New(lexical.New(nil))
		model := make(map[int64]index.Doc)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			rid := rapid.Int64Range(1, 15).Draw(t, "rid")
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				p.Remove(rid)
				delete(model, rid)
				continue
			}
			d := someDoc(t, rid)
			if err := p.Put(d); err != nil {
				t.Fatal(err)
			}
			model[rid] = d
		}
		fresh := index.New(lexical.New(nil))
		for _, d := range model { // in the map's order, that is any
			if err := fresh.Put(d); err != nil {
				t.Fatal(err)
			}
		}
		if p.Len() != len(model) {
			t.Fatalf("%d memories, want %d", p.Len(), len(model))
		}
		for range 3 {
			q := someQuery(t)
			if err := sameResults(p.Search(q, nil, 50), fresh.Search(q, nil, 50)); err != nil {
				t.Fatalf("search %+v: %v", q, err)
			}
			vs := []index.Vec{someVec(t)}
			got, want := p.Similar(vs, q.Text, nil, 50), fresh.Similar(vs, q.Text, nil, 50)
			if err := sameResults(index.Result{Hits: got}, index.Result{Hits: want}); err != nil {
				t.Fatalf("similar to %q: %v", q.Text, err)
			}
		}
	})
}

// TestFilterIsRebuild: a search with a filter ranks as a partition without the
// memories filtered out would, if these do not change the rarity of words and
// the average length. So that they do not, there is one of equal words among
// them for each that stays.
func TestFilterIsRebuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, kept := index.New(lexical.New(nil)), index.New(lexical.New(nil))
		for i := range rapid.Int64Range(1, 12).Draw(t, "memories") {
			d := someDoc(t, 2*i)
			d.Importance = 1
			twin := d
			twin.RID++
			twin.Importance = 0
			// The twin has the same words, but another meaning and conversation.
			twin.Vectors = []index.Vec{someVec(t)}
			twin.Conversation = rapid.SampledFrom([]string{"", "x", "z"}).Draw(t, "other")
			for _, x := range []index.Doc{twin, d} {
				if err := all.Put(x); err != nil {
					t.Fatal(err)
				}
			}
			// Rarity depends on both the memories and those with a word; with
			// each counted twice it is that of the whole partition.
			shadow := d
			shadow.RID += 1000
			shadow.Importance = 0
			shadow.Vectors, shadow.Conversation = nil, ""
			for _, x := range []index.Doc{d, shadow} {
				if err := kept.Put(x); err != nil {
					t.Fatal(err)
				}
			}
		}
		keep := func(m *index.Meta) bool { return m.Importance == 1 }
		q := someQuery(t)
		if err := sameResults(all.Search(q, keep, 50), kept.Search(q, keep, 50)); err != nil {
			t.Fatalf("search %+v: %v", q, err)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	docs := corpus(200)
	p := build(t, docs)
	before := p.Search(index.Query{Text: docs[0].Text}, nil, 5)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				d := docs[(g*50+i)%len(docs)]
				switch g {
				case 0:
					p.Remove(d.RID)
					if err := p.Put(d); err != nil {
						t.Error(err)
					}
				case 1:
					p.Similar(d.Vectors, d.Text, nil, 3)
				default:
					p.Search(index.Query{Text: d.Text, Vector: d.Vectors[0].Float(), DenseTrusted: true}, nil, 10)
					p.Bytes()
				}
			}
		})
	}
	wg.Wait()
	if err := sameResults(p.Search(index.Query{Text: docs[0].Text}, nil, 5), before); err != nil {
		t.Error(err)
	}
}

// TestMemoryIsGivenBack: what Bytes counts does not grow with changes, and an
// empty partition holds next to nothing per change it went through.
func TestMemoryIsGivenBack(t *testing.T) {
	docs := corpus(300)
	p := build(t, docs)
	full := p.Bytes()
	for range 5 {
		for _, d := range docs {
			if err := p.Put(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := p.Bytes(); got > full+full/5 {
		t.Errorf("%d bytes after the same memories were put again and again, %d at first", got, full)
	}
	for _, d := range docs {
		p.Remove(d.RID)
	}
	if got := p.Bytes(); got > full/2 {
		t.Errorf("an empty partition holds %d bytes of %d", got, full)
	}
}
