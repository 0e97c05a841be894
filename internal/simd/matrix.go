package simd

import (
	"fmt"
	"math"
)

// Panel is the number of columns whose weights lie together.
const Panel = 16

// Matrix is a matrix of K rows and N columns of int8 weights with a scale and
// an offset a column: element (k, n) stands for Scale[n]*weight. The weights
// are packed for the kernels: panel after panel of Panel columns; in a panel,
// for every two rows k and k+1, the pairs of weights column by column.
type Matrix struct {
	K, N    int
	Weights []int8 // K*N, see Pack; each at least -127
	Scale   []float32
	Bias    []float32
}

// Check reports a shape the kernels cannot work on: K must be a multiple of
// 16, N of 32, and no sum may overflow.
func (m *Matrix) Check() error {
	switch {
	case m.K <= 0 || m.K%16 != 0 || m.N <= 0 || m.N%(2*Panel) != 0:
		return fmt.Errorf("matrix of %d x %d", m.K, m.N)
	case len(m.Weights) != m.K*m.N || len(m.Scale) != m.N || len(m.Bias) != m.N:
		return fmt.Errorf("matrix of %d x %d with %d weights, %d scales, %d offsets",
			m.K, m.N, len(m.Weights), len(m.Scale), len(m.Bias))
	case m.Limit() < 256:
		return fmt.Errorf("matrix of %d rows is too high", m.K)
	}
	return nil
}

// Limit is the largest fixed-point number a row may hold so that no sum of
// products leaves the range of an int32.
func (m *Matrix) Limit() float32 {
	return float32(min(math.MaxInt16, math.MaxInt32/(127*m.K)))
}

// Pack arranges weights given row by row for a Matrix.
func Pack(rows []int8, k, n int) []int8 {
	packed := make([]int8, 0, k*n)
	for panel := 0; panel < n; panel += Panel {
		for row := 0; row < k; row += 2 {
			for c := panel; c < panel+Panel; c++ {
				packed = append(packed, rows[row*n+c], rows[(row+1)*n+c])
			}
		}
	}
	return packed
}

// block is a task for a kernel: rows of x (k numbers each) times width columns
// of a matrix, stored in the rows of y (n apart).
type block struct {
	y     []float32
	x     []int16
	step  []float32 // of the rows
	w     []int8
	scale []float32 // of the columns
	bias  []float32
	floor float32 // results are at least this
	rows  int
	width int
	k, n  int
}

// Mul stores the product of rows of fixed-point numbers with m in y, len(step)
// rows of m.N numbers. x holds m.K numbers a row, none above Limit; step has
// the rows' steps. Results below floor become floor: 0 makes it a rectifier,
// minus infinity leaves everything.
func (k *Kernels) Mul(y []float32, x []int16, step []float32, m *Matrix, floor float32) {
	rows := len(step)
	if rows == 0 {
		return
	}
	k.mul(block{
		y: y[:rows*m.N], x: x[:rows*m.K], step: step,
		w: m.Weights[:m.K*m.N], scale: m.Scale[:m.N], bias: m.Bias[:m.N],
		floor: floor, rows: rows, width: m.N, k: m.K, n: m.N,
	})
}
