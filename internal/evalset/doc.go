// Package evalset reads retrieval evaluation sets and measures a search with
// them. It holds no data.
//
// A set is a folder of JSONL files. A corpus file (*_corpus.jsonl) has one text
// a line:
//
//	{"corpus": "anna", "id": "7", "text": "...", "time": "2024-05-03"}
//
// corpus names the pool the text belongs to, "*" every pool of the file; time,
// caption and user_text are optional. A query file (*_queries.jsonl) has one
// question a line:
//
//	{"corpus": "anna", "qid": "q1", "query": "...", "gold": ["7"], "category": "paraphrase", "lang": "en"}
//
// gold are the ids of the texts that answer it. A question is put to its own
// pool only. [Load] finds out which query files go with which corpus files,
// and [Run] puts a set through a [Runner], which is the program under test.
package evalset
