// Package simd holds the arithmetic that the program spends its time on: dot
// products of vectors, and products of a few rows with a matrix of int8 weights.
//
// Each operation exists as portable Go and, on amd64, as AVX2 or AVX-512
// assembly that is chosen once by what the processor offers (the build tag
// purego leaves only the portable code). Integer results are the same
// everywhere; sums of floats differ between the kinds in their last bits.
//
// All functions stay within the slices they are given, may be called by any
// number of goroutines, and keep nothing.
//
// What is computed with them is not known here: the encoder is package
// embedding, the search package vector.
package simd
