package spaces

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// sentences of the canary: of topics that have nothing to do with one another, in both
// languages, short enough for one passage of any model. They are part of what is stored:
// a change of them makes stored canaries worthless.
var sentences = []string{
	"The ferry to the island leaves at half past six from the northern pier.",
	"My grandmother's plum cake needs two spoons of cinnamon and an hour in the oven.",
	"Quarterly revenue of the copper mine fell because the price of diesel rose.",
	"他养了一只很怕生的灰色鹦鹉，名字叫石头。",
	"请在周五之前把数据库的索引重新建立一遍。",
	"高考结束以后，她想一个人坐火车去西藏看雪山。",
}

const (
	// sameCosine is what every sentence must reach for two canaries to be of one model.
	// The same weights on other hardware, or in batches of another size, stay above 0.999;
	// another quantisation of the same model is below 0.99 for some sentence.
	sameCosine = 0.99

	maxDim = 1 << 16
)

// Canary is the vectors of the canary's sentences: unit vectors of one length.
type Canary [][]float32

// takeCanary embeds the sentences.
func takeCanary(ctx context.Context, e Embedder) (Canary, error) {
	docs, err := e.EmbedDocuments(ctx, sentences)
	if err != nil {
		return nil, err
	}
	if len(docs) != len(sentences) {
		return nil, fmt.Errorf("embedder returned %d results for %d texts", len(docs), len(sentences))
	}
	c := make(Canary, len(docs))
	for i, d := range docs {
		if len(d) == 0 || len(d[0]) == 0 || len(d[0]) != len(docs[0][0]) {
			return nil, fmt.Errorf("embedder has no vector, or one of another length, for sentence %d of %d", i+1, len(docs))
		}
		c[i] = d[0]
	}
	return c, nil
}

// Dim is the length of the vectors, 0 for none.
func (c Canary) Dim() int {
	if len(c) == 0 {
		return 0
	}
	return len(c[0])
}

// Same reports whether two canaries come from the same model. The second result is the
// least cosine of a sentence, for messages.
func (c Canary) Same(other Canary) (bool, float64) {
	if len(c) != len(other) || c.Dim() != other.Dim() || len(c) == 0 {
		return false, 0
	}
	least := 1.0
	for i := range c {
		least = min(least, cosine(c[i], other[i]))
	}
	return least >= sameCosine, least
}

// Unrelated is the mean cosine between different sentences: what the model says of texts
// that have nothing to do with one another. Models differ widely in it.
func (c Canary) Unrelated() float64 {
	sum, n := 0.0, 0
	for i := range c {
		for j := range i {
			sum += cosine(c[i], c[j])
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// encode packs a canary: the number of vectors, their length, the numbers, little-endian.
func (c Canary) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(c)))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Dim()))
	for _, v := range c {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

var errCanary = errors.New("stored canary cannot be read")

func decodeCanary(b []byte) (Canary, error) {
	if len(b) < 8 {
		return nil, errCanary
	}
	n, dim := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	b = b[8:]
	if n > 1024 || dim > maxDim || len(b) != 4*n*dim {
		return nil, errCanary
	}
	c := make(Canary, n)
	for i := range c {
		c[i] = make([]float32, dim)
		for j := range c[i] {
			c[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(b))
			b = b[4:]
		}
	}
	return c, nil
}
