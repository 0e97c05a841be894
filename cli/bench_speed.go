package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"reverie/config"
	"reverie/vector"
)

// benchSpeedCmd measures a server in a process of its own, as a client sees it.
type benchSpeedCmd struct {
	Memories []int `help:"Sizes of the store to measure." default:"50,10000"`
	Reads    int   `help:"Searches per measurement." default:"300"`
	Writes   int   `help:"Writes per measurement." default:"100"`
}

type speedReport struct {
	Memories int       `json:"memories"`
	StartMS  float64   `json:"start_to_initialize_ms"`
	RSSStart float64   `json:"rss_after_initialize_mb"`
	FirstMS  float64   `json:"first_read_ms"`
	New      quantiles `json:"read_new_query"`
	Cached   quantiles `json:"read_cached_query"`
	Write    quantiles `json:"write"`
	RSSEnd   float64   `json:"rss_at_end_mb"`
}

// Run measures each size.
func (b *benchSpeedCmd) Run(ctx context.Context, e *env) error {
	var all []speedReport
	for _, n := range b.Memories {
		r, err := b.measure(ctx, e, n)
		if err != nil {
			return fmt.Errorf("bench %d memories: %w", n, err)
		}
		all = append(all, r)
		if !e.json {
			e.printf("%d memories in one partition, over stdio, built-in embedder\n", n)
			e.printf("  start to answered initialize %.0f ms, RSS then %.0f MB, at the end %.0f MB\n", r.StartMS, r.RSSStart, r.RSSEnd)
			e.printf("  first read_memory            %.1f ms\n", r.FirstMS)
			e.printf("  read_memory, new query       %s\n", r.New)
			e.printf("  read_memory, cached query    %s\n", r.Cached)
			e.printf("  write_memory                 %s\n", r.Write)
		}
	}
	if e.json {
		return e.printJSON(all)
	}
	return nil
}

func (b *benchSpeedCmd) measure(ctx context.Context, e *env, n int) (r speedReport, err error) {
	home, err := os.MkdirTemp("", "reverie-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(home)
	r.Memories = n
	conf := fmt.Sprintf("per_session_memory_limit = %d\n", min(n+b.Writes+10, 100_000))
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(conf), 0o600); err != nil {
		return r, err
	}
	if err := fillHome(ctx, e, home, n); err != nil {
		return r, fmt.Errorf("fill: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return r, err
	}
	p, err := startPeer(ctx, exe, []string{"serve"}, []string{"REVERIE_HOME=" + home, "REVERIE_USER=local", "REVERIE_TOOLSETS=memory"}, e.stderr)
	if err != nil {
		return r, err
	}
	defer p.close()
	r.StartMS, r.RSSStart = ms(p.Started), residentMB(p.cmd.Process.Pid)

	if r.FirstMS, err = timeCall(ctx, p, "read_memory", map[string]any{"query": question(-1)}); err != nil {
		return r, err
	}
	queries := func(i int) map[string]any { return map[string]any{"query": question(i)} }
	if r.New, err = timeCalls(ctx, p, "read_memory", b.Reads, queries); err != nil {
		return r, err
	}
	if r.Cached, err = timeCalls(ctx, p, "read_memory", b.Reads, queries); err != nil {
		return r, err
	}
	r.Write, err = timeCalls(ctx, p, "write_memory", b.Writes, func(i int) map[string]any {
		return map[string]any{"content": fact(1_000_000 + i)}
	})
	r.RSSEnd = residentMB(p.cmd.Process.Pid)
	return r, err
}

func timeCall(ctx context.Context, p *peer, tool string, args map[string]any) (float64, error) {
	began := time.Now()
	r, err := p.call(ctx, tool, args, nil)
	if err == nil && r.IsError {
		err = errors.New(text(r))
	}
	return ms(time.Since(began)), err
}

func timeCalls(ctx context.Context, p *peer, tool string, n int, args func(i int) map[string]any) (quantiles, error) {
	var s spread
	for i := range n {
		began := time.Now()
		if _, err := timeCall(ctx, p, tool, args(i)); err != nil {
			return quantiles{}, err
		}
		s = append(s, time.Since(began))
	}
	return s.quantiles(), nil
}

// fillHome stores n made-up facts of the default user.
func fillHome(ctx context.Context, e *env, home string, n int) error {
	cfg, err := config.Load(config.Options{HomeFlag: home, Getenv: func(string) string { return "" }})
	if err != nil {
		return err
	}
	a, err := openQuiet(ctx, e, cfg)
	if err != nil {
		return err
	}
	bar := e.progress(n, "storing made-up memories")
	for i := 0; i < n && err == nil; i += 100 {
		batch := make([]vector.Draft, min(100, n-i))
		for j := range batch {
			batch[j].Content = fact(i + j)
		}
		_, err = a.memories.WriteAll(ctx, who(cfg), "", batch)
		bar.Add(len(batch))
	}
	bar.Finish()
	return errors.Join(err, a.Close())
}
