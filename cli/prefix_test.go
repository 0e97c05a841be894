package cli

import (
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	"reverie/embedding/embedtest"
)

// A model that wants prefixes is known again by every later process, also by one that
// does not check at its start: it searches by meaning, and nobody is told to reindex.
func TestModelWithPrefixesIsKnownAgain(t *testing.T) {
	server := embedtest.Start(t, embedtest.Model{Name: "nomic-embed-text"})
	env := []string{"REVERIE_HOME=" + t.TempDir(), "REVERIE_USER=local", "EMBEDDING_PROTOCOL=ollama-embed",
		"EMBEDDING_MODEL_URL=" + server.URL(), "EMBEDDING_MODEL_NAME=nomic-embed-text"}
	for _, check := range []string{"EMBED_CHECK_ON_STARTUP=true", "EMBED_CHECK_ON_STARTUP=false"} {
		p, err := startPeer(t.Context(), binary(t), []string{"serve"}, append(env, check), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.call(t.Context(), "write_memory", map[string]any{"content": "the cat sleeps on the sofa"}, nil)
		if err != nil || r.IsError {
			t.Fatal(err, text(r))
		}
		if r, err = p.call(t.Context(), "read_memory", map[string]any{"query": "a kitten on the couch"}, nil); err != nil {
			t.Fatal(err)
		}
		if f, err := into[demoFound](r); err != nil || len(f.Items) != 1 || f.Items[0].Match == "words" || strings.Contains(text(r), "degraded") {
			t.Errorf("%s: %v %s", check, err, text(r))
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		run := func(args ...string) (out string) {
			cmd := exec.Command(binary(t), args...)
			cmd.Env = append(cmd.Environ(), append(env, check)...)
			b, err := cmd.Output()
			if err != nil {
				t.Fatal(args, err)
			}
			return string(b)
		}
		if out := run("memory", "search", "a kitten on the couch", "--json"); !strings.Contains(out, `"degraded": ""`) || !strings.Contains(out, `"match": "meaning"`) {
			t.Errorf("%s: memory search: %s", check, out)
		}
		var st statusReport
		if err := json.Unmarshal([]byte(run("status", "--json")), &st); err != nil {
			t.Fatal(err)
		}
		if st.Spaces.State != "consistent" || st.Spaces.Advice != "" {
			t.Errorf("%s: status %+v", check, st.Spaces)
		}
	}
}
