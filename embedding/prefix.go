package embedding

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Auto is the value of an option that is decided by what is known of the model
// or the server.
const Auto = "auto"

// family is what the makers of a model say about texts: what stands before a
// query and before a document. Without it their models find noticeably less.
type family struct {
	name            *regexp.Regexp // of the model, as baseName gives it
	query, document string
}

const (
	passagesQuery = "Represent this sentence for searching relevant passages: "
	instructQuery = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

// families is searched from the top. Models that want no prefix and would match
// a later row stand before it.
func families() []family {
	row := func(pattern, query, document string) family {
		return family{regexp.MustCompile(pattern), query, document}
	}
	return []family{
		// https://huggingface.co/nomic-ai/nomic-embed-text-v1.5 and -v2-moe, "Task instruction prefixes"
		row(`^nomic-embed-text`, "search_query: ", "search_document: "),
		// https://huggingface.co/intfloat/multilingual-e5-large-instruct, https://huggingface.co/intfloat/e5-mistral-7b-instruct
		row(`(^|-)e5-(.*-)?(instruct|mistral)`, strings.Replace(instructQuery, "Query:", "Query: ", 1), ""),
		// https://huggingface.co/intfloat/multilingual-e5-large and e5-base-v2, "FAQ 1"
		row(`(^|-)e5(-|$)`, "query: ", "passage: "),
		// https://huggingface.co/mixedbread-ai/mxbai-embed-large-v1, "Quickstart"
		row(`^mxbai-embed`, passagesQuery, ""),
		// https://huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0, "query" prompt
		row(`arctic-embed(2|.*v2)`, "query: ", ""),
		// https://huggingface.co/Snowflake/snowflake-arctic-embed-l, "query" prompt
		row(`arctic-embed`, passagesQuery, ""),
		// https://huggingface.co/BAAI/bge-m3, FAQ: needs no instruction
		row(`^bge-m3`, "", ""),
		// https://huggingface.co/BAAI/bge-large-zh-v1.5, "Model List"
		row(`^bge-.*zh`, "为这个句子生成表示以用于检索相关文章：", ""),
		// https://huggingface.co/BAAI/bge-large-en-v1.5, "Model List"; ollama's bge-large is this model
		row(`^bge-(.*en|large$|base$|small$)`, passagesQuery, ""),
		// https://huggingface.co/Qwen/Qwen3-Embedding-0.6B, get_detailed_instruct
		row(`^qwen3-embedding`, instructQuery, ""),
		// https://huggingface.co/google/embeddinggemma-300m, "Prompt Instructions"
		row(`^embeddinggemma`, "task: search result | query: ", "title: none | text: "),
	}
}

// knownPrefixes returns what belongs before queries and documents of a model,
// nothing for models that want nothing or are not known.
func knownPrefixes(model string) (query, document string) {
	name := baseName(model)
	for _, f := range families() {
		if f.name.MatchString(name) {
			return f.query, f.document
		}
	}
	return "", ""
}

// baseName is a model's name in lower case without registry, owner and tag:
// "hf.co/Snowflake/Arctic_Embed:q8" is "arctic-embed".
func baseName(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name, _, _ = strings.Cut(name, ":")
	return strings.ReplaceAll(name, "_", "-")
}

// spaceVersion is the part of a space that depends on how the model is used:
// other prefixes or an explicit dimension give other vectors under the same name.
func spaceVersion(query, document string, dimensions int) string {
	var parts []string
	if query != "" || document != "" {
		sum := sha256.Sum256([]byte(query + "\x00" + document))
		parts = append(parts, "prefix-"+hex.EncodeToString(sum[:4]))
	}
	if dimensions > 0 {
		parts = append(parts, fmt.Sprintf("dim-%d", dimensions))
	}
	return strings.Join(parts, "+")
}
