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
// [Remote] is an embedder on a server, from [NewOllama] or [NewOpenAI]. It asks
// nothing before it is needed; [Remote.Probe] then finds the model and measures
// its dimension, and [Remote.Space] is complete from there on:
//
//	e, err := embedding.NewOllama(embedding.RemoteOptions{Model: embedding.Auto})
//	defer e.Close()
//	space, err := e.Probe(ctx)
//
// Nothing that a server answers is believed unchecked: see bisect.go for texts
// that it refuses, refusal.go for what its errors mean ([RemoteError] and its
// [Kind]), breaker.go for servers that are down, sentences.go for long texts and
// prefix.go for what the makers of models want before a text. When a model was
// exchanged behind its name ([ErrDimension], or a canary elsewhere), call
// [Remote.Forget]. Tests find a server in embedding/embedtest.
//
// Queries and documents are embedded differently: a query loses its question
// words, which would only draw it to other questions, and is one vector (what a
// server gets has the prefix of its model instead); a long document is several
// passages, the best of which counts. All vectors have
// length 1, so their dot product is their cosine.
//
// Vectors may be compared only within one [Space]; its fingerprint says whether
// stored ones still fit. Search over vectors is package vector's, arithmetic
// internal/simd's, the dictionary internal/gloss's. The data files are made by
// embedding/gen.
package embedding
