package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/internal/intake"
	"reverie/journal"
	"reverie/transfer"
	"reverie/vector/chroma"
)

// importP1Cmd imports what the memory plugin of AmritaBot kept.
type importP1Cmd struct {
	Chroma      string   `help:"The Chroma server with the collection." placeholder:"URL"`
	Collection  string   `help:"The collection." default:"amrita_user_memory" placeholder:"NAME"`
	Tenant      string   `help:"Its tenant (default: vector_db.tenant, if that is set, else default and default_tenant)." placeholder:"NAME"`
	Database    string   `help:"Its database (default: vector_db.database, if that is set, else default and default_database)." placeholder:"NAME"`
	Header      []string `help:"A header of every request, as in \"X-Chroma-Token: abc\"; repeat for several." placeholder:"TEXT" sep:"none"`
	MemoDB      string   `name:"memo-db" help:"The bot's SQLite database, for the memos." placeholder:"FILE" type:"path"`
	Data        string   `help:"The plugin's data folder, for the profile and the knowledge base (usually data/amrita_plugin_memory)." placeholder:"DIR" type:"path"`
	ProfileUser string   `help:"The user whom the profile describes (target_user_id of the plugin)." placeholder:"ID"`
	DryRun      bool     `help:"Say what would happen, change nothing."`
	Yes         bool     `help:"Do not ask."`
}

func (importP1Cmd) Help() string {
	return "Memories keep their ids and times; their vectors are taken over only if the configured embedder gives the same ones, else they are made again. Old partition keys become today's; those that say of nobody whose they are stay as they are, are listed, and are tried again by migrate-keys. Memos that are too long, and memories that cannot be, are listed and left. The profile and the knowledge base are copied as files; what is there already stays. The bot's own data is only read. Importing again adds what is new and changes nothing else."
}

// Run imports.
func (x *importP1Cmd) Run(ctx context.Context, e *env) error {
	if x.Chroma == "" && x.MemoDB == "" && x.Data == "" {
		return usage(errors.New("nothing to import: give --chroma URL, --memo-db FILE or --data DIR, or several"))
	}
	o := transfer.P1Options{
		Collection: x.Collection, MemoDB: x.MemoDB, DataDir: x.Data, Home: e.cfg.Home, ProfileUser: x.ProfileUser,
		Platform: e.chosenPlatform(), MemoLimit: e.cfg.MemoMaxChars, Clean: intake.Policy{KeepSecrets: !e.cfg.Privacy.RedactSecrets}.Clean,
	}
	if x.Chroma != "" {
		places, done, err := x.places(e)
		if err != nil {
			return usage(err)
		}
		defer done()
		found, err := transfer.FindP1(ctx, x.Collection, places...)
		if err != nil {
			return chromaHelp(err, "--chroma, --header")
		}
		if found != places[0] {
			e.say("the collection is in %s", found)
		}
		o.Chroma = found.Chroma
	}
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		o.By = journal.By(c, "import")
		o.Embed = a.embedSample
		if !x.Yes && !x.DryRun {
			if err := x.ask(ctx, e, a, o); err != nil {
				return err
			}
		}
		bar := e.progress(-1, "reading")
		o.DryRun, o.Progress = x.DryRun, func(done int) { bar.Set(done) }
		r, err := transfer.ImportP1(ctx, a.db, a.memories, o)
		bar.Finish()
		if err != nil {
			return err
		}
		if e.json {
			return e.printJSON(r)
		}
		e.printP1(r, x.DryRun)
		e.hintPlatform(slices.Sorted(maps.Keys(r.Partitions)))
		return e.waits(ctx, a, x.DryRun)
	})
}

// places are where the collection may be: as said, as configured, or as this program or
// Chroma itself calls what nobody gave a name.
func (x *importP1Cmd) places(e *env) (list []transfer.P1Place, done func(), err error) {
	headers, err := parseHeaders(x.Header)
	if err != nil {
		return nil, nil, err
	}
	tenant, database := cmp.Or(x.Tenant, e.chosen("vector_db.tenant", e.cfg.VectorDB.Tenant)), cmp.Or(x.Database, e.chosen("vector_db.database", e.cfg.VectorDB.Database))
	names := [][2]string{{cmp.Or(tenant, chroma.DefaultName), cmp.Or(database, chroma.DefaultName)}}
	if tenant == "" && database == "" {
		names = append(names, [2]string{"default_tenant", "default_database"})
	}
	for _, n := range names {
		c, err := chroma.New(chroma.Options{URL: x.Chroma, Tenant: n[0], Database: n[1], Headers: headers})
		if err != nil {
			return nil, nil, err
		}
		list = append(list, transfer.P1Place{Chroma: c, Tenant: n[0], Database: n[1]})
	}
	return list, func() {
		for _, p := range list {
			p.Chroma.Close()
		}
	}, nil
}

// ask shows what would happen and asks for it.
func (x *importP1Cmd) ask(ctx context.Context, e *env, a *app, o transfer.P1Options) error {
	question := "Everything of the old bot is to be imported."
	if e.terminal() {
		o.DryRun = true
		r, err := transfer.ImportP1(ctx, a.db, a.memories, o)
		if err != nil {
			return err
		}
		question = fmt.Sprintf("%d memories and %d memos are to be added, %d files copied, %d things cannot be imported (see them with --dry-run).",
			r.Memories.Added, r.Memos.Added, len(r.Copied), len(r.Refused))
	}
	ok, err := e.confirm(ctx, question, "--yes or --dry-run")
	if err == nil && !ok {
		err = errors.New("not confirmed; nothing was changed")
	}
	return err
}

// embedSample embeds with whoever serves at the moment.
func (a *app) embedSample(ctx context.Context, texts []string) ([]embedding.Passages, error) {
	cur, err := a.spaces.Serving(ctx)
	if err != nil {
		return nil, err
	}
	if cur.Embedder == nil {
		return nil, errors.New(cur.Why)
	}
	return cur.Embedder.EmbedDocuments(ctx, texts)
}

func (e *env) printP1(r transfer.P1Report, dryRun bool) {
	e.printf("%s: %d records; memories %s; memos %s\n", did(dryRun), r.Records, counts(r.Memories), counts(r.Memos))
	if r.Records > 0 {
		e.printf("vectors: %d taken over, %d to be made", r.Vectors, r.Pending)
		if r.VectorsNot != "" {
			e.printf(" (%s)", r.VectorsNot)
		}
		e.printf("\n")
	}
	e.printf("files: %d copied, %d were there, %d differ from what is there, which stays\n", len(r.Copied), r.Same, len(r.Differ))
	for _, part := range slices.Sorted(maps.Keys(r.Partitions)) {
		e.printf("  %s: %d records\n", part, r.Partitions[part])
	}
	for _, n := range r.Differ {
		fmt.Fprintf(e.stderr, "reverie: differs: %s\n", n)
	}
	for _, list := range []struct {
		what  string
		items []transfer.P1Left
	}{{"left out", r.Skipped}, {"refused", r.Refused}, {"note", r.Remarks}} {
		for _, l := range list.items {
			fmt.Fprintf(e.stderr, "reverie: %s: %s: %s\n", list.what, l.Name, l.Reason)
		}
	}
	for _, u := range r.Unplaced {
		fmt.Fprintf(e.stderr, "reverie: not placed: %s (%d memories) stays under this key; reverie migrate-keys tries it again\n", u.Key, u.Memories)
	}
	for _, what := range slices.Sorted(maps.Keys(r.Notices)) {
		fmt.Fprintf(e.stderr, "reverie: %s (%d times)\n", what, r.Notices[what])
	}
	e.over(r.OverLimit)
}

// parseHeaders reads headers given as flags.
func parseHeaders(list []string) (map[string]string, error) {
	out := map[string]string{}
	for i, h := range list {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(h, "\r\n") {
			return nil, fmt.Errorf("--header number %d is not of the form NAME: VALUE", i+1) // it may be a secret
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, nil
}
