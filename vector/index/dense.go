package index

import (
	"fmt"
	"math"

	"reverie/internal/simd"
)

// noSlot marks a row that no memory uses.
const noSlot = math.MaxUint32

// blockRows is the number of vectors in a block. Blocks are never copied to
// grow, except the last one while it is small.
const blockRows = 256

// vectors holds the passages of all memories, row by row.
type vectors struct {
	dim    int
	blocks [][]int8
	slots  []uint32  // the memory of each row, or noSlot
	norms  []float32 // 1/length of each row's int8 vector
	free   []uint32
}

func (v *vectors) fits(vs []Vec) error {
	dim := v.dim
	for i, x := range vs {
		if dim == 0 {
			dim = len(x.Q)
		}
		if len(x.Q) != dim || dim == 0 {
			return fmt.Errorf("passage %d has dimension %d, not %d: %w", i, len(x.Q), dim, ErrVector)
		}
		if err := x.check(); err != nil {
			return fmt.Errorf("passage %d: %w", i, err)
		}
	}
	return nil
}

func (v *vectors) add(slot uint32, x Vec) uint32 {
	v.dim = len(x.Q)
	norm := float32(1 / math.Sqrt(float64(simd.DotInt8(x.Q, x.Q))))
	if n := len(v.free); n > 0 {
		row := v.free[n-1]
		v.free = v.free[:n-1]
		copy(v.row(row), x.Q)
		v.slots[row], v.norms[row] = slot, norm
		return row
	}
	row := uint32(len(v.slots))
	if row%blockRows == 0 {
		v.blocks = append(v.blocks, nil)
		if row > 0 {
			v.blocks[len(v.blocks)-1] = make([]int8, 0, blockRows*v.dim)
		}
	}
	last := len(v.blocks) - 1
	v.blocks[last] = append(v.blocks[last], x.Q...)
	v.slots = append(v.slots, slot)
	v.norms = append(v.norms, norm)
	return row
}

func (v *vectors) remove(row uint32) {
	v.slots[row] = noSlot
	v.free = append(v.free, row)
	if len(v.free) == len(v.slots) { // empty: another dimension may come
		*v = vectors{}
	}
}

func (v *vectors) row(row uint32) []int8 {
	i := int(row%blockRows) * v.dim
	return v.blocks[row/blockRows][i : i+v.dim]
}

// noCosine stands for a memory without a vector.
const noCosine = -2

// cosines sets out[slot] to the cosine of the query and the best passage of
// every memory that keep names, noCosine where there is none.
func (v *vectors) cosines(q Vec, keep []bool, out []float32) {
	for i := range out {
		out[i] = noCosine
	}
	if len(q.Q) != v.dim {
		return
	}
	norm := float32(1 / math.Sqrt(float64(simd.DotInt8(q.Q, q.Q))))
	for first, block := 0, 0; first < len(v.slots); first, block = first+blockRows, block+1 {
		rows := v.blocks[block]
		for i, slot := range v.slots[first:min(first+blockRows, len(v.slots))] {
			if slot == noSlot || !keep[slot] {
				continue
			}
			c := float32(simd.DotInt8(q.Q, rows[i*v.dim:(i+1)*v.dim])) * norm * v.norms[first+i]
			out[slot] = max(out[slot], c)
		}
	}
}

// bytes is the memory the vectors take.
func (v *vectors) bytes() int {
	n := 4 * (cap(v.slots) + cap(v.norms) + cap(v.free))
	for _, b := range v.blocks {
		n += cap(b)
	}
	return n
}
