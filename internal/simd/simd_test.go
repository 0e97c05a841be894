package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func randomFloats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func randomInt8(r *rand.Rand, n int) []int8 {
	x := make([]int8, n)
	for i := range x {
		x[i] = int8(r.IntN(255) - 127)
	}
	return x
}

// near reports whether a and b agree but for the order of additions of terms of size.
func near(a, b, size float32) bool {
	return math.Abs(float64(a-b)) <= 1e-5*(float64(size)+1)
}

// Every length, and every alignment of the start within 16 elements, gives the
// portable result.
func TestVectorKernelsMatchPortable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a8, b8 := randomInt8(r, 1200), randomInt8(r, 1200)
	a, b := randomFloats(r, 1200), randomFloats(r, 1200)
	for n := 0; n <= 1100; n++ {
		from := n % 16
		x8, y8 := a8[from:from+n], b8[from:from+n]
		if got, want := DotInt8(x8, y8), dotInt8Portable(x8, y8); got != want {
			t.Fatalf("DotInt8 of %d = %d, want %d", n, got, want)
		}
		x, y := a[from:from+n], b[from:from+n]
		if got, want := Dot(x, y), dotPortable(x, y); !near(got, want, dotPortable(x, x)) {
			t.Fatalf("Dot of %d = %v, want %v", n, got, want)
		}
		for _, k := range All() {
			if got, want := k.Dot(x, y), dotPortable(x, y); !near(got, want, dotPortable(x, x)) {
				t.Fatalf("%s: Dot of %d = %v, want %v", k.Name, n, got, want)
			}
			if got, want := k.maxAbs(x), maxAbsPortable(x); got != want {
				t.Fatalf("%s: maxAbs of %d = %v, want %v", k.Name, n, got, want)
			}
			checkWrites(t, k, x, y)
		}
	}
}

// checkWrites tests the kernels that write, with sentinels around the target.
func checkWrites(t *testing.T, k Kernels, x, y []float32) {
	t.Helper()
	n := len(x)
	got, want := make([]float32, n+2), make([]float32, n+2)
	copy(got[1:], y)
	copy(want[1:], y)
	got[n+1], want[n+1] = 7, 7
	k.AddScaled(got[1:n+1], x, .37)
	addScaledPortable(want[1:n+1], x, .37)
	for i := range got {
		if !near(got[i], want[i], 1) {
			t.Fatalf("%s: AddScaled of %d: [%d] = %v, want %v", k.Name, n, i-1, got[i], want[i])
		}
	}
	gotQ, wantQ := make([]int16, n+2), make([]int16, n+2)
	gotQ[0], wantQ[0], gotQ[n+1], wantQ[n+1] = 7, 7, 7, 7
	p := portable()
	gotStep, wantStep := k.Quantize(gotQ[1:n+1], x, 11_000), p.Quantize(wantQ[1:n+1], x, 11_000)
	if gotStep != wantStep {
		t.Fatalf("%s: Quantize of %d: step %v, want %v", k.Name, n, gotStep, wantStep)
	}
	for i := range gotQ {
		if gotQ[i] != wantQ[i] {
			t.Fatalf("%s: Quantize of %d: [%d] = %v, want %v", k.Name, n, i-1, gotQ[i], wantQ[i])
		}
	}
}

func TestRowKernelsMatchPortable(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{0, 1, 8, 24, 63, 64, 65, 128, 200} {
		for rows := 0; rows <= 9; rows++ {
			for _, stride := range []int{n, n + 5} {
				data, q := randomFloats(r, rows*stride+n), randomFloats(r, n)
				weights := randomFloats(r, rows)
				for _, k := range All() {
					got, want := make([]float32, rows+1), make([]float32, rows+1)
					k.Dots(got[:rows], q, data, stride)
					dotsPortable(want[:rows], q, data, stride)
					for i := range got {
						if !near(got[i], want[i], float32(n)) {
							t.Fatalf("%s: Dots of %d rows of %d: [%d] = %v, want %v", k.Name, rows, n, i, got[i], want[i])
						}
					}
					got, want = randomFloats(r, n+1), make([]float32, n+1)
					got[n] = 0
					k.Sum(got[:n], weights, data, stride)
					sumPortable(want[:n], weights, data, stride)
					for i := range got {
						if !near(got[i], want[i], float32(rows)) {
							t.Fatalf("%s: Sum of %d rows of %d: [%d] = %v, want %v", k.Name, rows, n, i, got[i], want[i])
						}
					}
				}
			}
		}
	}
}

func TestDotsOfDifferentLengths(t *testing.T) {
	a, b := make([]int8, 100), make([]int8, 70)
	x, y := make([]float32, 100), make([]float32, 70)
	for i := range a {
		a[i], x[i] = 2, 2
	}
	for i := range b {
		b[i], y[i] = 3, 3
	}
	if got := DotInt8(a, b); got != 420 {
		t.Errorf("DotInt8 = %d, want 420", got)
	}
	if got := Dot(y, x); got != 420 {
		t.Errorf("Dot = %v, want 420", got)
	}
}

func TestDotInt8Extremes(t *testing.T) {
	for _, v := range []int8{-128, 127} {
		a := make([]int8, 131_071)
		for i := range a {
			a[i] = v
		}
		if got, want := DotInt8(a, a), int32(len(a))*int32(v)*int32(v); got != want {
			t.Errorf("DotInt8 of %d = %d, want %d", v, got, want)
		}
	}
}

func TestQuantize(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			for _, x := range [][]float32{nil, {0, 0}, make([]float32, 40), {1, inf}, append(make([]float32, 31), inf), {nan}} {
				q := make([]int16, len(x))
				for i := range q {
					q[i] = 9
				}
				if step := k.Quantize(q, x, 100); step != 0 {
					t.Errorf("Quantize(%v) has step %v", x, step)
				}
				for _, v := range q {
					if v != 0 {
						t.Errorf("Quantize(%v) = %v", x, q)
					}
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				x := rapid.SliceOfN(rapid.Float32Range(-1e6, 1e6), 0, 100).Draw(t, "x")
				q := make([]int16, len(x))
				step := k.Quantize(q, x, math.MaxInt16)
				for i, v := range x {
					if diff := math.Abs(float64(v) - float64(q[i])*float64(step)); diff > .51*float64(step)+tiny {
						t.Fatalf("%v becomes %d*%v", v, q[i], step)
					}
				}
			})
		})
	}
}

func randomMatrix(r *rand.Rand, k, n int) *Matrix {
	m := &Matrix{K: k, N: n, Weights: Pack(randomInt8(r, k*n), k, n), Scale: randomFloats(r, n), Bias: randomFloats(r, n)}
	for i := range m.Scale {
		m.Scale[i] *= .01
	}
	return m
}

// The kernels agree to the last bit: sums of integers are exact, and what
// follows is done in the same order.
func TestMulMatchesPortable(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][2]int{{16, 32}, {48, 96}, {256, 768}, {1536, 64}} {
		m := randomMatrix(r, size[0], size[1])
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		for rows := 0; rows <= 13; rows++ {
			x, step := make([]int16, rows*m.K), make([]float32, rows)
			for i := range x {
				x[i] = int16(r.IntN(2*int(m.Limit())+1) - int(m.Limit()))
			}
			for i := range step {
				step[i] = r.Float32() * .01
			}
			for _, floor := range []float32{0, float32(math.Inf(-1))} {
				var want []float32
				for _, k := range All() {
					y := make([]float32, rows*m.N+1)
					y[rows*m.N] = 7
					k.Mul(y, x, step, m, floor)
					if want == nil {
						want = y
						checkProduct(t, y, x, step, m, floor)
					}
					for i := range y {
						if y[i] != want[i] {
							t.Fatalf("%s: %d rows x %dx%d: [%d] = %v, want %v", k.Name, rows, m.K, m.N, i, y[i], want[i])
						}
					}
				}
			}
		}
	}
}

// checkProduct compares with a product by the textbook.
func checkProduct(t *testing.T, y []float32, x []int16, step []float32, m *Matrix, floor float32) {
	t.Helper()
	for r := range step {
		for n := range m.N {
			var sum int64
			for k := range m.K {
				w := m.Weights[(n/Panel*m.K+k/2*2)*Panel+n%Panel*2+k%2]
				sum += int64(x[r*m.K+k]) * int64(w)
			}
			want := max(float64(sum)*float64(m.Scale[n])*float64(step[r])+float64(m.Bias[n]), float64(floor))
			if got := float64(y[r*m.N+n]); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("row %d column %d = %v, want %v", r, n, got, want)
			}
		}
	}
}

// The largest numbers everywhere do not overflow.
func TestMulExtremes(t *testing.T) {
	const k, n, rows = 1536, 32, 5
	m := &Matrix{K: k, N: n, Weights: make([]int8, k*n), Scale: make([]float32, n), Bias: make([]float32, n)}
	for i := range m.Weights {
		m.Weights[i] = -127
	}
	for i := range m.Scale {
		m.Scale[i] = 1
	}
	x, step := make([]int16, rows*k), []float32{1, 1, 1, 1, 1}
	for i := range x {
		x[i] = int16(m.Limit())
	}
	want := -127 * float32(k) * m.Limit()
	for _, kernels := range All() {
		y := make([]float32, rows*n)
		kernels.Mul(y, x, step, m, float32(math.Inf(-1)))
		for i, v := range y {
			if v != want {
				t.Fatalf("%s: [%d] = %v, want %v", kernels.Name, i, v, want)
			}
		}
	}
}

func TestMatrixCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, spoil := range map[string]func(*Matrix){
		"no rows":     func(m *Matrix) { m.K = 0 },
		"odd rows":    func(m *Matrix) { m.K = 17 },
		"odd columns": func(m *Matrix) { m.N = 16 },
		"short":       func(m *Matrix) { m.Weights = m.Weights[1:] },
		"no scale":    func(m *Matrix) { m.Scale = nil },
		"no bias":     func(m *Matrix) { m.Bias = nil },
	} {
		m := randomMatrix(r, 16, 32)
		spoil(m)
		if m.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzDotInt8(f *testing.F) {
	f.Add([]byte("twelve bytes"), 3)
	f.Add(make([]byte, 200), 64)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		x := make([]int8, len(data))
		for i, v := range data {
			x[i] = int8(v)
		}
		if cut < 0 || cut > len(x) {
			cut = len(x) / 2
		}
		a, b := x[:cut], x[cut:]
		n := min(len(a), len(b))
		if got, want := DotInt8(a, b), dotInt8Portable(a[:n], b[:n]); got != want {
			t.Errorf("DotInt8 = %d, want %d", got, want)
		}
	})
}

func BenchmarkDotInt8(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	x, y := randomInt8(r, 512), randomInt8(r, 512)
	for b.Loop() {
		DotInt8(x, y)
	}
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	x, y := randomFloats(r, 512), randomFloats(r, 512)
	for b.Loop() {
		Dot(x, y)
	}
}

func BenchmarkMul(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	m := randomMatrix(r, 512, 1536)
	for _, rows := range []int{1, 14, 43} {
		x, step, y := make([]int16, rows*m.K), make([]float32, rows), make([]float32, rows*m.N)
		for _, k := range All() {
			b.Run(fmt.Sprintf("%s/%d", k.Name, rows), func(b *testing.B) {
				for b.Loop() {
					k.Mul(y, x, step, m, 0)
				}
				b.ReportMetric(float64(rows*m.K*m.N)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "mac/ns")
			})
		}
	}
}
