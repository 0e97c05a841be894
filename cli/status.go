package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/store"
	"reverie/vector"
	"reverie/vector/mirror"
)

// statusCmd shows what is stored, where, and whether all is well.
type statusCmd struct{}

type statusReport struct {
	Version  string         `json:"version"`
	Home     string         `json:"home"`
	Database string         `json:"database"`
	Engine   string         `json:"engine"`          // sqlite or postgres
	Bytes    int64          `json:"bytes,omitempty"` // of the SQLite database with its write-ahead log
	Embedder string         `json:"embedder"`
	Totals   vector.Totals  `json:"totals"`
	Spaces   spaces.Status  `json:"spaces"`
	Mirror   *mirror.Status `json:"mirror,omitempty"`
	Caller   caller.Caller  `json:"caller"`
	Memories []vector.Stats `json:"memories"`
	Memo     memoStatus     `json:"memo"`
	Toolsets []string       `json:"toolsets"`
}

// Run gathers and prints the report.
func (statusCmd) Run(ctx context.Context, e *env) error {
	if path := filepath.Join(e.cfg.Home, databaseName); e.cfg.Storage.DSN == "" && !exists(path) && databaseBytes(path) == 0 {
		// Looking must not make a database, least of all in a mistyped home.
		return fmt.Errorf("nothing is stored in %s yet: it has no database (if that is not the home you mean, see --home and REVERIE_HOME)", e.cfg.Home)
	}
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		r := statusReport{
			Version: version(), Home: e.cfg.Home, Database: databasePlace(e.cfg), Engine: a.db.Engine(), Caller: c, Toolsets: e.cfg.Toolsets.Enabled,
			Embedder: spaces.Label(a.spaces.Target().Space()),
			Bytes:    databaseBytes(a.db.Path()),
		}
		var err error
		if r.Totals, err = a.memories.Totals(ctx); err != nil {
			return err
		}
		asked := a.askEmbedder(ctx)
		if r.Spaces, err = a.spaces.Status(ctx); err != nil {
			return err
		}
		if asked != "" {
			r.Spaces.Advice = asked
			if r.Spaces.Serving != nil {
				r.Spaces.State = spaces.Inconsistent
			}
		}
		if a.mirror != nil {
			st, err := a.mirror.Status(ctx)
			if err != nil {
				return err
			}
			r.Mirror = &st
		}
		for _, scope := range scopesOf(c) {
			st, err := a.memories.Stats(ctx, c, scope)
			if errors.Is(err, vector.ErrDenied) {
				continue
			}
			if err != nil {
				return err
			}
			r.Memories = append(r.Memories, st)
		}
		if r.Memo, err = a.memoStatus(ctx, c); err != nil {
			return err
		}
		if e.json {
			return e.printJSON(r)
		}
		e.printStatus(r)
		return nil
	})
}

// statusPatience is how long the status waits for the embedder's server.
const statusPatience = 3 * time.Second

// askEmbedder asks an embedder that is elsewhere whether it is there and makes the vectors
// that are stored; it returns what is wrong.
func (a *app) askEmbedder(ctx context.Context) string {
	if a.cfg.Embedding.Protocol == builtinProtocol {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	f, err := a.spaces.Check(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the embedder has not answered within %v: searches go by words while that lasts", statusPatience)
	case err != nil:
		return fmt.Sprintf("the embedder does not work (%v): searches go by words while that lasts", err)
	case !f.Consistent:
		return f.Advice()
	}
	return ""
}

func (e *env) printStatus(r statusReport) {
	e.printf("reverie %s\n", r.Version)
	e.printf("home       %s\n", r.Home)
	if r.Engine == store.SQLite {
		e.printf("database   %s, %.1f MB\n", r.Database, float64(r.Bytes)/1e6)
	} else {
		e.printf("database   %s\n", r.Database)
		if w := leftBehind(e.cfg); w != "" {
			e.printf("note       %s\n", w)
		}
	}
	e.printSpaces(r)
	e.printf("toolsets   %s\n", strings.Join(r.Toolsets, ", "))
	e.printf("stored     %d memories in %d partitions; %d wait for their vector", r.Totals.Live, r.Totals.Partitions, r.Totals.Pending)
	if r.Totals.Pending > 0 {
		e.printf(" (a running server makes them, or: reverie reindex)")
	}
	e.printf("\n")
	for _, p := range r.Totals.Largest {
		e.printf("             %6d  %s\n", p.Live, p.Partition)
	}
	if r.Mirror != nil {
		e.printf("mirror     %s, on %s; %d of %d partitions delivered\n", r.Mirror.State, r.Mirror.Server, r.Mirror.Delivered, r.Mirror.Partitions)
	}
	for _, st := range r.Memories {
		e.printf("%-10s %s: %d of %d live (%d high, %d medium, %d low); %d archived, %d superseded, %d in the trash\n", st.Scope, st.Partition,
			st.ByState[vector.Live], st.Limit, st.ByImportance[vector.High], st.ByImportance[vector.Medium], st.ByImportance[vector.Low],
			st.ByState[vector.Archived], st.ByState[vector.Superseded], st.ByState[vector.Deleted])
	}
	e.printf("memo       %d of %d characters, version %d\n", r.Memo.Chars, r.Memo.Limit, r.Memo.Version)
}

// printSpaces says which vectors there are, and whether they fit.
func (e *env) printSpaces(r statusReport) {
	s := r.Spaces
	e.printf("embedder   %s", s.Configured)
	if s.Fingerprint != "" {
		e.printf(", fingerprint %.12s", s.Fingerprint)
	}
	e.printf("\n")
	if s.Serving != nil {
		e.printf("vectors    %s: %d of %d memories, of %s, fingerprint %.12s\n", s.State, s.Serving.Vectors, s.Texts, s.Serving.Label(), s.Serving.Fingerprint)
	} else {
		e.printf("vectors    none yet\n")
	}
	for _, o := range s.Others {
		e.printf("             %s: %d of %d, of %s\n", o.State, o.Vectors, s.Texts, o.Label())
	}
	if s.Running != "" {
		e.printf("running    embedding anew: %s\n", s.Running)
	}
	if s.Advice != "" {
		e.printf("advice     %s\n", s.Advice)
	}
}

// databaseBytes is the size of a database with its write-ahead log.
func databaseBytes(path string) (n int64) {
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(path + suffix); err == nil {
			n += fi.Size()
		}
	}
	return n
}
