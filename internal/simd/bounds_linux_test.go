package simd

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// fenced returns n bytes that end where the address space may not be read.
func fenced(t *testing.T, n int) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	size := (n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("no anonymous mapping:", err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Skip("no protected page:", err)
	}
	return mem[size-n : size : size]
}

func fencedCopy[T any](t *testing.T, x []T) []T {
	t.Helper()
	if len(x) == 0 {
		return x
	}
	mem := fenced(t, len(x)*int(unsafe.Sizeof(x[0])))
	y := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(x))
	copy(y, x)
	return y
}

// A read or write past the end of any slice stops the test with a fault.
func TestKernelsStayInBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for n := 0; n <= 70; n++ {
		a, b := fencedCopy(t, randomInt8(r, n)), fencedCopy(t, randomInt8(r, n))
		x, y := fencedCopy(t, randomFloats(r, n)), fencedCopy(t, randomFloats(r, n))
		q := fencedCopy(t, make([]int16, n))
		DotInt8(a, b)
		for _, k := range All() {
			k.Dot(x, y)
			k.AddScaled(y, x, 2)
			k.Quantize(q, x, 1000)
		}
	}
	for rows := 1; rows <= 9; rows++ {
		for _, n := range []int{8, 64, 70, 128} {
			data := fencedCopy(t, randomFloats(r, (rows-1)*130+n))
			q, dst, weights := fencedCopy(t, randomFloats(r, n)), fencedCopy(t, make([]float32, n)), fencedCopy(t, make([]float32, rows))
			for _, k := range All() {
				k.Dots(weights, q, data, 130)
				k.Sum(dst, weights, data, 130)
			}
		}
		m := randomMatrix(r, 48, 96)
		m.Weights, m.Scale, m.Bias = fencedCopy(t, m.Weights), fencedCopy(t, m.Scale), fencedCopy(t, m.Bias)
		x, step, y := fencedCopy(t, make([]int16, rows*m.K)), fencedCopy(t, make([]float32, rows)), fencedCopy(t, make([]float32, rows*m.N))
		for _, k := range All() {
			k.Mul(y, x, step, m, 0)
		}
	}
}
