package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reverie/internal/simd"
)

// tensor is a matrix of the published model; vectors have one row.
type tensor struct {
	rows, cols int
	data       []float32
}

// buildModel writes the layout that package embedding documents at modelMagic.
func buildModel(dir string, vocab []piece) ([]byte, error) {
	weights, err := readWeights(dir)
	if err != nil {
		return nil, err
	}
	const norm = "layer_prepostprocess/layer_norm/layer_norm_"
	layers := [2]string{"Layer_0/TransformerLayer/", "Layer_1/TransformerLayer/"}
	trie := buildTrie(vocab)
	out := []byte("RUE1")
	out = binary.LittleEndian.AppendUint32(out, uint32(len(vocab)))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(trie.label)))

	find := func(part string) (t tensor) {
		if err == nil {
			t, err = weights.find(part)
		}
		return t
	}
	vector := func(part string) { out = appendFloats(out, find(part).data) }
	matrix := func(weights, bias string) {
		w := find(weights)
		scale, q := quantizeColumns(w)
		out = appendFloats(out, scale)
		out = appendFloats(out, find(bias).data)
		if err == nil {
			out = appendInt8(out, simd.Pack(q, w.rows, w.cols))
		}
	}
	vector("TimingSignal/ExpandDims_1")
	matrix(layers[0]+"dense/kernel", layers[0]+"dense/bias")
	for _, l := range layers {
		vector(l + norm + "scale")
		vector(l + norm + "bias")
		matrix(l+"MultiheadAttention/qkv_transform_single/kernel", l+"MultiheadAttention/qkv_transform_single/bias")
		matrix(l+"MultiheadAttention/output_transform_single/kernel", l+"MultiheadAttention/output_transform_single/bias")
		vector(l + "FFN/" + norm + "scale")
		vector(l + "FFN/" + norm + "bias")
		matrix(l+"FFN/conv1/Tensordot/Reshape_1", l+"FFN/conv1/bias/")
		matrix(l+"FFN/conv2/Tensordot/Reshape_1", l+"FFN/conv2/bias/")
	}
	matrix("hidden_layers/tanh_layer_0/weights", "hidden_layers/tanh_layer_0/bias")
	embeddings := find("module/Embeddings_en")
	if err != nil {
		return nil, err
	}
	if embeddings.rows < len(vocab) { // a few rows more stand for nothing
		return nil, fmt.Errorf("%d embeddings for %d pieces", embeddings.rows, len(vocab))
	}
	embeddings.rows = len(vocab)
	embeddings.data = embeddings.data[:embeddings.rows*embeddings.cols]
	scale, q := quantizeRows(embeddings)
	out = appendFloats(out, scale)
	out = appendInt8(out, q)
	return trie.append(out, vocab), nil
}

// weightSet is what the model's manifest lists, by name.
type weightSet map[string]tensor

func readWeights(dir string) (weightSet, error) {
	text, err := os.ReadFile(filepath.Join(dir, "model.json"))
	if err != nil {
		return nil, err
	}
	var model struct {
		WeightsManifest []struct {
			Paths   []string
			Weights []struct {
				Name  string
				Shape []int
			}
		}
	}
	if err := json.Unmarshal(text, &model); err != nil {
		return nil, fmt.Errorf("model.json: %w", err)
	}
	set := weightSet{}
	for _, group := range model.WeightsManifest {
		var data []byte
		for _, path := range group.Paths {
			shard, err := os.ReadFile(filepath.Join(dir, path))
			if err != nil {
				return nil, err
			}
			data = append(data, shard...)
		}
		for _, w := range group.Weights {
			t := tensor{rows: 1, cols: 1}
			for i, n := range w.Shape {
				if i == len(w.Shape)-1 {
					t.cols = n
				} else {
					t.rows *= n
				}
			}
			n := t.rows * t.cols
			if len(data) < 4*n {
				return nil, fmt.Errorf("weights end inside %s", w.Name)
			}
			t.data = make([]float32, n)
			for i := range t.data {
				t.data[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
			}
			data = data[4*n:]
			set[w.Name] = t
		}
		if len(data) > 0 {
			return nil, fmt.Errorf("%d bytes of weights left over", len(data))
		}
	}
	return set, nil
}

// find returns the only tensor whose name contains part.
func (s weightSet) find(part string) (tensor, error) {
	var names []string
	for name := range s {
		if strings.Contains(name, part) {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		slices.Sort(names)
		return tensor{}, fmt.Errorf("%q names %d tensors: %q", part, len(names), names)
	}
	return s[names[0]], nil
}

// quantizeColumns turns a matrix into int8 with a scale for every column.
func quantizeColumns(t tensor) (scale []float32, q []int8) {
	scale = make([]float32, t.cols)
	for i, v := range t.data {
		scale[i%t.cols] = max(scale[i%t.cols], abs(v))
	}
	return quantize(t.data, scale, func(i int) int { return i % t.cols })
}

// quantizeRows does so with a scale for every row.
func quantizeRows(t tensor) (scale []float32, q []int8) {
	scale = make([]float32, t.rows)
	for i, v := range t.data {
		scale[i/t.cols] = max(scale[i/t.cols], abs(v))
	}
	return quantize(t.data, scale, func(i int) int { return i / t.cols })
}

// quantize divides by the scales, which come in as largest absolute values.
func quantize(data, scale []float32, group func(i int) int) ([]float32, []int8) {
	const most = 127
	for i := range scale {
		scale[i] = max(scale[i], 1e-12) / most
	}
	q := make([]int8, len(data))
	for i, v := range data {
		q[i] = int8(math.RoundToEven(float64(v / scale[group(i)])))
	}
	return scale, q
}

func abs(v float32) float32 { return float32(math.Abs(float64(v))) }

func appendFloats(out []byte, data []float32) []byte {
	for _, v := range data {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func appendInt8(out []byte, data []int8) []byte {
	for _, v := range data {
		out = append(out, byte(v))
	}
	return out
}
