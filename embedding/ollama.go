package embedding

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	ollamaProtocol = "ollama-embed"
	// DefaultOllamaURL is where Ollama listens unless told otherwise.
	DefaultOllamaURL = "http://127.0.0.1:11434"

	// maxAsked bounds how many models are asked whether they can embed.
	maxAsked = 64
)

// NewOllama returns an embedder that uses an Ollama server through its own
// /api/embed. It asks nothing yet; the error is that of a wrong option.
func NewOllama(options RemoteOptions) (*Remote, error) {
	return newRemote(ollamaProtocol, DefaultOllamaURL, ollama{}, options, func(c *conn) {
		c.voice = "ollama"
		c.startup = "is it running? run: ollama serve"
		c.urlHint = "is that an Ollama server, and not too old a one?"
		c.pullHint = func(model string) string { return "run: ollama pull " + model }
	})
}

// ollama is the native protocol. Only fields that are needed are read, since
// others change from version to version.
type ollama struct{}

func (ollama) choose(ctx context.Context, c *conn, timeout time.Duration, name, prefer string) (chosen, error) {
	if name != Auto {
		about, err := ollamaShow(ctx, c, timeout, name)
		if err != nil {
			return chosen{}, err
		}
		if len(about.Capabilities) > 0 && !slices.Contains(about.Capabilities, "embedding") {
			return chosen{}, c.fail(KindModelMissing, "model %q cannot embed, only %s (choose an embedding model, or run: ollama pull nomic-embed-text)",
				name, serverText(strings.Join(about.Capabilities, ", "), c.key, nil))
		}
		return chosen{name, about.context()}, nil
	}
	var tags struct {
		Models []struct {
			Name    string `json:"name"`
			Model   string `json:"model"`
			Details struct {
				Family string `json:"family"`
			} `json:"details"`
		} `json:"models"`
	}
	if err := c.do(ctx, timeout, exchange{method: http.MethodGet, path: "/api/tags", out: &tags, most: maxCatalogue}); err != nil {
		return chosen{}, err
	}
	var names []string
	family := map[string]string{}
	for _, m := range tags.Models {
		if m.Name == "" {
			m.Name = m.Model
		}
		if m.Name != "" {
			names = append(names, m.Name)
			family[m.Name] = m.Details.Family
		}
	}
	names = byRank(names, prefer)
	for _, name := range names[:min(len(names), maxAsked)] {
		about, err := ollamaShow(ctx, c, timeout, name)
		if re := asRemote(err); re != nil && (re.Kind == KindModelMissing || re.Kind == KindBadInput) || re != nil && re.Status == 500 {
			continue // deleted since, or damaged
		}
		if err != nil {
			return chosen{}, err
		}
		able := slices.Contains(about.Capabilities, "embedding")
		if len(about.Capabilities) == 0 { // servers before 0.6 do not say
			able = strings.Contains(family[name], "bert") || rank(name) < len(ranking())
		}
		if able {
			return chosen{untagged(name), about.context()}, nil
		}
	}
	return chosen{}, c.fail(KindModelMissing, "no model at %s can embed (run: ollama pull nomic-embed-text)", c.base)
}

// ollamaAbout is what /api/show tells.
type ollamaAbout struct {
	Capabilities []string       `json:"capabilities"`
	ModelInfo    map[string]any `json:"model_info"`
}

// context is the length of the model's input in tokens, 0 if it is not told. The
// key begins with the architecture: bert.context_length.
func (a ollamaAbout) context() int {
	for key, value := range a.ModelInfo {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") && n >= 1 && n < 1<<30 {
			return int(n)
		}
	}
	return 0
}

// ollamaShow asks about one model. A server without that address is no error.
func ollamaShow(ctx context.Context, c *conn, timeout time.Duration, name string) (about ollamaAbout, err error) {
	err = c.do(ctx, timeout, exchange{method: http.MethodPost, path: "/api/show", model: name, out: &about, most: maxCatalogue,
		in: map[string]string{"model": name}})
	if re := asRemote(err); re != nil && re.Kind == KindBadAnswer && (re.Status == http.StatusNotFound || re.Status == http.StatusMethodNotAllowed) {
		return ollamaAbout{}, nil
	}
	return about, err
}

func (ollama) embed(ctx context.Context, c *conn, timeout time.Duration, r embedRequest) ([]numbers, error) {
	in := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Truncate   bool     `json:"truncate"` // always sent: the server's default is to cut silently
		Dimensions int      `json:"dimensions,omitempty"`
	}{r.model, r.texts, r.truncate, r.dimensions}
	var out struct {
		Embeddings []numbers `json:"embeddings"`
	}
	err := c.do(ctx, timeout, r.exchange("/api/embed", in, &out))
	return out.Embeddings, err
}
