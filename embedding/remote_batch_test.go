package embedding_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reverie/embedding"
	"reverie/embedding/embedtest"
)

func manyTexts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	return texts
}

// One bad text costs itself, not its batch, whatever the way in which it is bad.
func TestRemoteBadTexts(t *testing.T) {
	for name, hook := range map[string]embedtest.Hook{
		"NaN":                     embedtest.Holding("poison", embedtest.NaN()),
		"server error":            embedtest.Holding("poison", embedtest.Fault{Status: 500, Message: "llama runner exited"}),
		"refused":                 embedtest.Holding("poison", embedtest.Fault{Status: 400, Message: "invalid character"}),
		"too large":               embedtest.Holding("poison", embedtest.Fault{Status: 413, Message: "payload too large"}),
		"always beyond the model": embedtest.Holding("poison", embedtest.Fault{Status: 400, Message: "the input length exceeds the context length"}),
		"zeros":                   embedtest.Always(embedtest.Spoiled("poison", make([]float32, 64))),
		"null":                    embedtest.Always(embedtest.Spoiled("poison", []any{1, nil})),
	} {
		for protocol := range protocols() {
			t.Run(protocol+" "+name, func(t *testing.T) {
				s := embedtest.Start(t, embedtest.Model{Name: "m"})
				r := connect(t, protocol, s, embedding.RemoteOptions{Model: "m"})
				probe(t, r)
				s.Fail(hook)
				s.ForgetRequests()
				texts := manyTexts(40)
				texts[0], texts[17], texts[39] = "poison", "a poisoned text", "more poison"
				d, err := r.EmbedDocuments(t.Context(), texts)
				var batch *embedding.BatchError
				if !errors.As(err, &batch) || len(batch.Bad) != 3 || batch.Bad[0] == nil || batch.Bad[17] == nil || batch.Bad[39] == nil {
					t.Fatalf("error %v", err)
				}
				if kind := kindOf(batch.Bad[17]); kind != embedding.KindBadInput && kind != embedding.KindServer {
					t.Errorf("kind %s", kind)
				}
				for i, text := range texts {
					if bad := strings.Contains(text, "poison"); bad != (len(d[i]) == 0) {
						t.Errorf("text %d has %d passages", i, len(d[i]))
					} else if !bad && dot(d[i][0], s.Vector("m", text)) < .9999 {
						t.Errorf("text %d has the vector of another", i)
					}
				}
				if n := len(s.Embeds()); n > 60 {
					t.Errorf("%d requests", n)
				}
				for range 3 {
					if d, err = r.EmbedDocuments(t.Context(), []string{"poison", "fine"}); len(d) != 2 || len(d[1]) != 1 || !errors.As(err, &batch) {
						t.Fatalf("once more: %v", err)
					}
				}
				s.Fail(nil)
				if _, err := r.EmbedDocuments(t.Context(), texts); err != nil {
					t.Errorf("afterwards: %v", err) // bad texts must not open the breaker
				}
			})
		}
	}
}

// Half a document is none: it would be taken for the whole.
func TestRemoteBadPassage(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	s.Fail(embedtest.Holding("poison", embedtest.NaN()))
	d, err := r.EmbedDocuments(t.Context(), []string{strings.Repeat("A harmless sentence. ", 100) + "And poison.", "fine"})
	var batch *embedding.BatchError
	if !errors.As(err, &batch) || len(batch.Bad) != 1 || batch.Bad[0] == nil || len(d) != 2 || d[0] != nil || len(d[1]) != 1 {
		t.Errorf("%d documents, error %v", len(d), err)
	}
}

// A query that the model chokes on is an error of its own, not the end of searching.
func TestRemoteBadQueries(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	s.Fail(embedtest.Holding("poison", embedtest.NaN()))
	for i := range 5 {
		if _, err := r.EmbedQuery(t.Context(), fmt.Sprint("poison ", i)); kindOf(err) != embedding.KindBadInput {
			t.Errorf("error %v", err)
		}
	}
	if _, err := r.EmbedQuery(t.Context(), "fine"); err != nil {
		t.Error(err)
	}
}

func TestRemoteBatches(t *testing.T) {
	s := embedtest.Start(t, embedtest.Model{Name: "m"})
	r := connect(t, "ollama-embed", s, embedding.RemoteOptions{})
	probe(t, r)
	long := strings.Repeat("a line of a long text, ", 300)
	for _, tt := range []struct {
		name  string
		texts []string
		want  int // requests
	}{{"full", manyTexts(64), 1}, {"one more", manyTexts(65), 2}, {"long", slices.Repeat([]string{long}, 12), 4}} {
		s.ForgetRequests()
		if _, err := r.EmbedDocuments(t.Context(), tt.texts); err != nil {
			t.Fatal(err)
		}
		sent := s.Embeds()
		if len(sent) != tt.want {
			t.Errorf("%s: %d requests", tt.name, len(sent))
		}
		for _, request := range sent {
			if size := len(strings.Join(request.Texts, "")); len(request.Texts) > 64 || size > 24<<10 {
				t.Errorf("%s: a request of %d texts and %d bytes", tt.name, len(request.Texts), size)
			}
		}
	}
}

// A server that gives vectors for few texts only is given few from then on.
func TestRemoteLearnsBatchSize(t *testing.T) {
	s := embedtest.Start(t)
	r := connect(t, "openai", s, embedding.RemoteOptions{BatchSize: 16})
	probe(t, r)
	s.Fail(func(request embedtest.Request) *embedtest.Fault {
		if len(request.Texts) < 5 {
			return nil
		}
		fault := embedtest.Spoiled("", []float32{})
		return &fault
	})
	for range 2 {
		s.ForgetRequests()
		if d, err := r.EmbedDocuments(t.Context(), manyTexts(16)); err != nil || len(d[15]) != 1 {
			t.Fatal(err)
		}
	}
	if n := len(s.Embeds()); n != 4 {
		t.Errorf("%d requests the second time", n)
	}
}

// A model that reads less than it says gets passages that it can read, and all of the text.
func TestRemoteLearnsContext(t *testing.T) {
	for protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			s := embedtest.Start(t, embedtest.Model{Name: "m"})
			r := connect(t, protocol, s, embedding.RemoteOptions{})
			probe(t, r)
			s.Put(embedtest.Model{Name: "m", Context: 30})
			text := strings.TrimSpace(strings.Repeat("the quick brown fox jumps over the lazy dog ", 30)) + " and the key lies under the mat"
			s.ForgetRequests()
			d, err := r.EmbedDocuments(t.Context(), []string{text})
			if err != nil || len(d[0]) < 8 {
				t.Fatalf("%d passages, error %v", len(d), err)
			}
			first := len(s.Embeds())
			sent := s.Embeds()
			if last := sent[len(sent)-1].Texts; !strings.HasSuffix(last[len(last)-1], "under the mat") {
				t.Errorf("the end is %q", last)
			}
			s.ForgetRequests()
			if _, err := r.EmbedDocuments(t.Context(), []string{text}); err != nil || len(s.Embeds()) >= first {
				t.Errorf("%d requests, then %d, error %v", first, len(s.Embeds()), err)
			}
			if _, err := r.EmbedQuery(t.Context(), text); err != nil {
				t.Errorf("a long query: %v", err)
			}
		})
	}
}
