package cli

import (
	"context"
	"errors"
	"fmt"

	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/store"
)

// reindexCmd embeds everything anew.
type reindexCmd struct {
	Yes  bool `help:"Do not ask."`
	Anew bool `help:"Embed everything even if the stored vectors fit the embedder."`
}

func (reindexCmd) Help() string {
	return "Embeds all memories with the configured embedder, beside the vectors that are there, and switches when all are done. Servers may run: they answer from the old vectors until the switch, and what they write meanwhile is included. A run that was stopped, or killed, continues where it was. A backup is made first."
}

type reindexReport struct {
	From  string `json:"from"` // empty: there was nothing
	To    string `json:"to"`
	Texts int    `json:"texts"` // that have a vector in the space that serves now
	Done  bool   `json:"done"`  // false: nothing was to be done
}

// Run checks, asks, and embeds.
func (r *reindexCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, _ caller.Caller) error {
		f, err := a.spaces.Check(ctx)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // names the signal
		}
		if err != nil {
			return fmt.Errorf("%w; nothing was changed", err)
		}
		out := reindexReport{To: spaces.Label(f.Configured)}
		if f.Stored.Protocol != "" {
			out.From = spaces.Label(f.Stored)
		}
		st, err := a.spaces.Status(ctx)
		if err != nil {
			return err
		}
		if f.Consistent && !r.Anew {
			// The right space, but perhaps not everything is in it yet.
			n, err := a.spaces.Fill(ctx)
			if err != nil {
				return fmt.Errorf("%w (%d memories have their vector; run reverie reindex again to continue)", err, n)
			}
			waited := st.Texts
			if st.Serving != nil {
				waited -= st.Serving.Vectors
			}
			out.Texts, out.Done = n, waited > 0
			if waited > 0 {
				return e.show(out, "%d memories had no vector yet; %d of %d have one now, of %s\n", waited, n, st.Texts, out.To)
			}
			return e.show(out, "nothing to do: %d memories, all of %s, fit the embedder (--anew embeds them again)\n", n, out.To)
		}
		if !r.Yes {
			ok, err := e.confirm(ctx, r.question(f, st.Texts), "--yes")
			if err != nil {
				return err
			}
			if !ok {
				return errors.New("not confirmed; nothing was changed")
			}
		}
		bar := e.progress(st.Texts, "embedding")
		n, err := a.spaces.Reembed(ctx, spaces.ReembedOptions{Anew: r.Anew, Progress: func(done, total int) {
			bar.ChangeMax(total)
			bar.Set(done)
		}})
		bar.Finish()
		var held *store.HeldError
		if errors.As(err, &held) {
			return fmt.Errorf("%w; see how far it is with: reverie status", err)
		}
		if err != nil {
			return fmt.Errorf("%w (%d are done; the old vectors serve on; run reverie reindex again to continue)", err, n)
		}
		out.Texts, out.Done = n, true
		return e.show(out, "%d memories are embedded with %s\n", n, out.To)
	})
}

func (r *reindexCmd) question(f spaces.Finding, texts int) string {
	if f.Consistent {
		return fmt.Sprintf("%d memories are to be embedded again with %s, though their vectors fit.", texts, spaces.Label(f.Configured))
	}
	return fmt.Sprintf("%s. %d memories are to be embedded anew with %s.", f.Reason, texts, spaces.Label(f.Configured))
}

// show prints a result for programs, or the words for people.
func (e *env) show(v any, format string, args ...any) error {
	if e.json {
		return e.printJSON(v)
	}
	e.printf(format, args...)
	return nil
}

// resetFingerprintCmd takes stored vectors for those of the configured embedder.
type resetFingerprintCmd struct{}

func (resetFingerprintCmd) Help() string {
	return "Writes the configured embedder's name over that of the stored vectors without embedding anything. For the case that you know the model is the same; if it is not, searches by meaning find the wrong memories until: reverie reindex --anew"
}

// Run resets and warns.
func (resetFingerprintCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, _ caller.Caller) error {
		was, is, err := a.spaces.ResetFingerprint(ctx)
		if err != nil {
			return fmt.Errorf("reset fingerprint: %w", err)
		}
		out := map[string]string{"was": "", "is": spaces.Label(is), "fingerprint": is.Fingerprint()}
		if was.Protocol != "" {
			out["was"] = spaces.Label(was)
		}
		fmt.Fprintln(e.stderr, "reverie: nothing was embedded: if the model is another one, searches by meaning are wrong until: reverie reindex --anew")
		return e.show(out, "the stored vectors count as those of %s now\n", out["is"])
	})
}
