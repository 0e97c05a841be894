package embedding

import (
	"context"
	"fmt"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"reverie/internal/gloss"
	"reverie/internal/simd"
)

const (
	builtinProtocol = "builtin"

	// builtinModel names weights, quantisation and the way to Chinese. Vectors
	// stored under another name do not fit: change it with anything that
	// changes them.
	builtinModel = "use-lite-q8/zh-pivot-1"

	// builtinVersion is the beginning of the SHA-256 of the data files' sums.
	builtinVersion = "12bbb4f16bf4"

	// DefaultQueryCache is the number of query vectors kept: 2 MB, more than
	// the distinct questions of a session.
	DefaultQueryCache = 1024

	// maxQueryBytes is where a query is cut: far beyond what the encoder reads.
	maxQueryBytes = 16 << 10
	// maxCachedBytes keeps huge queries, which hardly come again, out of the cache.
	maxCachedBytes = 2 << 10
)

// BuiltinOptions configure a Builtin. The zero value is the default.
type BuiltinOptions struct {
	QueryCache int // query vectors kept, 0 for DefaultQueryCache, negative for none
}

// Builtin embeds with the model inside the binary. It loads the model when it
// is first needed and may be used by any number of goroutines at once.
type Builtin struct {
	load  func() *encoder
	dict  *gloss.Dict
	cache *lru.Cache[string, []float32] // nil for none; the vectors are shared
}

// NewBuiltin returns the built-in embedder without loading its model.
func NewBuiltin(options BuiltinOptions) *Builtin {
	return newBuiltin(options, simd.Best())
}

func newBuiltin(options BuiltinOptions, kernels simd.Kernels) *Builtin {
	b := &Builtin{dict: gloss.Default()}
	b.load = sync.OnceValue(func() *encoder {
		m, err := loadModel(modelData)
		if err != nil {
			panic("embedding: built-in model: " + err.Error()) // a test checks the file's sum
		}
		return newEncoder(m, kernels)
	})
	size := options.QueryCache
	if size == 0 {
		size = DefaultQueryCache
	}
	if size > 0 {
		b.cache, _ = lru.New[string, []float32](size) // fails only on sizes below 1
	}
	return b
}

// Space returns the space of the built-in model's vectors.
func (b *Builtin) Space() Space {
	return Space{Protocol: builtinProtocol, Model: builtinModel, Dim: dim, Version: builtinVersion}
}

// Warm loads the model and reads its weights once, so that the first text does
// not wait for the disk. It is meant to be called in the background.
func (b *Builtin) Warm(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := b.EmbedDocuments(ctx, []string{"Warm up."})
	return err
}

// EmbedQuery returns the unit vector of a question or any other text that is
// searched for. It is nil for a text without anything the model can read, such
// as an empty one, punctuation, or a script it does not know: that text has no
// meaning here, and only its words can be searched. What is beyond the model's
// input of about 100 words is not read.
//
// The vector may be shared with other callers: do not change it. The only
// error is that of the context.
func (b *Builtin) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text = text[:cutAt(text, maxQueryBytes)]
	if b.cache != nil {
		if v, ok := b.cache.Get(text); ok {
			return v, nil
		}
	}
	e := b.load()
	ids := e.model.tokens.tokenize(nil, statement(b.dict.English(text)), maxPieces)
	ids = ids[:min(len(ids), maxPieces)]
	var v []float32
	if e.model.tokens.readable(ids) {
		v = e.encode(ids)
	}
	if b.cache != nil && len(text) <= maxCachedBytes {
		b.cache.Add(strings.Clone(text), v)
	}
	return v, nil
}

// EmbedDocuments returns the passages of each text, in order. A text of up to
// about 50 words is one passage, a longer one several, cut between sentences
// where that is possible; a text without anything the model can read has none.
// An 8,000-character text takes some tenths of a second. The only error is that
// of the context, which is looked at before every passage.
func (b *Builtin) EmbedDocuments(ctx context.Context, texts []string) ([]Passages, error) {
	if err := ctx.Err(); err != nil || len(texts) == 0 {
		return nil, err
	}
	e := b.load()
	documents := make([]Passages, len(texts))
	var ids []uint16
	for i, text := range texts {
		ids = e.model.tokens.tokenize(ids[:0], b.dict.English(text), maxInt)
		for _, s := range divide(ids, e.model.tokens.flags) {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("embed document %d of %d: %w", i+1, len(texts), err)
			}
			if part := ids[s.from:s.to]; e.model.tokens.readable(part) {
				documents[i] = append(documents[i], e.encode(part))
			}
		}
	}
	return documents, nil
}

const maxInt = int(^uint(0) >> 1)

// readable reports whether any piece has a letter or a digit.
func (t *tokenizer) readable(ids []uint16) bool {
	for _, id := range ids {
		if t.flags[id]&flagLetters != 0 {
			return true
		}
	}
	return false
}
