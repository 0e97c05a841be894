package cli

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"reverie/transfer"
	"reverie/vector/chroma"
	"reverie/vector/chroma/chromatest"
)

// The commands that need a real Chroma server as transcripts, in testdata/chroma.
func TestChromaScript(t *testing.T) {
	srv := chromatest.Start(t)
	oldBot(t, srv.URL)
	ofChroma(t, srv.URL)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/chroma",
		Setup: func(e *testscript.Env) error {
			ownEnv(t, e)
			for k, v := range map[string]string{"CHROMA_URL": srv.URL, "VECTOR_DB_TYPE": "remote", "VECTOR_DB_SERVER": "127.0.0.1", "VECTOR_DB_PORT": strconv.Itoa(srv.Port)} {
				e.Setenv(k, v)
			}
			return nil
		},
	})
}

// ofChroma makes an empty collection where Chroma's own clients make one.
func ofChroma(t *testing.T, url string) {
	t.Helper()
	c, err := chroma.New(chroma.Options{URL: url, Tenant: "default_tenant", Database: "default_database"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.EnsureDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ensure(t.Context(), "of_chroma", map[string]any{"embed_protocol": "ollama-embed"}, 2); err != nil {
		t.Fatal(err)
	}
}

// oldBot makes a collection as P1 has it.
func oldBot(t *testing.T, url string) {
	t.Helper()
	c, err := chroma.New(chroma.Options{URL: url, Tenant: "bot", Database: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.EnsureDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	col, err := c.Ensure(t.Context(), transfer.P1Collection, map[string]any{"embed_protocol": "ollama-embed", "embed_model": "nomic-embed-text", "embed_base_url": "http://127.0.0.1:11434"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var recs []chroma.Record
	for i, r := range [][2]string{{"QQPlatform_Private_10001", "likes green tea after work"}, {"group_555", "the group meets on Fridays"}, {"QQPlatform_Channel_7", "a channel"}, {"user_10001", ""}} {
		recs = append(recs, chroma.Record{ID: fmt.Sprintf("%032x", i), Embedding: []float32{1, float32(i)}, Document: r[1], Metadata: map[string]any{
			"user_id": r[0], "scope": "user", "tags": "a,b", "importance": "low", "created_at": "2025-01-02T03:04:05.000006+00:00",
		}})
	}
	if err := c.Upsert(t.Context(), col.ID, recs); err != nil {
		t.Fatal(err)
	}
}
