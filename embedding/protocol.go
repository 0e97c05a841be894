package embedding

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// protocol is one way of asking a server.
type protocol interface {
	// choose finds the model to use: the one named, or for Auto one that the
	// server has, staying with prefer if that is among them.
	choose(ctx context.Context, c *conn, timeout time.Duration, name, prefer string) (chosen, error)
	// embed returns a vector for each text, in order, or an error. Texts are never empty.
	embed(ctx context.Context, c *conn, timeout time.Duration, r embedRequest) ([]numbers, error)
}

// chosen is a model and what its server says of it.
type chosen struct {
	model   string
	context int // tokens it reads, 0 if not said
}

type embedRequest struct {
	model      string
	texts      []string
	dimensions int  // 0 for the model's own
	truncate   bool // the server may cut texts that are too long
}

func (r embedRequest) exchange(path string, in, out any) exchange {
	return exchange{method: http.MethodPost, path: path, in: in, out: out, model: r.model, sent: r.texts,
		most: 1<<20 + int64(len(r.texts))*maxVector}
}

// ranking is the order in which models are chosen by Auto, by parts of their
// names: those that know many languages first, then the larger ones.
func ranking() []string {
	return []string{
		"qwen3-embedding", "embeddinggemma", "bge-m3", "arctic-embed2", "arctic-embed-l-v2", "multilingual-e5", "nomic-embed-text-v2",
		"granite-embedding:278m", "paraphrase-multilingual", "text-embedding-3-small", "text-embedding-3-large", "mxbai-embed-large",
		"nomic-embed-text", "arctic-embed", "bge-large", "bge-", "text-embedding", "e5-", "gte-", "granite-embedding", "all-minilm",
		"minilm", "embed",
	}
}

// rank is the place of a model in the ranking, its length for models not in it.
func rank(model string) int {
	lower := strings.ToLower(model)
	order := ranking()
	if i := slices.IndexFunc(order, func(part string) bool { return strings.Contains(lower, part) }); i >= 0 {
		return i
	}
	return len(order)
}

// byRank puts the models that Auto would rather have first, and prefer before all.
func byRank(models []string, prefer string) []string {
	place := func(model string) int {
		if prefer != "" && untagged(model) == untagged(prefer) {
			return -1
		}
		return rank(model)
	}
	models = slices.Clone(models)
	slices.Sort(models) // the server's order is that of the last change
	slices.SortStableFunc(models, func(a, b string) int { return place(a) - place(b) })
	return slices.Compact(models)
}

// untagged drops the tag that means no tag, so that a model has one name.
func untagged(model string) string { return strings.TrimSuffix(model, ":latest") }
