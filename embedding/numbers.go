package embedding

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// maxNumbers is the longest vector read; the largest known models have 8,192.
const maxNumbers = 1 << 16

var (
	errNotNumbers = errors.New("the vector is not a list of numbers")
	errNoNumber   = errors.New("the vector has something that is no finite number")
	errZero       = errors.New("the vector is all zeros")
	errEmpty      = errors.New("the vector is empty")
)

// numbers is one vector of an answer. A fault is kept with it instead of failing
// the whole answer, since it may be that of a single text: servers write NaN as
// null, and the zero that encoding/json makes of it would be believed.
type numbers struct {
	v     []float32
	fault error
}

// UnmarshalJSON reads a JSON array of numbers. It never fails.
func (n *numbers) UnmarshalJSON(b []byte) error {
	n.v, n.fault = parseNumbers(b)
	return nil
}

func parseNumbers(b []byte) ([]float32, error) {
	b = bytes.TrimSpace(b)
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return nil, errNotNumbers
	}
	b = bytes.TrimSpace(b[1 : len(b)-1])
	if len(b) == 0 {
		return nil, errEmpty
	}
	count := bytes.Count(b, []byte{','}) + 1
	if count > maxNumbers {
		return nil, errNotNumbers
	}
	v := make([]float32, 0, count)
	for more := true; more; {
		var field []byte
		field, b, more = bytes.Cut(b, []byte{','})
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(field)), 32)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, errNoNumber
		}
		v = append(v, float32(x))
	}
	return v, nil
}

// unit scales v in place to length 1.
func unit(v []float32) error {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	switch {
	case len(v) == 0:
		return errEmpty
	case square == 0:
		return errZero
	case math.IsNaN(square) || math.IsInf(square, 0):
		return errNoNumber
	}
	scale := 1 / math.Sqrt(square)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return nil
}
