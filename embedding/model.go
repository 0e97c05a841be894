package embedding

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"reverie/internal/simd"
)

// The shape of the encoder, Universal Sentence Encoder lite: a transformer of
// two layers over pieces of words.
const (
	dim       = 512 // of a vector, and of a row inside the layers
	inputDim  = 256 // of a piece, and so of a row before the first layer
	hiddenDim = 1536
	heads     = 4
	layers    = 2
	maxPieces = 128 // that the encoder reads at once
)

// modelMagic names the layout, all numbers little-endian:
//
//	magic [4]byte, pieces uint32, nodes uint32
//	timing [inputDim/2]float32
//	shortcut matrix                       inputDim x dim
//	per layer, in being inputDim or dim:
//	  gain, offset [in]float32            norm before attention
//	  attention matrix                    in x 3*in: queries, keys, values
//	  output matrix                       in x dim
//	  gain, offset [dim]float32           norm before the next
//	  expand, contract matrix             dim x hiddenDim, hiddenDim x dim
//	final matrix                          dim x dim
//	scale [pieces]float32, embedding [pieces][inputDim]int8
//	score [pieces]float32, flags [pieces]byte
//	first [nodes+1]uint32, piece [nodes]uint16, label [nodes]byte
//
// A matrix of K x N is scale [N]float32, bias [N]float32 and K*N int8 weights
// as simd.Matrix has them. The last line is the trie of the tokenizer.
const modelMagic = "RUE1"

//go:embed data/use_q8.bin
var modelData string

// scaling is what a row is multiplied with and what is added after it was
// brought to mean 0 and variance 1.
type scaling struct{ gain, offset []float32 }

type layer struct {
	in                                  int // numbers a row at its beginning
	attentionNorm, feedNorm             scaling
	attention, output, expand, contract simd.Matrix
}

// model holds the weights. The large ones stay in the binary's read-only data.
type model struct {
	shortcut simd.Matrix
	layer    [layers]layer
	final    simd.Matrix
	timing   []float32 // maxPieces rows of inputDim, what position adds
	scale    []float32 // of the rows of embedding
	embed    []int8
	tokens   tokenizer
}

// loadModel lays a model over data, which must never change.
func loadModel(data string) (*model, error) {
	r := reader{rest: data}
	if r.bytes(len(modelMagic)) != modelMagic {
		return nil, errors.New("not a model file")
	}
	pieces, nodes := r.count(), r.count()
	if pieces > 1<<16 || nodes > 1<<20 {
		return nil, fmt.Errorf("model file with %d pieces, %d nodes", pieces, nodes)
	}
	m := &model{timing: timingTable(r.floats(inputDim / 2))}
	m.shortcut = r.matrix(inputDim, dim)
	for i, in := range [layers]int{inputDim, dim} {
		m.layer[i] = layer{
			in:            in,
			attentionNorm: scaling{r.floats(in), r.floats(in)},
			attention:     r.matrix(in, 3*in),
			output:        r.matrix(in, dim),
			feedNorm:      scaling{r.floats(dim), r.floats(dim)},
			expand:        r.matrix(dim, hiddenDim),
			contract:      r.matrix(hiddenDim, dim),
		}
	}
	m.final = r.matrix(dim, dim)
	m.scale = r.floats(pieces)
	m.embed = r.int8s(pieces * inputDim)
	m.tokens = tokenizer{score: r.floats(pieces), flags: r.bytes(pieces)}
	m.tokens.first = r.bytes(4 * (nodes + 1))
	m.tokens.piece = r.bytes(2 * nodes)
	m.tokens.label = r.bytes(nodes)
	if r.short || r.rest != "" {
		return nil, fmt.Errorf("model file of %d bytes has another length than its header says", len(data))
	}
	m.tokens.fillRoot()
	return m, nil
}

// reader takes a model file apart. Past the end it returns zeros and notes it.
type reader struct {
	rest  string
	short bool
}

func (r *reader) bytes(n int) string {
	if n > len(r.rest) {
		r.short, r.rest = true, ""
		return string(make([]byte, n))
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) count() int {
	return int(binary.LittleEndian.Uint32([]byte(r.bytes(4))))
}

func (r *reader) floats(n int) []float32 {
	s := r.bytes(4 * n)
	out := make([]float32, n)
	for i := range out {
		b := s[4*i : 4*i+4]
		out[i] = math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
	}
	return out
}

// int8s returns the bytes in place: a copy would cost megabytes. The kernels
// only read them.
func (r *reader) int8s(n int) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(r.bytes(n)))), n)
}

func (r *reader) matrix(k, n int) simd.Matrix {
	return simd.Matrix{K: k, N: n, Scale: r.floats(n), Bias: r.floats(n), Weights: r.int8s(k * n)}
}

// timingTable is what each position adds to a piece: sines and cosines of the
// position times the timing frequencies.
func timingTable(frequency []float32) []float32 {
	table := make([]float32, 0, maxPieces*inputDim)
	for t := range maxPieces {
		var row [inputDim]float32
		for i, f := range frequency {
			sin, cos := math.Sincos(float64(t) * float64(f))
			row[i], row[i+len(frequency)] = float32(sin), float32(cos)
		}
		table = append(table, row[:]...)
	}
	return table
}
