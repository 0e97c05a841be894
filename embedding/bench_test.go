package embedding

import (
	"strings"
	"testing"

	"reverie/internal/simd"
)

// The texts are of the sizes that the budgets speak of.
const (
	question = "Where did my brother and his wife go for their last summer holiday?"
	memory   = "Clara: I finally finished the pottery class last Thursday, and my teacher said the blue bowl was " +
		"the best one so far. Now I want to build a small kiln behind the garden shed before winter comes."
	chinese = "上个周末我和妹妹去了海边，晚上一起吃了烤鱼，聊到很晚才回家。"
)

func BenchmarkEncode(b *testing.B) {
	for _, k := range simd.All() {
		e := newBuiltin(BuiltinOptions{QueryCache: -1}, k)
		for name, text := range map[string]string{"question": question, "memory": memory, "chinese": chinese, "longest": strings.Repeat(memory, 4)} {
			b.Run(k.Name+"/"+name, func(b *testing.B) {
				enc := e.load()
				ids := enc.model.tokens.tokenize(nil, e.dict.English(text), maxPieces)
				ids = ids[:min(len(ids), maxPieces)]
				b.ReportAllocs()
				for b.Loop() {
					enc.encode(ids)
				}
				b.ReportMetric(float64(len(ids)), "pieces")
			})
		}
	}
}

// BenchmarkEmbedQuery is a question from text to vector, without and with the cache.
func BenchmarkEmbedQuery(b *testing.B) {
	for name, cache := range map[string]int{"new": -1, "cached": 0} {
		b.Run(name, func(b *testing.B) {
			e := NewBuiltin(BuiltinOptions{QueryCache: cache})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.EmbedQuery(b.Context(), question); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEmbedDocument(b *testing.B) {
	for name, text := range map[string]string{
		"8000 letters":    strings.Repeat(memory+" ", 50)[:8000],
		"8000 characters": string([]rune(strings.Repeat(chinese, 300))[:8000]),
	} {
		b.Run(name, func(b *testing.B) {
			e := NewBuiltin(BuiltinOptions{})
			for b.Loop() {
				if _, err := e.EmbedDocuments(b.Context(), []string{text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loadModel(modelData); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTokenize(b *testing.B) {
	m, err := loadModel(modelData)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"memory": memory, "hostile": strings.Repeat("anthroporeligiousnesses", 5000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.tokens.tokenize(nil, text, maxInt)
			}
		})
	}
}
