//go:build !amd64 || purego

package simd

// All returns the kernels this processor can run, the fastest last.
func All() []Kernels { return []Kernels{portable()} }

func dotInt8(a, b []int8) int32  { return dotInt8Portable(a, b) }
func dot(a, b []float32) float32 { return dotPortable(a, b) }
