// Package gloss reads Chinese with a dictionary: it cuts text into words and
// gives each word its English glosses.
//
// Two callers need it. The built-in embedder, whose model only knows English,
// encodes the word-for-word translation that [Dict.English] makes. The word
// index adds the stems of [Dict.Glosses] to a Chinese text, so that English
// questions find Chinese memories and the other way round.
//
//	d := gloss.Default()
//	d.Simplify("長城")       // "长城"
//	d.Segment("我喜欢喝咖啡") // "我" "喜欢" "喝" "咖啡"
//	d.English("我喜欢喝咖啡") // "i like drink coffee"
//
// The table is data/zh_gloss.bin, made by embedding/gen from CC-CEDICT and
// licensed CC BY-SA 4.0 apart from the code (see NOTICE). It lies in the
// binary's read-only data and is searched in place: loading costs nothing, a
// [Dict] holds no copy, and only the pages that are read take up memory.
//
// Here is no stemming, no stop words and no ranking (internal/lexical), and
// nothing about vectors (package embedding).
package gloss
