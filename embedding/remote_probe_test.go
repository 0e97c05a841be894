package embedding_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/embedding"
	"reverie/embedding/embedtest"
)

func TestRemoteAuto(t *testing.T) {
	chat := embedtest.Model{Name: "llama3:8b", Capabilities: []string{"completion", "tools"}}
	tests := []struct {
		name, protocol string
		models         []embedtest.Model
		prefer, want   string // want "" for none
	}{
		{"the only one that can", "ollama-embed", []embedtest.Model{chat, {Name: "my-own"}}, "", "my-own"},
		{"many languages first", "ollama-embed", []embedtest.Model{{Name: "all-minilm"}, {Name: "bge-m3"}, chat}, "", "bge-m3"},
		{"prefers what was used", "ollama-embed", []embedtest.Model{{Name: "all-minilm"}, {Name: "bge-m3"}}, "all-minilm:latest", "all-minilm"},
		{"what was used is gone", "ollama-embed", []embedtest.Model{{Name: "bge-m3"}}, "all-minilm", "bge-m3"},
		{"what was used cannot embed", "ollama-embed", []embedtest.Model{chat, {Name: "bge-m3"}}, "llama3:8b", "bge-m3"},
		{"a name that says nothing, no capabilities told", "ollama-embed", []embedtest.Model{{Name: "x", Capabilities: []string{}}}, "", "x"},
		{"none", "ollama-embed", []embedtest.Model{chat}, "", ""},
		{"known by name", "openai", []embedtest.Model{chat, {Name: "text-embedding-3-small"}}, "", "text-embedding-3-small"},
		{"the only one", "openai", []embedtest.Model{{Name: "x"}}, "", "x"},
		{"several unknown", "openai", []embedtest.Model{{Name: "x"}, {Name: "y"}}, "", ""},
		{"unknown but used", "openai", []embedtest.Model{{Name: "x"}, {Name: "y"}}, "y", "y"},
	}
	for _, tt := range tests {
		t.Run(tt.protocol+" "+tt.name, func(t *testing.T) {
			s := embedtest.Start(t, tt.models...)
			r := connect(t, tt.protocol, s, embedding.RemoteOptions{Model: "auto", Prefer: tt.prefer})
			if got := r.Space().Model; got != "" {
				t.Errorf("model %q before asking", got)
			}
			space, err := r.Probe(t.Context())
			if space.Model != tt.want || (err == nil) != (tt.want != "") {
				t.Fatalf("model %q, error %v", space.Model, err)
			}
			if err != nil && kindOf(err) != embedding.KindModelMissing {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRemoteProbeOnce(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	s.Fail(embedtest.First(1, embedtest.HTML()))
	if _, err := r.Probe(t.Context()); err == nil {
		t.Fatal("no error")
	}
	s.ForgetRequests()
	s.Fail(embedtest.Always(embedtest.Fault{Delay: 30 * time.Millisecond}))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if space, err := r.Probe(t.Context()); err != nil || space.Dim != 64 {
				t.Errorf("%+v, %v", space, err)
			}
		})
	}
	group.Wait()
	probe(t, r)
	if n := len(s.Embeds()); n != 1 {
		t.Errorf("%d embeddings for eight callers and one more", n)
	}
}

// A caller that stops waiting does not end the question of the others.
func TestRemoteProbeOutlivesCaller(t *testing.T) {
	s := embedtest.Start(t)
	s.Fail(embedtest.Always(embedtest.Fault{Delay: 100 * time.Millisecond}))
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Probe(ctx); kindOf(err) != embedding.KindTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	probe(t, r)
	if n := len(s.Embeds()); n != 1 {
		t.Errorf("%d embeddings", n)
	}
}

func TestRemoteSwap(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "m", Dim: 64})
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{Model: "m"})
	before, err := r.EmbedQuery(t.Context(), "the same words")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := r.EmbedQuery(t.Context(), "the  same words ")
	if len(again) == 0 || &again[0] != &before[0] {
		t.Error("a repeated query is asked again")
	}
	s.Swap("m", 9)
	r.Forget()
	after, err := r.EmbedQuery(t.Context(), "the same words")
	if err != nil || dot(before, after) > .5 {
		t.Errorf("after the swap similarity %.2f, error %v", dot(before, after), err)
	}

	s.Put(embedtest.Model{Name: "m", Dim: 32})
	_, err = r.EmbedQuery(t.Context(), "other words")
	if !errors.Is(err, embedding.ErrDimension) || !strings.Contains(err.Error(), `the model behind "m" changed: 32 numbers a vector, before it were 64`) {
		t.Errorf("error %v", err)
	}
	if _, err := r.EmbedDocuments(t.Context(), []string{"other words"}); !errors.Is(err, embedding.ErrDimension) {
		t.Errorf("documents: error %v", err)
	}
	r.Forget()
	if got := probe(t, r).Dim; got != 32 {
		t.Errorf("dimension %d after Forget", got)
	}
}

// What a question finds that began before Forget is not remembered.
func TestRemoteForgetDuringProbe(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "m", Dim: 64})
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{Model: "m"})
	s.Fail(embedtest.First(1, embedtest.Fault{Edit: func(answer []any, _ embedtest.Request) []any {
		s.Put(embedtest.Model{Name: "m", Dim: 32})
		r.Forget()
		return answer
	}}))
	if got := probe(t, r).Dim; got != 64 {
		t.Errorf("dimension %d in the answer from before", got)
	}
	if got := r.Space().Dim; got != 0 {
		t.Errorf("dimension %d is remembered", got)
	}
	if got := probe(t, r).Dim; got != 32 {
		t.Errorf("dimension %d afterwards", got)
	}
}

// The space of a named model is known but for its dimension before the server is asked:
// by it stored vectors are recognised.
func TestRemoteSpaceBeforeProbe(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "nomic-embed-text"})
	tests := []struct {
		name    string
		options embedding.RemoteOptions
	}{
		{"no prefixes", embedding.RemoteOptions{}},
		{"of the family", embedding.RemoteOptions{QueryPrefix: embedding.Auto, DocumentPrefix: embedding.Auto}},
		{"own", embedding.RemoteOptions{QueryPrefix: "q: ", DocumentPrefix: embedding.Auto}},
		{"dimensions", embedding.RemoteOptions{QueryPrefix: embedding.Auto, DocumentPrefix: embedding.Auto, Dimensions: 32}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Model = "nomic-embed-text"
			for protocol := range protocols() {
				r := connect(t, protocol, s, tt.options)
				before := r.Space()
				want := probe(t, r)
				want.Dim = 0
				if before != want {
					t.Errorf("%s: before %+v, after %+v", protocol, before, want)
				}
			}
		})
	}
}
