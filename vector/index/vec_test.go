package index_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reverie/vector/index"
)

func TestQuantize(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, v := range map[string][]float32{
		"empty": {}, "zero": {0, 0}, "NaN": {1, nan}, "infinite": {inf, 1}, "too long": make([]float32, index.MaxDim+1),
	} {
		if _, err := index.Quantize(v); !errors.Is(err, index.ErrVector) {
			t.Errorf("%s: error %v, want ErrVector", name, err)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	v := randomVector(rng)
	q, err := index.Quantize(v)
	if err != nil {
		t.Fatal(err)
	}
	var dot, vv, qq float64
	for i, x := range q.Float() {
		dot += float64(x) * float64(v[i])
		vv += float64(v[i]) * float64(v[i])
		qq += float64(x) * float64(x)
	}
	if cos := dot / math.Sqrt(vv*qq); cos < 0.9995 || math.Abs(qq-1) > 0.01 {
		t.Errorf("quantised vector has cosine %v with its original and length %v", cos, math.Sqrt(qq))
	}
	for _, tiny := range [][]float32{{1e-40, 2e-40}, {math.MaxFloat32, 1}} {
		if _, err := index.Quantize(tiny); err != nil {
			t.Errorf("%v: %v", tiny, err)
		}
	}
}

func TestVecsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 40).Draw(t, "dim")
		n := rapid.IntRange(0, 5).Draw(t, "n")
		var vs []index.Vec
		for range n {
			v := rapid.SliceOfN(rapid.Float32Range(-2, 2), dim, dim).Draw(t, "v")
			v[0] += 3
			q, err := index.Quantize(v)
			if err != nil {
				t.Fatal(err)
			}
			vs = append(vs, q)
		}
		b, err := index.EncodeVecs(vs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := index.DecodeVecs(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(vs, got); diff != "" {
			t.Fatalf("round trip (-want +got):\n%s", diff)
		}
	})
}

func TestEncodeErrors(t *testing.T) {
	one := index.Vec{Scale: 1, Q: []int8{1}}
	for name, vs := range map[string][]index.Vec{
		"dimensions": {one, {Scale: 1, Q: []int8{1, 2}}},
		"zero":       {{Scale: 1, Q: []int8{0}}},
		"no scale":   {{Q: []int8{1}}},
		"NaN":        {{Scale: float32(math.NaN()), Q: []int8{1}}},
	} {
		if _, err := index.EncodeVecs(vs); !errors.Is(err, index.ErrVector) {
			t.Errorf("encode %s: error %v, want ErrVector", name, err)
		}
		p := newPartition()
		put(t, p, index.Doc{Meta: index.Meta{RID: 1}, Text: "kept"})
		if err := p.Put(index.Doc{Meta: index.Meta{RID: 1}, Text: "lost", Vectors: vs}); !errors.Is(err, index.ErrVector) {
			t.Errorf("put %s: error %v, want ErrVector", name, err)
		}
		if r := p.Search(index.Query{Text: "kept"}, nil, 1); r.Hits[0].Match != index.Words || r.Confidence == index.Low {
			t.Errorf("put %s: a refused memory replaced the one there: %+v", name, r)
		}
	}
}

func FuzzDecodeVecs(f *testing.F) {
	good, err := index.EncodeVecs([]index.Vec{{Scale: 1, Q: []int8{1, -2, 3}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:5])
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0})
	f.Add([]byte{2, 1, 0, 0, 0, 128, 63, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		vs, err := index.DecodeVecs(b)
		if err != nil {
			if !errors.Is(err, index.ErrVector) {
				t.Errorf("error %v does not wrap ErrVector", err)
			}
			return
		}
		again, err := index.EncodeVecs(vs)
		if err != nil || string(again) != string(b) {
			t.Errorf("%x decodes and encodes to %x, %v", b, again, err)
		}
	})
}
