package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Vec is a vector of about unit length in int8: component i is Scale*Q[i].
type Vec struct {
	Scale float32
	Q     []int8
}

// ErrVector is wrapped by the errors about vectors that no index can hold.
var ErrVector = errors.New("unusable vector")

// MaxDim bounds the dimension of vectors.
const MaxDim = math.MaxUint16

// vecFormat is the first byte of encoded vectors: int8 with a scale.
const vecFormat = 1

// Quantize scales a vector to unit length and rounds it to int8. Empty
// vectors, vectors without direction and NaN or infinite components are an
// error that wraps [ErrVector].
func Quantize(v []float32) (Vec, error) {
	if len(v) == 0 || len(v) > MaxDim {
		return Vec{}, fmt.Errorf("quantize: dimension %d: %w", len(v), ErrVector)
	}
	var sum, peak float64
	for i, x := range v {
		a := math.Abs(float64(x))
		if math.IsNaN(a) || math.IsInf(a, 0) {
			return Vec{}, fmt.Errorf("quantize: component %d is %v: %w", i, x, ErrVector)
		}
		sum += a * a
		peak = max(peak, a)
	}
	if peak == 0 {
		return Vec{}, fmt.Errorf("quantize: all components are zero: %w", ErrVector)
	}
	q := make([]int8, len(v))
	for i, x := range v {
		q[i] = int8(math.RoundToEven(float64(x) / peak * 127))
	}
	return Vec{Scale: float32(peak / 127 / math.Sqrt(sum)), Q: q}, nil
}

// Float gives the vector back as float32.
func (v Vec) Float() []float32 {
	out := make([]float32, len(v.Q))
	for i, x := range v.Q {
		out[i] = v.Scale * float32(x)
	}
	return out
}

// check reports what makes a vector unusable.
func (v Vec) check() error {
	if !(v.Scale > 0) || math.IsInf(float64(v.Scale), 0) {
		return fmt.Errorf("scale %v: %w", v.Scale, ErrVector)
	}
	for _, x := range v.Q {
		if x != 0 {
			return nil
		}
	}
	return fmt.Errorf("all components are zero: %w", ErrVector)
}

// EncodeVecs writes the passages of a memory as a BLOB: a format byte, the
// dimension (uint16, little endian), then for each passage its scale (float32,
// little endian) and components. No passages is an empty BLOB; passages of
// different dimensions are an error.
func EncodeVecs(vs []Vec) ([]byte, error) {
	if len(vs) == 0 {
		return nil, nil
	}
	dim := len(vs[0].Q)
	if dim > MaxDim {
		return nil, fmt.Errorf("encode vectors: dimension %d: %w", dim, ErrVector)
	}
	b := make([]byte, 0, 3+len(vs)*(4+dim))
	b = append(b, vecFormat)
	b = binary.LittleEndian.AppendUint16(b, uint16(dim))
	for i, v := range vs {
		if len(v.Q) != dim {
			return nil, fmt.Errorf("encode vectors: passage %d has dimension %d, the first %d: %w", i, len(v.Q), dim, ErrVector)
		}
		if err := v.check(); err != nil {
			return nil, fmt.Errorf("encode vectors: passage %d: %w", i, err)
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v.Scale))
		for _, x := range v.Q {
			b = append(b, byte(x))
		}
	}
	return b, nil
}

// DecodeVecs reads what [EncodeVecs] wrote. Anything else is an error that
// wraps [ErrVector].
func DecodeVecs(b []byte) ([]Vec, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[0] != vecFormat {
		return nil, fmt.Errorf("decode vectors: format %d: %w", b[0], ErrVector)
	}
	if len(b) < 3 {
		return nil, fmt.Errorf("decode vectors: cut short: %w", ErrVector)
	}
	dim := int(binary.LittleEndian.Uint16(b[1:]))
	rest := b[3:]
	if dim == 0 || len(rest) == 0 || len(rest)%(4+dim) != 0 {
		return nil, fmt.Errorf("decode vectors: %d bytes for dimension %d: %w", len(rest), dim, ErrVector)
	}
	n := len(rest) / (4 + dim)
	vs := make([]Vec, n)
	all := make([]int8, n*dim)
	for i := range vs {
		p := rest[i*(4+dim):]
		q := all[i*dim : (i+1)*dim : (i+1)*dim]
		for j, x := range p[4 : 4+dim] {
			q[j] = int8(x)
		}
		vs[i] = Vec{Scale: math.Float32frombits(binary.LittleEndian.Uint32(p)), Q: q}
		if err := vs[i].check(); err != nil {
			return nil, fmt.Errorf("decode vectors: passage %d: %w", i, err)
		}
	}
	return vs, nil
}
