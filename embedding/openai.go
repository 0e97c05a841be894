package embedding

import (
	"context"
	"net/http"
	"time"
)

const (
	openaiProtocol = "openai"
	// DefaultOpenAIURL is the service that gave the protocol its name.
	DefaultOpenAIURL = "https://api.openai.com/v1"
)

// NewOpenAI returns an embedder that uses any server with OpenAI's
// /v1/embeddings. It asks nothing yet; the error is that of a wrong option.
func NewOpenAI(options RemoteOptions) (*Remote, error) {
	return newRemote(openaiProtocol, DefaultOpenAIURL, openai{}, options, func(c *conn) {
		c.voice = "embedding server"
		c.startup = "is it running, and is EMBEDDING_MODEL_URL right?"
		c.urlHint = "EMBEDDING_MODEL_URL usually ends with /v1"
		c.pullHint = func(string) string { return "check EMBEDDING_MODEL_NAME" }
	})
}

// openai is the protocol of many servers.
type openai struct{}

func (openai) choose(ctx context.Context, c *conn, timeout time.Duration, name, prefer string) (chosen, error) {
	if name != Auto {
		return chosen{model: name}, nil // the first embedding shows whether it is there
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := c.do(ctx, timeout, exchange{method: http.MethodGet, path: "/models", out: &list, most: maxCatalogue}); err != nil {
		if re := asRemote(err); re != nil && re.Kind == KindBadAnswer && re.Status == http.StatusNotFound {
			re.Message += "; or the server does not list its models: then set EMBEDDING_MODEL_NAME"
		}
		return chosen{}, err
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	names = byRank(names, prefer)
	switch {
	case len(names) == 0:
		return chosen{}, c.fail(KindModelMissing, "%s lists no models (set EMBEDDING_MODEL_NAME)", c.base)
	case len(names) == 1, rank(names[0]) < len(ranking()), prefer != "" && untagged(names[0]) == untagged(prefer):
		return chosen{model: untagged(names[0])}, nil
	}
	return chosen{}, c.fail(KindModelMissing, "none of the %d models at %s is known to embed (set EMBEDDING_MODEL_NAME)", len(names), c.base)
}

func (openai) embed(ctx context.Context, c *conn, timeout time.Duration, r embedRequest) ([]numbers, error) {
	in := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{r.model, r.texts, r.dimensions}
	var out struct {
		Data []openaiVector `json:"data"`
	}
	if err := c.do(ctx, timeout, r.exchange("/embeddings", in, &out)); err != nil {
		return nil, err
	}
	return inOrder(c, out.Data)
}

type openaiVector struct {
	Index     int     `json:"index"`
	Embedding numbers `json:"embedding"`
}

// inOrder puts the vectors in the order of their texts. Some servers leave every
// index at 0; their order is believed.
func inOrder(c *conn, data []openaiVector) ([]numbers, error) {
	vectors, placed, zeros := make([]numbers, len(data)), make([]bool, len(data)), 0
	for _, d := range data {
		if d.Index == 0 {
			zeros++
		}
	}
	for i, d := range data {
		if zeros == len(data) {
			d.Index = i
		}
		if d.Index < 0 || d.Index >= len(data) || placed[d.Index] {
			return nil, c.fail(KindBadAnswer, "the vectors are not numbered from 0 to %d", len(data)-1)
		}
		vectors[d.Index], placed[d.Index] = d.Embedding, true
	}
	return vectors, nil
}
