package embedtest

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"reverie/embedding"
)

// maxKept bounds the texts that are remembered, 2 KB each.
const maxKept = 20_000

// shared is one for all servers of a process: loading the model takes longer than most tests.
var shared = sync.OnceValue(newWeights)

// weights makes vectors. Texts are remembered, so that the same ones under
// another model cost only the turn.
type weights struct {
	builtin *embedding.Builtin

	mu       sync.Mutex
	texts    map[string][]float32
	matrices map[[2]uint64][]float32
}

func newWeights() *weights {
	return &weights{
		builtin: embedding.NewBuiltin(embedding.BuiltinOptions{QueryCache: -1}),
		texts:   map[string][]float32{}, matrices: map[[2]uint64][]float32{},
	}
}

// vector is the unit vector of a text under a model.
func (w *weights) vector(m Model, text string) []float32 {
	base := w.meaning(withoutPrefix(text))
	matrix := w.matrix(m, len(base))
	out := make([]float32, m.Dim)
	for i := range out {
		row := matrix[i*len(base) : (i+1)*len(base)]
		var sum float32
		for j, x := range base {
			sum += x * row[j]
		}
		out[i] = sum
	}
	return normalised(out)
}

// meaning is the mean of the built-in embedder's passages. Texts that it cannot read get
// a direction of their own, as any model gives them one.
func (w *weights) meaning(text string) []float32 {
	w.mu.Lock()
	v, ok := w.texts[text]
	w.mu.Unlock()
	if ok {
		return v
	}
	v = make([]float32, w.builtin.Space().Dim)
	parts := w.parts(text)
	for _, p := range parts {
		for i, x := range p {
			v[i] += x
		}
	}
	if len(parts) == 0 {
		h := fnv.New64a()
		h.Write([]byte(text))
		source := rand.New(rand.NewPCG(h.Sum64(), 7))
		for i := range v {
			v[i] = float32(source.NormFloat64())
		}
	}
	v = normalised(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.texts) < maxKept {
		w.texts[text] = v
	}
	return v
}

// parts is what the built-in embedder makes of a text. A question lies near its answers, as
// with any model for retrieval.
func (w *weights) parts(text string) embedding.Passages {
	ctx := context.Background() // the only error of the built-in embedder is the context's
	if len(text) < 300 && (strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")) {
		if v, err := w.builtin.EmbedQuery(ctx, text); err == nil && v != nil {
			return embedding.Passages{v}
		}
	}
	documents, err := w.builtin.EmbedDocuments(ctx, []string{text})
	if err != nil {
		return nil
	}
	return documents[0]
}

// matrix is the random projection of a seed: entries are normally distributed, so
// that cosines are kept about to one over the root of the dimension.
func (w *weights) matrix(m Model, columns int) []float32 {
	key := [2]uint64{m.Seed, uint64(m.Dim)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if have, ok := w.matrices[key]; ok {
		return have
	}
	source := rand.New(rand.NewPCG(m.Seed, uint64(m.Dim)))
	matrix := make([]float32, m.Dim*columns)
	for i := range matrix {
		matrix[i] = float32(source.NormFloat64())
	}
	w.matrices[key] = matrix
	return matrix
}

func normalised(v []float32) []float32 {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	scale := float32(1 / math.Sqrt(max(square, 1e-30)))
	for i := range v {
		v[i] *= scale
	}
	return v
}

// withoutPrefix drops what clients put before texts for models of certain families.
func withoutPrefix(text string) string {
	for _, p := range []string{
		"search_query: ", "search_document: ", "query: ", "passage: ", "task: search result | query: ", "title: none | text: ",
		"Represent this sentence for searching relevant passages: ", "为这个句子生成表示以用于检索相关文章：",
	} {
		if rest, ok := strings.CutPrefix(text, p); ok {
			return rest
		}
	}
	if strings.HasPrefix(text, "Instruct: ") {
		if _, rest, ok := strings.Cut(text, "\nQuery:"); ok {
			return strings.TrimPrefix(rest, " ")
		}
	}
	return text
}
