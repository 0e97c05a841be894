package simd

import "math"

// DotInt8 returns the exact dot product of the first n numbers of a and b, n
// being the length of the shorter. It cannot overflow below 131,072 numbers.
func DotInt8(a, b []int8) int32 {
	n := min(len(a), len(b))
	return dotInt8(a[:n], b[:n])
}

// Dot returns the dot product of the first n numbers of a and b, n being the
// length of the shorter.
func Dot(a, b []float32) float32 {
	n := min(len(a), len(b))
	return dot(a[:n], b[:n])
}

// Kernels are one implementation of the operations that an encoder uses. Rows
// of fixed-point numbers are int16 with one float32 step a row: x ≈ step*q.
type Kernels struct {
	// Name says which implementation it is: "portable", "avx2", "avx512".
	Name string
	// Dot is the dot product of two slices of the same length.
	Dot func(a, b []float32) float32
	// AddScaled adds k*x to dst, which is as long as x.
	AddScaled func(dst, x []float32, k float32)
	// Dots stores the dot products of q with len(dst) rows that begin stride
	// numbers apart in rows. A row is as long as q.
	Dots func(dst, q, rows []float32, stride int)
	// Sum stores the sum of len(weights) rows, each times its weight. The rows
	// begin stride numbers apart in rows and are as long as dst.
	Sum func(dst, weights, rows []float32, stride int)
	// maxAbs is the largest absolute value, 0 for none.
	maxAbs func(x []float32) float32
	// round stores x*k rounded to the nearest integer, halves to even. The
	// products are within the range of an int16, dst is as long as x.
	round func(dst []int16, x []float32, k float32)
	// mul computes a block of a matrix product, see Matrix.
	mul func(b block)
}

// Best returns the fastest kernels this processor can run.
func Best() Kernels {
	all := All()
	return all[len(all)-1]
}

// tiny is taken for zero: below it the reciprocal leaves the range of a float32.
const tiny = 1e-30

// Quantize stores x as fixed-point numbers of at most limit and returns their
// step. dst must be as long as x and limit at most 32,767. A row without a
// number above 1e-30, or with an infinite one, becomes zeros with step 0.
func (k *Kernels) Quantize(dst []int16, x []float32, limit float32) (step float32) {
	dst = dst[:len(x)]
	top := k.maxAbs(x)
	if !(top > tiny) || top > math.MaxFloat32 {
		clear(dst)
		return 0
	}
	k.round(dst, x, limit/top)
	return top / limit
}
