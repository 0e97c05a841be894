package simd

import "math"

func portable() Kernels {
	return Kernels{
		Name:      "portable",
		Dot:       dotPortable,
		AddScaled: addScaledPortable,
		Dots:      dotsPortable,
		Sum:       sumPortable,
		maxAbs:    maxAbsPortable,
		round:     roundPortable,
		mul:       mulPortable,
	}
}

func dotInt8Portable(a, b []int8) (sum int32) {
	b = b[:len(a)]
	for i, v := range a {
		sum += int32(v) * int32(b[i])
	}
	return sum
}

// dotPortable keeps four sums, so that additions need not wait for one another.
func dotPortable(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 4 {
		x, y := a[:4], b[:4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		s0 += v * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

func addScaledPortable(dst, x []float32, k float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] += k * v
	}
}

func dotsPortable(dst, q, rows []float32, stride int) {
	for i := range dst {
		dst[i] = dotPortable(q, rows[i*stride:][:len(q)])
	}
}

func sumPortable(dst, weights, rows []float32, stride int) {
	clear(dst)
	for i, w := range weights {
		addScaledPortable(dst, rows[i*stride:][:len(dst)], w)
	}
}

func maxAbsPortable(x []float32) (top float32) {
	for _, v := range x {
		top = max(top, float32(math.Abs(float64(v))))
	}
	return top
}

// roundPortable adds 1.5*2^23, where a float32 has no digits after the point
// left: the addition rounds, and the low bits of the sum are the integer.
func roundPortable(dst []int16, x []float32, k float32) {
	const shift = 3 << 22
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = int16(math.Float32bits(float32(v*k) + shift)) // the conversion forbids a fused multiply-add
	}
}

// mulPortable works on two columns and four rows at a time. The weights of the
// two columns share a 64-bit number, so that one multiplication serves both;
// the sums come apart without loss because each fits into 32 bits.
func mulPortable(b block) {
	x := interleave(b.x, b.rows, b.k)
	w := make([]int64, b.k)
	for n := 0; n < b.width; n += 2 {
		panel := b.w[n/Panel*Panel*b.k:][:Panel*b.k]
		for k := 0; k < b.k; k += 2 {
			pair := (*[4]int8)(panel[k*Panel+n%Panel*2:])
			w[k] = int64(pair[0]) + int64(pair[2])<<32
			w[k+1] = int64(pair[1]) + int64(pair[3])<<32
		}
		for r := 0; r < b.rows; r += 4 {
			for i, sum := range mulFourRows(x[r/4*b.k:][:b.k], w) {
				if r+i == b.rows {
					break
				}
				low := int32(sum)
				high := int32((sum - int64(low)) >> 32)
				y := b.y[(r+i)*b.n+n:]
				y[0] = b.finish(low, r+i, n)
				y[1] = b.finish(high, r+i, n+1)
			}
		}
	}
}

// interleave puts each four rows of k numbers side by side, zeros for missing rows.
func interleave(x []int16, rows, k int) [][4]int16 {
	groups := make([][4]int16, (rows+3)/4*k)
	for r := range rows {
		group := groups[r/4*k:][:k]
		for i, v := range x[r*k : (r+1)*k] {
			group[i][r%4] = v
		}
	}
	return groups
}

func mulFourRows(x [][4]int16, w []int64) [4]int64 {
	var s0, s1, s2, s3 int64
	w = w[:len(x)]
	for k := range x {
		four, weight := &x[k], w[k]
		s0 += int64(four[0]) * weight
		s1 += int64(four[1]) * weight
		s2 += int64(four[2]) * weight
		s3 += int64(four[3]) * weight
	}
	return [4]int64{s0, s1, s2, s3}
}

// finish turns the sum of row r and column n into a result.
func (b *block) finish(sum int32, r, n int) float32 {
	v := float32(float32(float32(sum)*b.scale[n])*b.step[r]) + b.bias[n]
	return max(v, b.floor)
}
