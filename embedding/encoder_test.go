package embedding

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/gloss"
	"reverie/internal/simd"
)

type reference struct {
	text   string
	ids    []uint16
	vector []float32
}

// references reads texts with the pieces and vectors of another implementation.
func references(t *testing.T) (refs []reference) {
	t.Helper()
	f, err := os.Open("testdata/reference.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	numbers := func() (out []float64) {
		if !lines.Scan() {
			t.Fatal("reference.txt ends early")
		}
		for _, s := range strings.Fields(lines.Text()) {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		return out
	}
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var r reference
		if r.text, err = strconv.Unquote(lines.Text()); err != nil {
			t.Fatal(err)
		}
		for _, v := range numbers() {
			r.ids = append(r.ids, uint16(v))
		}
		for _, v := range numbers() {
			r.vector = append(r.vector, float32(v/1e5))
		}
		refs = append(refs, r)
	}
	return refs
}

func testModel(t testing.TB) *model {
	t.Helper()
	m, err := loadModel(modelData)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func TestEncoderMatchesReference(t *testing.T) {
	m, dict := testModel(t), gloss.Default()
	refs := references(t)
	if len(refs) < 8 {
		t.Fatalf("%d references", len(refs))
	}
	for _, ref := range refs {
		ids := m.tokens.tokenize(nil, dict.English(ref.text), maxInt)
		if diff := cmp.Diff(ref.ids, ids); diff != "" {
			t.Errorf("pieces of %q (-want +got):\n%s", ref.text, diff)
		}
		var portable []float32
		for _, k := range simd.All() {
			v := newEncoder(m, k).encode(ref.ids)
			if got := cosine(v, ref.vector); got < .9999 {
				t.Errorf("%s: cosine %.6f to the reference of %q", k.Name, got, ref.text)
			}
			if length := cosine(v, v); math.Abs(length-1) > 1e-6 {
				t.Errorf("%s: %q has length %v", k.Name, ref.text, length)
			}
			if portable == nil {
				portable = v
			}
			for i := range v {
				if math.Abs(float64(v[i]-portable[i])) > 1e-4 {
					t.Fatalf("%s: [%d] of %q = %v, portable %v", k.Name, i, ref.text, v[i], portable[i])
				}
			}
		}
	}
}

// Scratch memory that a longer input has filled must not show in a shorter one.
func TestEncodeDoesNotDependOnEarlierInput(t *testing.T) {
	m := testModel(t)
	e := newEncoder(m, simd.Best())
	short := m.tokens.tokenize(nil, "A short text.", maxInt)
	want := e.encode(short)
	long := make([]uint16, maxPieces)
	for i := range long {
		long[i] = uint16(100 + 7*i)
	}
	for range 3 {
		e.encode(long)
		if diff := cmp.Diff(want, e.encode(short)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestExpNegative(t *testing.T) {
	for x := float32(0); x > -87; x -= .0137 {
		want := math.Exp(float64(x))
		if got := float64(expNegative(x)); math.Abs(got-want) > 1e-6*want {
			t.Fatalf("e^%v = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float32{-87, -1e30, float32(math.Inf(-1)), float32(math.NaN())} {
		if got := expNegative(x); got != 0 {
			t.Errorf("e^%v = %v, want 0", x, got)
		}
	}
}

func TestModelHasValidMatrices(t *testing.T) {
	m := testModel(t)
	matrices := []*simd.Matrix{&m.shortcut, &m.final}
	for i := range m.layer {
		l := &m.layer[i]
		matrices = append(matrices, &l.attention, &l.output, &l.expand, &l.contract)
	}
	for i, matrix := range matrices {
		if err := matrix.Check(); err != nil {
			t.Errorf("matrix %d: %v", i, err)
		}
		for _, w := range matrix.Weights {
			if w == -128 {
				t.Fatalf("matrix %d has a weight of -128, which may overflow", i)
			}
		}
	}
}

func TestLoadModelRefusesDamage(t *testing.T) {
	for _, data := range []string{"", "RUE1", modelData[:1000], modelData[:len(modelData)-1], modelData + "x", "XUE1" + modelData[4:], "RUE1\xff\xff\xff\xff\xff\xff\xff\xff" + modelData[12:]} {
		if _, err := loadModel(data); err == nil {
			t.Errorf("loadModel accepts %d bytes", len(data))
		}
	}
}
