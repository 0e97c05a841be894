package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"reverie/config"
	"reverie/internal/caller"
	"reverie/vector/chroma"
	"reverie/vector/mirror"
)

// mirrorCmd groups the commands about the copy of the vectors in a Chroma server.
type mirrorCmd struct {
	Status  mirrorStatusCmd  `cmd:"" default:"withargs" help:"Show how far the mirror is (the default action)."`
	Rebuild mirrorRebuildCmd `cmd:"" help:"Delete the collections and fill them again."`
	Verify  mirrorVerifyCmd  `cmd:"" help:"Compare every record with the database."`
}

// mirrored reports whether the configuration asks for a mirror.
func mirrored(cfg config.VectorDB) bool { return cfg.Type == "remote" }

// chromaClient is the client for the configured server.
func chromaClient(cfg config.VectorDB) (*chroma.Client, error) {
	var headers map[string]string
	if err := json.Unmarshal([]byte(cfg.Headers), &headers); err != nil {
		return nil, errors.New("vector_db.headers is not a JSON object of strings")
	}
	return chroma.New(chroma.Options{
		URL: chroma.Address(cfg.Server, cfg.Port, cfg.SSL), Headers: headers, Tenant: cfg.Tenant, Database: cfg.Database,
	})
}

// newMirror makes the configured mirror, which does nothing until it runs. done closes it.
func (a *app) newMirror() (m *mirror.Mirror, done func(), err error) {
	c, err := chromaClient(a.cfg.VectorDB)
	if err != nil {
		return nil, nil, usage(err)
	}
	m = mirror.New(a.db, c, mirror.Options{Name: a.cfg.VectorDB.Collection, Buckets: a.cfg.VectorDB.Buckets, Logger: a.log.With("component", "mirror")})
	return m, func() { m.Close(); c.Close() }, nil
}

// withMirror opens the home and its mirror for a command.
func (e *env) withMirror(ctx context.Context, f func(*mirror.Mirror) error) error {
	if !mirrored(e.cfg.VectorDB) {
		return usage(errors.New(`vector_db.type is "local": nothing is mirrored; set it to "remote" (or VECTOR_DB_TYPE=remote) and name the Chroma server`))
	}
	return e.withApp(ctx, func(a *app, _ caller.Caller) error {
		return chromaHelp(f(a.mirror), mirrorAddress)
	})
}

// mirrorAddress is where the address of the mirror's server is set.
const mirrorAddress = "VECTOR_DB_SERVER, VECTOR_DB_PORT, VECTOR_DB_SERVER_SSL"

// chromaHelp adds the next step to the error of a server that is away, or is another kind
// of server; settings are where its address stands. What Chroma itself answers says enough.
func chromaHelp(err error, settings string) error {
	var ce *chroma.Error
	if !errors.As(err, &ce) || ce.Kind != "" || ce.Status == http.StatusUnauthorized || ce.Status == http.StatusForbidden {
		return err
	}
	return fmt.Errorf("%w; %s (%s)", err, askChroma, settings)
}

const askChroma = "is Chroma running there?"

// waiting tells once that another process has the lease.
func (e *env) waiting() func(string) {
	told := false
	return func(holder string) {
		if !told {
			told = true
			fmt.Fprintf(e.stderr, "reverie: waiting for %s, which is delivering\n", holder)
		}
	}
}

type mirrorStatusCmd struct{}

// Run shows the status. A mirror that does not work is a failure.
func (mirrorStatusCmd) Run(ctx context.Context, e *env) error {
	return e.withMirror(ctx, func(m *mirror.Mirror) error {
		st, err := m.Status(ctx)
		if err != nil {
			return err
		}
		if e.json {
			err = e.printJSON(st)
		} else {
			e.printMirror(st)
		}
		if err != nil {
			return err
		}
		switch st.State {
		case mirror.StateOK, mirror.StateBehind, mirror.StateNoSpace:
			return nil
		case mirror.StateDown:
			return fmt.Errorf("the mirror is down: %s; %s (%s)", st.LastError, askChroma, mirrorAddress)
		case mirror.StateTrouble:
			return fmt.Errorf("the mirror is in trouble: %s", st.LastError)
		}
		return fmt.Errorf("the mirror is %s: %s", st.State, st.LastError)
	})
}

func (e *env) printMirror(st mirror.Status) {
	e.printf("mirror     %s, on %s\n", st.State, st.Server)
	e.printf("delivered  %d of %d partitions; %d of %d memories are in partitions that wait\n", st.Delivered, st.Partitions, st.Waiting, st.Memories)
	if st.Buckets > 0 {
		e.printf("layout     space %d, %d of %d collections\n", st.Space, st.Collections, st.Buckets)
	}
	switch {
	case st.Holder != "":
		e.printf("delivering %s\n", st.Holder)
	case st.State == mirror.StateBehind: // a server would be at it, or within seconds
		e.printf("delivering nobody: no server seems to be running (reverie serve delivers)\n")
	}
	if !st.DownSince.IsZero() {
		e.printf("away since %s\n", st.DownSince.Local().Format(time.RFC3339))
	}
	for _, r := range st.Refused {
		e.printf("refused    %s since %s: %s\n", r.Part, r.Since.Local().Format(time.RFC3339), r.Error)
	}
	if st.LastError != "" && st.State == mirror.StateBehind && len(st.Refused) == 0 { // the others end with it
		e.printf("last error %s\n", st.LastError)
	}
}

type mirrorRebuildCmd struct {
	TakeOver bool `help:"Delete collections of these names even if another home made them."`
	Yes      bool `help:"Do not ask."`
}

func (mirrorRebuildCmd) Help() string {
	return "The collections whose names begin with vector_db.collection are deleted and filled from the database, with vector_db.buckets of them. Searches are answered from memory meanwhile, with the same results. Servers may run; stopped in the middle, they, or the next rebuild, complete it."
}

// Run rebuilds.
func (r *mirrorRebuildCmd) Run(ctx context.Context, e *env) error {
	return e.withMirror(ctx, func(m *mirror.Mirror) error {
		if !r.Yes {
			ok, err := e.confirm(ctx, "The collections of the mirror are to be deleted and filled again.", "--yes")
			if err != nil {
				return err
			}
			if !ok {
				return errors.New("not confirmed; nothing was changed")
			}
		}
		bar := e.progress(-1, "mirroring")
		out, err := m.Rebuild(ctx, mirror.RebuildOptions{
			TakeOver: r.TakeOver, Waiting: e.waiting(),
			Progress: func(done, total int) {
				bar.ChangeMax(total)
				bar.Set(done)
			},
		})
		bar.Finish()
		if err != nil {
			return err
		}
		if err := e.show(out, "mirrored %d memories into %d buckets; %d collections of before were deleted\n", out.Memories, out.Buckets, out.Deleted); err != nil {
			return err
		}
		for _, x := range out.Refused {
			fmt.Fprintf(e.stderr, "reverie: %s: %s\n", x.Part, x.Error)
		}
		if n := len(out.Refused); n > 0 {
			return fmt.Errorf("the server refuses %d partitions; a running reverie serve tries them again from time to time", n)
		}
		return nil
	})
}

type mirrorVerifyCmd struct {
	Repair bool `help:"Send the partitions that differ once more."`
}

func (mirrorVerifyCmd) Help() string {
	return "Compares ids, partition, privacy and vector of every record on the server with the database. What is still to be delivered is not compared. Exits with 1 if anything differs, and if everything is still to be delivered."
}

// Run verifies.
func (v *mirrorVerifyCmd) Run(ctx context.Context, e *env) error {
	return e.withMirror(ctx, func(m *mirror.Mirror) error {
		bar := e.progress(-1, "comparing")
		out, err := m.Verify(ctx, mirror.VerifyOptions{
			Repair: v.Repair, Waiting: e.waiting(),
			Progress: func(done, total int) {
				bar.ChangeMax(total)
				bar.Set(done)
			},
		})
		bar.Finish()
		if err != nil {
			return err
		}
		err = e.show(out, "%d partitions compared, %d wait for delivery; %d records are equal, %d missing, %d extra, %d different\n",
			out.Partitions, out.Pending, out.Records, out.Missing, out.Extra, out.Different)
		switch {
		case err != nil:
			return err
		case out.Equal() && out.Partitions == 0 && out.Pending > 0:
			return fmt.Errorf("nothing was compared: all %d partitions wait for delivery (a running reverie serve delivers them, or: reverie mirror rebuild)", out.Pending)
		case out.Equal():
			return nil
		}
		if !e.json {
			for _, d := range out.Differing {
				fmt.Fprintf(e.stderr, "reverie: %s: %d missing, %d extra, %d different\n", d.Part, d.Missing, d.Extra, d.Different)
			}
		}
		if v.Repair {
			return errors.New("the server differed from the database; a running reverie serve sends the partitions once more")
		}
		return errors.New("the server differs from the database (mend it with: reverie mirror verify --repair, or reverie mirror rebuild)")
	})
}
