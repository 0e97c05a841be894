//go:build !purego

package simd

import "golang.org/x/sys/cpu"

var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI
)

// All returns the kernels this processor can run, the fastest last.
func All() []Kernels {
	all := []Kernels{portable()}
	if hasAVX2 {
		k := Kernels{
			Name: "avx2", Dot: dotWide, AddScaled: addScaledWide, Dots: dotsWide, Sum: sumWide,
			maxAbs: maxAbsWide, round: roundWide, mul: mulAVX2,
		}
		all = append(all, k)
		if hasAVX512 {
			k.Name, k.mul = "avx512", mulAVX512
			all = append(all, k)
		}
	}
	return all
}

func dotInt8(a, b []int8) int32 {
	if !hasAVX2 || len(a) < 32 {
		return dotInt8Portable(a, b)
	}
	n := len(a) &^ 31
	return dotInt8AVX2(&a[0], &b[0], n) + dotInt8Portable(a[n:], b[n:])
}

func dot(a, b []float32) float32 {
	if !hasAVX2 {
		return dotPortable(a, b)
	}
	return dotWide(a, b)
}

func dotWide(a, b []float32) float32 {
	n := len(a) &^ 7
	b = b[:len(a)]
	if n == 0 {
		return dotPortable(a, b)
	}
	sum := dotAVX2(&a[0], &b[0], n)
	for i := n; i < len(a); i++ {
		sum += a[i] * b[i]
	}
	return sum
}

func addScaledWide(dst, x []float32, k float32) {
	n := len(x) &^ 7
	dst = dst[:len(x)]
	if n > 0 {
		addScaledAVX2(&dst[0], &x[0], k, n)
	}
	addScaledPortable(dst[n:], x[n:], k)
}

func dotsWide(dst, q, rows []float32, stride int) {
	i, n := 0, len(q)
	if n > 0 && n%8 == 0 && stride >= 0 {
		for ; i+4 <= len(dst); i += 4 {
			four := rows[i*stride:][:3*stride+n]
			dots4AVX2(&dst[i], &q[0], &four[0], 4*stride, n)
		}
	}
	for ; i < len(dst); i++ {
		dst[i] = dotWide(q, rows[i*stride:][:n])
	}
}

func sumWide(dst, weights, rows []float32, stride int) {
	const width = 64
	if len(weights) > 0 && stride >= 0 {
		for len(dst) >= width {
			all := rows[:(len(weights)-1)*stride+width]
			sum64AVX2(&dst[0], &weights[0], &all[0], 4*stride, len(weights))
			dst, rows = dst[width:], rows[width:]
		}
	}
	sumPortable(dst, weights, rows, stride)
}

func maxAbsWide(x []float32) float32 {
	n := len(x) &^ 7
	top := maxAbsPortable(x[n:])
	if n > 0 {
		top = max(top, maxAbsAVX2(&x[0], n))
	}
	return top
}

func roundWide(dst []int16, x []float32, k float32) {
	n := len(x) &^ 15
	dst = dst[:len(x)]
	if n > 0 {
		roundAVX2(&dst[0], &x[0], k, n)
	}
	roundPortable(dst[n:], x[n:], k)
}

// mulAVX2 goes panel by panel, so that each is read from memory once and stays
// in the first cache for all rows. Rows are taken four at a time.
func mulAVX2(b block) {
	for n := 0; n < b.width; n += Panel {
		w, scale, bias := &b.w[n*b.k], &b.scale[n], &b.bias[n]
		b.eachRows(func(r, count int) {
			if count == 4 {
				mul4AVX2(&b.y[r*b.n+n], &b.x[r*b.k], &b.step[r], w, scale, bias, b.floor, b.k, b.n)
			} else {
				mul1AVX2(&b.y[r*b.n+n], &b.x[r*b.k], &b.step[r], w, scale, bias, b.floor, b.k)
			}
		})
	}
}

// mulAVX512 does the same with two panels at a time.
func mulAVX512(b block) {
	for n := 0; n < b.width; n += 2 * Panel {
		w, scale, bias := &b.w[n*b.k], &b.scale[n], &b.bias[n]
		b.eachRows(func(r, count int) {
			if count == 4 {
				mul4AVX512(&b.y[r*b.n+n], &b.x[r*b.k], &b.step[r], w, scale, bias, b.floor, b.k, b.n)
			} else {
				mul1AVX512(&b.y[r*b.n+n], &b.x[r*b.k], &b.step[r], w, scale, bias, b.floor, b.k)
			}
		})
	}
}

// eachRows divides the rows in groups of four and of one. Three rows at the end
// are cheaper as four, of which the first is computed again.
func (b *block) eachRows(do func(first, count int)) {
	r := 0
	for ; r+4 <= b.rows; r += 4 {
		do(r, 4)
	}
	if b.rows-r == 3 && r > 0 {
		do(r-1, 4)
		return
	}
	for ; r < b.rows; r++ {
		do(r, 1)
	}
}

// dotInt8AVX2 takes n, a multiple of 32 above 0.
//
//go:noescape
func dotInt8AVX2(a, b *int8, n int) int32

// dotAVX2, addScaledAVX2 and maxAbsAVX2 take n, a multiple of 8 above 0.
//
//go:noescape
func dotAVX2(a, b *float32, n int) float32

//go:noescape
func addScaledAVX2(dst, x *float32, k float32, n int)

//go:noescape
func maxAbsAVX2(x *float32, n int) float32

//go:noescape
func dots4AVX2(dst, q, rows *float32, stride, n int)

//go:noescape
func sum64AVX2(dst, weights, rows *float32, stride, count int)

// roundAVX2 takes n, a multiple of 16 above 0.
//
//go:noescape
func roundAVX2(dst *int16, x *float32, k float32, n int)

// mul4AVX2 multiplies four rows of k numbers, a multiple of 4, with one panel.
// The rows of y are n numbers apart.
//
//go:noescape
func mul4AVX2(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k, n int)

// mul1AVX2 is mul4AVX2 for one row.
//
//go:noescape
func mul1AVX2(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k int)

// mul4AVX512 multiplies four rows of k numbers, a multiple of 2, with two panels.
//
//go:noescape
func mul4AVX512(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k, n int)

// mul1AVX512 is mul4AVX512 for one row.
//
//go:noescape
func mul1AVX512(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k int)
