package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/vector"
)

// memoryCmd groups the commands about memories. The scope may be given before the
// action, as in the chat command: reverie memory group list.
type memoryCmd struct {
	Scope string `help:"user or group; may also stand before the action." default:"user" enum:"user,group"`

	List    memoryListCmd    `cmd:"" default:"withargs" help:"List memories, newest first (the default action)."`
	Search  memorySearchCmd  `cmd:"" help:"Search by meaning and by words."`
	Add     memoryAddCmd     `cmd:"" help:"Store a memory."`
	Delete  memoryDeleteCmd  `cmd:"" help:"Move a memory to the trash."`
	Restore memoryRestoreCmd `cmd:"" help:"Bring a deleted, superseded or archived memory back."`
	History memoryHistoryCmd `cmd:"" help:"Show every change of a memory."`
}

// AfterApply hands the scope to the action.
func (m *memoryCmd) AfterApply() error {
	for _, s := range []*caller.Scope{&m.List.scope, &m.Search.scope, &m.Add.scope, &m.Delete.scope, &m.Restore.scope, &m.History.scope} {
		*s = caller.Scope(m.Scope)
	}
	return nil
}

type memoryListCmd struct {
	scope      caller.Scope
	Limit      int      `help:"How many, 1 to 100." default:"20"`
	Cursor     string   `help:"Where the page before ended."`
	State      string   `help:"live, archived, superseded, or deleted (also: trash)." default:"live" enum:"live,archived,superseded,deleted,trash"`
	Importance string   `help:"Only low, medium or high."`
	Tag        []string `help:"Only with this tag; repeat for several."`
}

// Run lists a page.
func (m *memoryListCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		if m.Limit < 1 {
			return usage(fmt.Errorf("--limit %d; allowed: 1 to %d", m.Limit, vector.MaxListLimit))
		}
		if m.State == "trash" {
			m.State = string(vector.Deleted)
		}
		p, err := a.memories.List(ctx, c, vector.ListQuery{
			Scope: m.scope, Limit: m.Limit, Cursor: m.Cursor, State: vector.State(m.State), Importance: vector.Importance(m.Importance), Tags: m.Tag,
		})
		if err != nil {
			return err
		}
		if e.json {
			if p.Items == nil {
				p.Items = []vector.Memory{}
			}
			return e.printJSON(map[string]any{"items": p.Items, "total": p.Total, "next": p.Next})
		}
		if p.Total == 0 {
			e.printf("no memories\n")
			return nil
		}
		for _, x := range p.Items {
			e.printf("[%s] %s  %s  %s%s\n", x.Importance, x.ID, x.CreatedAt.Local().Format(time.DateOnly), clip(x.Content, 80), tagList(x.Tags))
		}
		e.printf("%d of %d\n", len(p.Items), p.Total)
		if p.Next != "" {
			e.printf("more: --cursor %s\n", p.Next)
		}
		return nil
	})
}

func tagList(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "  | " + strings.Join(tags, ", ")
}

type memorySearchCmd struct {
	scope      caller.Scope
	Text       []string `arg:"" help:"What to look for."`
	TopK       int      `help:"How many, 1 to 50." default:"10"`
	Importance string   `help:"Only low, medium or high."`
	Tag        []string `help:"Only with this tag; repeat for several."`
}

type hitJSON struct {
	vector.Memory
	Distance *float64     `json:"distance"`
	Score    float64      `json:"score"`
	Match    vector.Match `json:"match"`
}

// Run searches.
func (m *memorySearchCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		r, err := a.memories.Search(ctx, c, vector.Query{
			Scope: m.scope, Text: strings.Join(m.Text, " "), TopK: m.TopK, Importance: vector.Importance(m.Importance), Tags: m.Tag,
		})
		if err != nil {
			return err
		}
		if e.json {
			items := []hitJSON{}
			for _, h := range r.Hits {
				items = append(items, hitJSON{h.Memory, h.Distance, h.Score, h.Match})
			}
			return e.printJSON(map[string]any{"items": items, "total": r.Total, "confidence": r.Confidence, "degraded": r.Degraded})
		}
		if r.Degraded != "" {
			fmt.Fprintf(e.stderr, "reverie: %s\n", r.Degraded)
		}
		if len(r.Hits) == 0 {
			e.printf("nothing found among %d memories\n", r.Total)
			return nil
		}
		for _, h := range r.Hits {
			dist := "     -"
			if h.Distance != nil {
				dist = fmt.Sprintf("%6.3f", *h.Distance)
			}
			e.printf("%.2f %s  %s  %s%s\n", h.Score, dist, h.ID, clip(h.Content, 100), tagList(h.Tags))
		}
		e.printf("score, distance, id, content; confidence %s, %d memories searched\n", r.Confidence, r.Total)
		return nil
	})
}

type memoryAddCmd struct {
	scope      caller.Scope
	Text       []string `arg:"" help:"The fact, in 1 to 8,000 characters."`
	Importance string   `help:"low, medium or high." default:"medium"`
	Tag        []string `help:"A tag; repeat for several."`
	Private    bool     `help:"Never show it in groups."`
	Supersedes string   `help:"Id of the memory that this one replaces." placeholder:"ID"`
}

// Run stores a memory.
func (m *memoryAddCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		w, err := a.memories.Write(ctx, c, vector.Draft{
			Scope: m.scope, Content: strings.Join(m.Text, " "), Importance: vector.Importance(m.Importance), Tags: m.Tag,
			Private: m.Private, Supersedes: m.Supersedes, Source: vector.FromUser,
		})
		if err != nil {
			return err
		}
		if e.json {
			return e.printJSON(map[string]any{"memory": w.Memory, "duplicate_of": w.DuplicateOf, "superseded": w.Superseded, "similar": noNil(w.Similar), "notices": noNil(w.Notices)})
		}
		switch {
		case w.DuplicateOf != "":
			e.printf("already known as %s\n", w.DuplicateOf)
		default:
			e.printf("stored %s\n", w.Memory.ID)
		}
		for _, n := range w.Notices {
			fmt.Fprintf(e.stderr, "reverie: %s\n", n)
		}
		for _, s := range w.Similar {
			e.printf("similar %s  %s\n", s.ID, clip(s.Content, 80))
		}
		return nil
	})
}

// noNil makes an empty list of none, which JSON tells apart.
func noNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

type memoryDeleteCmd struct {
	scope caller.Scope
	ID    string `arg:"" help:"Id, or its unambiguous beginning."`
}

// Run deletes a memory.
func (m *memoryDeleteCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		// Before the lookup: who may not delete may not probe ids either.
		if err := c.MayRewrite(m.scope); err != nil {
			return err
		}
		id, err := a.memories.Resolve(ctx, c, m.scope, m.ID, vector.Live)
		if err != nil {
			return err
		}
		x, err := a.memories.Delete(ctx, c, m.scope, id)
		if err != nil {
			return err
		}
		if e.json {
			return e.printJSON(x)
		}
		e.printf("deleted %s  %s\n(undo: reverie %smemory %s restore %s)\n", x.ID, clip(x.Content, 80), asCaller(c), m.scope, x.ID)
		return nil
	})
}

// asCaller is the flags that make another call the same caller's, with a blank behind.
func asCaller(c caller.Caller) string {
	var b strings.Builder
	if c.User != "local" {
		fmt.Fprintf(&b, "--user %q ", c.User)
	}
	if c.InGroup() {
		fmt.Fprintf(&b, "--group %q ", c.Group)
		if c.Role != caller.RoleNone {
			fmt.Fprintf(&b, "--role %s ", c.Role)
		}
	}
	return b.String()
}

type memoryRestoreCmd struct {
	scope caller.Scope
	ID    string `arg:"" help:"Id, or its unambiguous beginning."`
	To    int64  `help:"Give a live memory back what it said after the change of this number (see: memory history)." placeholder:"N"`
}

// Run restores a memory.
func (m *memoryRestoreCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		if err := c.MayRewrite(m.scope); err != nil {
			return err
		}
		id, err := a.memories.Resolve(ctx, c, m.scope, m.ID, "")
		if err != nil {
			return err
		}
		var x vector.Memory
		if m.To > 0 {
			var w vector.Written
			w, err = a.memories.Revert(ctx, c, m.scope, id, m.To)
			x = w.Memory
		} else {
			x, err = a.memories.Restore(ctx, c, m.scope, id)
		}
		if err != nil {
			return err
		}
		if e.json {
			return e.printJSON(x)
		}
		e.printf("restored %s  %s\n", x.ID, clip(x.Content, 80))
		return nil
	})
}

type memoryHistoryCmd struct {
	scope caller.Scope
	ID    string `arg:"" help:"Id, or its unambiguous beginning."`
}

// Run shows the changes of a memory.
func (m *memoryHistoryCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		id, err := a.memories.Resolve(ctx, c, m.scope, m.ID, "")
		if err != nil {
			return err
		}
		h, err := a.memories.History(ctx, c, m.scope, id)
		if err != nil {
			return err
		}
		return e.printHistory(h)
	})
}

// printHistory shows entries as a diff of what changed, newest first.
func (e *env) printHistory(entries []journal.Entry) error {
	if e.json {
		if entries == nil {
			entries = []journal.Entry{}
		}
		return e.printJSON(entries)
	}
	for _, x := range entries {
		e.printf("%d  %s  %-9s by %s (%s)\n", x.Seq, x.At.Local().Format(time.RFC3339), x.Action, orDash(x.Actor), orDash(x.Source))
		for _, d := range journal.Diff(x) {
			e.printf("    %s\n", d)
		}
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// withApp opens the home, runs f as the configured caller, and closes it.
func (e *env) withApp(ctx context.Context, f func(*app, caller.Caller) error) error {
	c := who(e.cfg)
	if err := c.Validate(); err != nil {
		return usage(err)
	}
	a, err := e.open(ctx)
	if err != nil {
		return err
	}
	err = f(a, c)
	if cerr := a.Close(); err == nil {
		err = cerr
	}
	return err
}
