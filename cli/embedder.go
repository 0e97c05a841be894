package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"reverie/config"
	"reverie/embedding"
	"reverie/embedding/spaces"
	"reverie/store"
)

// newEmbedder returns the configured embedder. It asks no server.
func newEmbedder(ctx context.Context, cfg config.Embedding, db *store.DB, log *slog.Logger) (spaces.Embedder, error) {
	if cfg.Protocol == builtinProtocol {
		b := embedding.NewBuiltin(embedding.BuiltinOptions{})
		if name, have := cfg.ModelName, b.Space().Model; name != "auto" && name != have {
			return nil, usage(fmt.Errorf("embedding.model_name = %q: the built-in embedder has %q; write that, or auto", name, have))
		}
		return b, nil
	}
	o := embedding.RemoteOptions{
		URL: cfg.ModelURL, Model: cfg.ModelName, APIKey: cfg.APIKey, Dimensions: cfg.Dimensions,
		QueryPrefix: cfg.QueryPrefix, DocumentPrefix: cfg.DocumentPrefix,
		Timeout: time.Duration(cfg.TimeoutSeconds) * time.Second, BatchSize: min(cfg.BatchSize, embedding.DefaultBatchSize), Logger: log,
	}
	// With a choice, the model stays the one that the store was embedded with.
	if sp, ok, err := spaces.Serving(ctx, db); err != nil {
		return nil, err
	} else if ok && sp.Protocol == cfg.Protocol {
		o.Prefer = sp.Model
	}
	return newRemote(cfg.Protocol, o)
}

const (
	builtinProtocol = "builtin"
	ollamaProtocol  = "ollama-embed"
	openaiProtocol  = "openai"
)

func newRemote(protocol string, o embedding.RemoteOptions) (*embedding.Remote, error) {
	var e *embedding.Remote
	var err error
	switch protocol {
	case ollamaProtocol:
		e, err = embedding.NewOllama(o)
	case openaiProtocol:
		e, err = embedding.NewOpenAI(o)
	default:
		return nil, fmt.Errorf("no embedder for the protocol %q in this version", protocol)
	}
	if err != nil {
		return nil, usage(fmt.Errorf("embedder: %w", err))
	}
	return e, nil
}

// oldEmbedder returns an embedder for a space of before, to serve until the store is
// embedded anew. The key goes to the configured server only.
func oldEmbedder(cfg config.Embedding, log *slog.Logger) func(embedding.Space) (spaces.Embedder, error) {
	return func(sp embedding.Space) (spaces.Embedder, error) {
		if sp.Protocol == builtinProtocol {
			return embedding.NewBuiltin(embedding.BuiltinOptions{}), nil
		}
		o := embedding.RemoteOptions{
			URL: sp.BaseURL, Model: sp.Model, QueryPrefix: "auto", DocumentPrefix: "auto",
			Timeout: time.Duration(cfg.TimeoutSeconds) * time.Second, Logger: log,
		}
		if sp.Protocol == cfg.Protocol {
			if ours, err := remoteURL(cfg.Protocol, cfg.ModelURL); err == nil && ours == sp.BaseURL {
				o.APIKey = cfg.APIKey
				o.QueryPrefix, o.DocumentPrefix, o.Dimensions = cfg.QueryPrefix, cfg.DocumentPrefix, cfg.Dimensions
			}
		}
		return newRemote(sp.Protocol, o)
	}
}

// remoteURL is the address of a protocol's server as a space has it.
func remoteURL(protocol, url string) (string, error) {
	e, err := newRemote(protocol, embedding.RemoteOptions{URL: url})
	if err != nil {
		return "", err
	}
	defer e.Close()
	return e.Space().BaseURL, nil
}
