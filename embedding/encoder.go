package embedding

import (
	"math"
	"sync"

	"reverie/internal/simd"
)

// encoder runs the model. Any number of goroutines may use one at once.
type encoder struct {
	model   *model
	kernels simd.Kernels
	scratch sync.Pool // of *scratch
}

func newEncoder(m *model, k simd.Kernels) *encoder {
	e := &encoder{model: m, kernels: k}
	e.scratch.New = func() any { return newScratch() }
	return e
}

// scratch is the memory of one pass, for the longest input there is. Pages that
// short inputs do not reach are never touched.
type scratch struct {
	x     []float32 // the rows between the layers
	y     []float32 // what a layer adds to them
	wide  []float32 // queries, keys and values; then the hidden rows
	fixed []int16   // rows as the matrices take them
	step  []float32 // their steps
	att   []float32 // how much a row looks at each other
	ones  []float32
	row   [dim]float32
}

func newScratch() *scratch {
	s := &scratch{
		x:     make([]float32, maxPieces*dim),
		y:     make([]float32, maxPieces*dim),
		wide:  make([]float32, maxPieces*hiddenDim),
		fixed: make([]int16, maxPieces*hiddenDim),
		step:  make([]float32, maxPieces),
		att:   make([]float32, maxPieces),
		ones:  make([]float32, dim),
	}
	for i := range s.ones {
		s.ones[i] = 1
	}
	return s
}

var noFloor = float32(math.Inf(-1))

// encode returns the unit vector of 1 to maxPieces pieces.
func (e *encoder) encode(ids []uint16) []float32 {
	s := e.scratch.Get().(*scratch)
	defer e.scratch.Put(s)
	m, k, n := e.model, &e.kernels, len(ids)
	x := s.x[:n*inputDim]
	m.input(x, ids)
	for i := range m.layer {
		x = s.layer(k, m, &m.layer[i], x, n)
	}
	mean := s.row[:]
	clear(mean)
	for t := range n {
		k.AddScaled(mean, x[t*dim:(t+1)*dim], 1/float32(n))
	}
	s.quantize(k, &m.final, mean, 1)
	out := make([]float32, dim)
	k.Mul(out, s.fixed[:dim], s.step[:1], &m.final, noFloor)
	var square float64
	for i, v := range out {
		tanh := math.Tanh(float64(v))
		square += tanh * tanh
		out[i] = float32(tanh)
	}
	scale := float32(1 / math.Sqrt(max(square, 1e-12)))
	for i := range out {
		out[i] *= scale
	}
	return out
}

// input fills the rows of the first layer: each piece twice its embedding and
// what its position adds.
func (m *model) input(x []float32, ids []uint16) {
	for t, id := range ids {
		scale := 2 * m.scale[id]
		row, timing := x[t*inputDim:(t+1)*inputDim], m.timing[t*inputDim:(t+1)*inputDim]
		for i, q := range m.embed[int(id)*inputDim : (int(id)+1)*inputDim] {
			row[i] = scale*float32(q) + timing[i]
		}
	}
}

// layer runs one layer over n rows and returns the rows after it. The first
// layer's rows are narrower, so that a matrix carries them past its attention.
func (s *scratch) layer(k *simd.Kernels, m *model, l *layer, x []float32, n int) []float32 {
	s.normalize(k, &l.attention, l.attentionNorm, x, n)
	qkv := s.wide[:n*3*l.in]
	k.Mul(qkv, s.fixed, s.step[:n], &l.attention, noFloor)
	y := s.y[:n*dim]
	if l.in == dim {
		s.attend(k, l, qkv, n)
		k.Mul(y, s.fixed, s.step[:n], &l.output, noFloor)
	} else {
		s.quantize(k, &m.shortcut, x, n)
		k.Mul(y, s.fixed, s.step[:n], &m.shortcut, noFloor)
		s.attend(k, l, qkv, n)
		x = s.x[:n*dim]
		k.Mul(x, s.fixed, s.step[:n], &l.output, noFloor)
	}
	k.AddScaled(x, y, 1)

	s.normalize(k, &l.expand, l.feedNorm, x, n)
	hidden := s.wide[:n*hiddenDim]
	k.Mul(hidden, s.fixed, s.step[:n], &l.expand, 0)
	s.quantize(k, &l.contract, hidden, n)
	k.Mul(y, s.fixed, s.step[:n], &l.contract, noFloor)
	k.AddScaled(x, y, 1)
	return x
}

// quantize makes n rows of x fixed-point numbers for matrix to.
func (s *scratch) quantize(k *simd.Kernels, to *simd.Matrix, x []float32, n int) {
	for t := range n {
		s.step[t] = k.Quantize(s.fixed[t*to.K:(t+1)*to.K], x[t*to.K:(t+1)*to.K], to.Limit())
	}
}

// normalize does so with the rows brought to mean 0 and variance 1 first.
func (s *scratch) normalize(k *simd.Kernels, to *simd.Matrix, by scaling, x []float32, n int) {
	width := to.K
	row, gain, offset := s.row[:width], by.gain[:width], by.offset[:width]
	for t := range n {
		in := x[t*width : (t+1)*width]
		mean := k.Dot(in, s.ones[:width]) / float32(width)
		for i, v := range in {
			row[i] = v - mean
		}
		inverse := float32(1 / math.Sqrt(float64(k.Dot(row, row)/float32(width))+1e-6))
		for i, v := range row {
			row[i] = v*inverse*gain[i] + offset[i]
		}
		s.step[t] = k.Quantize(s.fixed[t*width:(t+1)*width], row, to.Limit())
	}
}

// attend mixes the rows: each takes from all others by how well its query fits
// their keys. The result becomes fixed-point numbers for the output matrix.
func (s *scratch) attend(k *simd.Kernels, l *layer, qkv []float32, n int) {
	width := l.in / heads
	scale := float32(1 / math.Sqrt(float64(width)))
	att, row := s.att[:n], s.row[:l.in]
	for t := range n {
		for from := 0; from < l.in; from += width {
			k.Dots(att, qkv[t*3*l.in+from:][:width], qkv[l.in+from:], 3*l.in)
			top := att[0]
			for _, fit := range att[1:] {
				if fit > top {
					top = fit
				}
			}
			var sum float32
			for u, fit := range att {
				weight := expNegative((fit - top) * scale)
				att[u] = weight
				sum += weight
			}
			out := row[from : from+width]
			k.Sum(out, att, qkv[2*l.in+from:], 3*l.in)
			for i := range out {
				out[i] /= sum
			}
		}
		s.step[t] = k.Quantize(s.fixed[t*l.in:(t+1)*l.in], row, l.output.Limit())
	}
}

// expNegative is e^x for x at most 0, with a relative error below 1e-6. It
// splits x into a power of two and a rest, for which a polynomial serves.
func expNegative(x float32) float32 {
	if !(x > -87) {
		return 0
	}
	const (
		log2e = 1.4426950408889634
		ln2hi = 0.693359375 // has few enough digits that power*ln2hi is exact
		ln2lo = -2.12194440e-4
		shift = 3 << 22 // adding it rounds to an integer
	)
	rounded := float32(x*log2e) + shift
	power := rounded - shift
	r := float32(x - float32(power*ln2hi))
	r -= power * ln2lo
	p := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720))))))
	return p * math.Float32frombits(uint32(int32(power)+127)<<23)
}
