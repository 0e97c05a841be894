package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"reverie/config"
	"reverie/internal/caller"
	"reverie/internal/evalset"
	"reverie/internal/tokens"
	"reverie/vector"
)

// benchRetrievalCmd measures how well search answers, through the store that tools use.
type benchRetrievalCmd struct {
	Dir        string   `arg:"" help:"Folder with *_corpus.jsonl and *_queries.jsonl files." type:"existingdir"`
	Only       []string `help:"Only sets whose name contains this; repeat for several." placeholder:"NAME"`
	Categories bool     `help:"Print each category of a set, too."`
	Words      bool     `help:"Search by words only, for comparison."`
}

func (*benchRetrievalCmd) Help() string {
	return "Stores each pool of texts as the memories of a user of its own in a temporary home, with the shipped defaults, asks every question, and counts. The format of the files is in the package comment of internal/evalset."
}

// scoresJSON is a row of the result.
type scoresJSON struct {
	Set      string    `json:"set"`
	Category string    `json:"category,omitempty"`
	Queries  int       `json:"queries"`
	Cuts     []int     `json:"cuts"`
	AnyHit   []float64 `json:"any_hit"`
	AllHit   []float64 `json:"all_hit"`
	Recall   []float64 `json:"recall"`
	MRR      float64   `json:"mrr"`
	Tokens   float64   `json:"tokens_at_default_top_k"`
	P50      float64   `json:"p50_ms"`
	P95      float64   `json:"p95_ms"`
}

func rowOf(set, category string, s evalset.Scores) scoresJSON {
	return scoresJSON{set, category, s.Queries, evalset.Cuts, s.Any, s.Every, s.Recall, s.MRR, s.Tokens, ms(s.P50), ms(s.P95)}
}

// Run measures every set.
func (b *benchRetrievalCmd) Run(ctx context.Context, e *env) error {
	sets, err := evalset.Load(b.Dir)
	if err != nil {
		return err
	}
	sets = slices.DeleteFunc(sets, func(s evalset.Set) bool {
		return len(b.Only) > 0 && !slices.ContainsFunc(b.Only, func(o string) bool { return strings.Contains(s.Name, o) })
	})
	if len(sets) == 0 {
		return errors.New("bench retrieval: no set has such a name")
	}
	r, err := newPoolRunner(ctx, e)
	if err != nil {
		return err
	}
	defer r.close()
	if b.Words {
		if err := r.forgetMeaning(ctx); err != nil {
			return err
		}
	}
	var rows []scoresJSON
	if !e.json {
		e.printf("| set | queries | any@1 | any@3 | any@5 | any@10 | all@5 | recall@10 | MRR | tokens | p50 ms | p95 ms |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	}
	for _, set := range sets {
		report, err := evalset.Run(ctx, set, r, evalset.Options{})
		if err != nil {
			return fmt.Errorf("set %s: %w", set.Name, err)
		}
		rows = append(rows, rowOf(set.Name, "", report.All))
		if b.Categories || e.json {
			for _, c := range report.Categories {
				rows = append(rows, rowOf(set.Name, c.Name, c))
			}
		}
		if !e.json {
			for _, row := range rows {
				e.printf("%s\n", row.markdown())
			}
			rows = nil
		}
	}
	if e.json {
		return e.printJSON(rows)
	}
	return nil
}

// markdown is a row of the table, shares in percent.
func (r scoresJSON) markdown() string {
	name := r.Set
	if r.Category != "" {
		name = "- " + r.Category
	}
	pct := func(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
	at := func(list []float64, cut int) string { return pct(list[slices.Index(r.Cuts, cut)]) }
	return fmt.Sprintf("| %s | %d | %s | %s | %s | %s | %s | %s | %s | %.0f | %.1f | %.1f |", name, r.Queries,
		at(r.AnyHit, 1), at(r.AnyHit, 3), at(r.AnyHit, 5), at(r.AnyHit, 10), at(r.AllHit, 5), at(r.Recall, 10), pct(r.MRR), r.Tokens, r.P50, r.P95)
}

// poolRunner keeps each pool as the memories of one user of a real home.
type poolRunner struct {
	app  *app
	home string
	who  caller.Caller
	next int
	ids  map[string]string // memory id to id in the set
}

func newPoolRunner(ctx context.Context, e *env) (*poolRunner, error) {
	home, err := os.MkdirTemp("", "reverie-retrieval-")
	if err != nil {
		return nil, err
	}
	r := &poolRunner{home: home}
	cfg, err := config.Load(config.Options{HomeFlag: home, Getenv: func(string) string { return "" }})
	if err == nil {
		// The one setting that is not a shipped default: a pool is larger than 50.
		cfg.PerSessionMemoryLimit = 100_000
		r.app, err = openQuiet(ctx, e, cfg)
	}
	if err != nil {
		os.RemoveAll(home)
		return nil, err
	}
	return r, nil
}

// forgetMeaning goes on without an embedder.
func (r *poolRunner) forgetMeaning(ctx context.Context) error {
	if err := r.app.memories.Close(); err != nil {
		return err
	}
	var err error
	r.app.memories, err = vector.New(ctx, r.app.db, nil, vector.Options{Limit: r.app.cfg.PerSessionMemoryLimit, Source: "bench"})
	return err
}

func openQuiet(ctx context.Context, e *env, cfg *config.Config) (*app, error) {
	log, err := newLogger(cfg, e.stderr)
	if err != nil {
		return nil, err
	}
	return openApp(ctx, cfg, log, "bench")
}

func (r *poolRunner) close() error {
	return errors.Join(r.app.Close(), os.RemoveAll(r.home))
}

// Load stores the texts as a new user's memories.
func (r *poolRunner) Load(ctx context.Context, docs []evalset.Doc) error {
	r.next++
	r.who = caller.Caller{User: fmt.Sprintf("pool%d", r.next), Platform: caller.DefaultPlatform}
	r.ids = map[string]string{}
	for batch := range slices.Chunk(docs, 200) {
		drafts := make([]vector.Draft, len(batch))
		for i, d := range batch {
			drafts[i] = vector.Draft{Content: d.Text, EventTime: d.When(), Conversation: d.Conversation()}
		}
		written, err := r.app.memories.WriteAll(ctx, r.who, "", drafts)
		if err != nil {
			return err
		}
		for i, w := range written {
			if w.DuplicateOf == "" {
				r.ids[w.Memory.ID] = batch[i].ID
			}
		}
	}
	return nil
}

// Search asks as the read_memory tool does.
func (r *poolRunner) Search(ctx context.Context, query string, k int) (evalset.Answer, error) {
	began := time.Now()
	found, err := r.app.memories.Search(ctx, r.who, vector.Query{Text: query, TopK: k})
	if err != nil {
		return evalset.Answer{}, err
	}
	a := evalset.Answer{Latency: time.Since(began)}
	for i, h := range found.Hits {
		a.IDs = append(a.IDs, r.ids[h.ID])
		if i < vector.DefaultTopK {
			a.Tokens += tokens.Estimate(h.Content)
		}
	}
	return a, nil
}
