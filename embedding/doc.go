// Package embedding turns text into vectors whose direction stands for its
// meaning: texts that say the same lie close together.
//
// [Builtin] is the embedder inside the binary. It needs no service and no
// files, knows English, and reads Chinese through a dictionary:
//
//	e := embedding.NewBuiltin(embedding.BuiltinOptions{})
//	passages, err := e.EmbedDocuments(ctx, []string{"My sister moved to Berlin."})
//	query, err := e.EmbedQuery(ctx, "妹妹住在哪里?")
//
// Queries and documents are embedded differently: a query loses its question
// words, which would only draw it to other questions, and is one vector; a long
// document is several passages, the best of which counts. All vectors have
// length 1, so their dot product is their cosine.
//
// Vectors may be compared only within one [Space]; its fingerprint says whether
// stored ones still fit. Search over vectors is package vector's, arithmetic
// internal/simd's, the dictionary internal/gloss's. The data files are made by
// embedding/gen.
package embedding
