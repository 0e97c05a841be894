package backup_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/memo"
	"reverie/vector"
)

// coarse embeds a text by a hash: the same text, the same vector, and nothing else.
type coarse struct{ model string }

func (c coarse) Space() embedding.Space {
	return embedding.Space{Protocol: "test", Model: c.model, Dim: 64, Version: "1"}
}

func (c coarse) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	h := fnv.New64a()
	h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, 64)
	var sum float32
	for i := range v {
		v[i] = r.Float32() - 0.5
		sum += v[i] * v[i]
	}
	for i := range v {
		v[i] /= sqrt(sum)
	}
	return v, nil
}

func sqrt(x float32) float32 {
	y := x
	for range 30 {
		y = (y + x/y) / 2
	}
	return y
}

func (c coarse) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Passages, error) {
	var out []embedding.Passages
	for _, t := range texts {
		v, _ := c.EmbedQuery(ctx, t)
		out = append(out, embedding.Passages{v})
	}
	return out, nil
}

func user(i int) caller.Caller {
	return caller.Caller{User: fmt.Sprintf("u%d", i), Platform: "Local"}
}

func (h *home) memories(tb testing.TB) *vector.Service {
	tb.Helper()
	svc, err := vector.New(tb.Context(), h.db, coarse{"a"}, vector.Options{Limit: 1000})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { svc.Close() })
	return svc
}

// live gives a home a past: memories of all states, memos, a journal, files.
func (h *home) live(tb testing.TB, users, each int) {
	tb.Helper()
	ctx := tb.Context()
	if _, err := h.db.Secret(ctx); err != nil {
		tb.Fatal(err)
	}
	svc, memos := h.memories(tb), memo.New(h.db, memo.Options{})
	defer svc.Close()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	for u := range users {
		c := user(u)
		for i := range each {
			w, err := svc.Write(ctx, c, vector.Draft{Content: fmt.Sprintf("fact %d of user %d: \"茶\"\n\u2028 <tea> \U0001f375", i, u), Tags: []string{"a b", "茶"}})
			must(err)
			switch i % 7 {
			case 1:
				_, err = svc.Delete(ctx, c, caller.ScopeUser, w.Memory.ID)
			case 2:
				_, err = svc.Write(ctx, c, vector.Draft{Content: fmt.Sprintf("newer fact %d", i), Supersedes: w.Memory.ID})
			case 3:
				_, err = svc.Write(ctx, c, vector.Draft{Content: w.Memory.Content})
			}
			must(err)
		}
		for i := range 3 {
			_, _, err := memos.Set(ctx, c, fmt.Sprintf("memo %d of user %d", i, u), nil)
			must(err)
		}
	}
	h.exec(tb, "INSERT INTO pending (rid, space) SELECT rid, (SELECT space FROM serving) FROM memories WHERE id = (SELECT MIN(id) FROM memories WHERE state = 'live')")
	h.exec(tb, "DELETE FROM vectors WHERE rid IN (SELECT rid FROM pending)")
	h.exec(tb, "INSERT INTO meta (name, value) VALUES ('other', ?)", []byte{0, 255, 1})
	h.exec(tb, "INSERT INTO canaries (space, emb, checked_at) SELECT space, ?, 9007199254740993 FROM serving WHERE one = 1 ON CONFLICT (space) DO NOTHING", []byte{1, 2, 3})
	h.exec(tb, "INSERT INTO outbox (space, part, version) VALUES (1, 'x', 1)")
	for path, content := range map[string]string{
		"config.toml": "per_session_memory_limit = 70\n", "prompt/a.md.jinja2": "{{ x }}", "knowledge/KNOWLEDGE_1.md": "# 知识\r\n", "knowledge_index.json": "{}",
		"profile/Local_Private_u1.md": "p", "memories/global/MEMORY.md": "", "memories/session/a_b/x y.md": "\x00\xff", "state/s.json": "{}",
	} {
		h.file(tb, path, content)
	}
	for _, path := range []string{".env", "state/x.lock", "memories/global/x.tmp", "profile/x.damaged-1", "other.txt"} {
		h.file(tb, path, "not in a backup")
	}
}
