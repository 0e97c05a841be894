package embedding

import (
	"strings"
	"testing"
)

func TestKnownPrefixes(t *testing.T) {
	tests := []struct{ model, query, document string }{
		{"nomic-embed-text", "search_query: ", "search_document: "},
		{"nomic-embed-text-v2-moe:latest", "search_query: ", "search_document: "},
		{"hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0", "search_query: ", "search_document: "},
		{"intfloat/multilingual-e5-large", "query: ", "passage: "},
		{"jeffh/intfloat-multilingual-e5-large-instruct:f16", "Instruct: ", ""},
		{"intfloat/e5-mistral-7b-instruct", "Instruct: ", ""},
		{"mxbai-embed-large", passagesQuery, ""},
		{"snowflake-arctic-embed:335m", passagesQuery, ""},
		{"snowflake-arctic-embed2", "query: ", ""},
		{"Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""},
		{"bge-m3", "", ""},
		{"BAAI/bge-large-en-v1.5", passagesQuery, ""},
		{"bge-large", passagesQuery, ""},
		{"BAAI/bge-base-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""},
		{"Qwen/Qwen3-Embedding-0.6B", instructQuery, ""},
		{"qwen3-embedding:4b", instructQuery, ""},
		{"embeddinggemma", "task: search result | query: ", "title: none | text: "},
		{"all-minilm", "", ""},
		{"text-embedding-3-small", "", ""},
		{"base5-model", "", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		query, document := knownPrefixes(tt.model)
		if document != tt.document || query != tt.query && !(tt.query == "Instruct: " && strings.HasPrefix(query, tt.query) && strings.HasSuffix(query, "\nQuery: ")) {
			t.Errorf("%s: %q, %q", tt.model, query, document)
		}
	}
}

func TestSpaceVersion(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range []string{
		spaceVersion("", "", 0), spaceVersion("a", "", 0), spaceVersion("", "a", 0), spaceVersion("a", "b", 0), spaceVersion("", "", 256), spaceVersion("a", "b", 256),
	} {
		if seen[v] || len(v) > 30 {
			t.Errorf("version %q", v)
		}
		seen[v] = true
	}
	// The beginning of: printf 'search_query: \0search_document: ' | sha256sum
	if got := spaceVersion("search_query: ", "search_document: ", 256); got != "prefix-03aa22a9+dim-256" {
		t.Errorf("version %q: stored vectors would be embedded anew", got)
	}
}

func TestServerText(t *testing.T) {
	tests := []struct {
		name, in, key string
		sent          []string
		want          string
	}{
		{"plain", " out of\n memory ", "", nil, "out of memory"},
		{"key", "key abc is wrong", "abc", nil, "key *** is wrong"},
		{"echo", "bad input: the sister lives in Rome", "", []string{"my mother says the sister lives in Rome now"}, "(its text repeats the input and is not shown)"},
		{"short words are no echo", "bad input", "", []string{"input"}, "bad input"},
		{"invalid", "a\xffb\x1b[0m", "", nil, "a b [0m"},
		{"long", strings.Repeat("长", 300), "", nil, strings.Repeat("长", 200) + "…"},
	}
	for _, tt := range tests {
		if got := serverText(tt.in, tt.key, tt.sent); got != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
