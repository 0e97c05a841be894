package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"reverie/internal/caller"
	"reverie/memo"
)

// memoCmd groups the commands about the memo in view: the group's with --group, else
// the user's.
type memoCmd struct {
	Show    memoShowCmd    `cmd:"" default:"withargs" help:"Print the memo (the default action)."`
	Set     memoSetCmd     `cmd:"" help:"Replace the memo by TEXT, or by stdin with -."`
	History memoHistoryCmd `cmd:"" help:"Show every change of the memo."`
	Restore memoRestoreCmd `cmd:"" help:"Make an earlier version the memo again."`
}

type memoShowCmd struct{}

// Run prints the memo.
func (memoShowCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		m, err := a.memos.Get(ctx, c)
		if err != nil {
			return err
		}
		return e.printMemo(m, a.memos.Limit())
	})
}

func (e *env) printMemo(m memo.Memo, limit int) error {
	if e.json {
		return e.printJSON(map[string]any{"content": m.Content, "chars": len([]rune(m.Content)), "limit": limit, "version": m.Version, "updated_at": m.UpdatedAt})
	}
	if m.Content == "" {
		fmt.Fprintf(e.stderr, "the memo is empty (set it with: reverie memo set TEXT)\n")
		return nil
	}
	e.printf("%s\n", m.Content)
	fmt.Fprintf(e.stderr, "%d of %d characters, version %d\n", len([]rune(m.Content)), limit, m.Version)
	return nil
}

type memoSetCmd struct {
	Text            []string `arg:"" optional:"" help:"The whole new text; - reads stdin; nothing with --clear empties it."`
	Clear           bool     `help:"Empty the memo."`
	ExpectedVersion *int64   `help:"Refuse if the memo is at another version." placeholder:"N"`
}

// Run replaces the memo.
func (m *memoSetCmd) Run(ctx context.Context, e *env) error {
	text := strings.Join(m.Text, " ")
	switch {
	case m.Clear && text != "":
		return usage(errors.New("memo set: give a text or --clear, not both"))
	case !m.Clear && strings.TrimSpace(text) == "":
		return usage(errors.New("memo set: give the new text, - to read it from stdin, or --clear"))
	case text == "-":
		b, err := io.ReadAll(io.LimitReader(e.stdin, 1<<20))
		if err != nil {
			return fmt.Errorf("read stdin: %w", err)
		}
		if text = string(b); strings.TrimSpace(text) == "" {
			return usage(errors.New("memo set: stdin was empty, nothing changed; use --clear to empty the memo"))
		}
	}
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		x, notices, err := a.memos.Set(ctx, c, text, m.ExpectedVersion)
		if err != nil {
			return err
		}
		for _, n := range notices {
			fmt.Fprintf(e.stderr, "reverie: %s\n", n)
		}
		if e.json {
			return e.printMemo(x, a.memos.Limit())
		}
		e.printf("memo set: %d of %d characters, version %d\n", len([]rune(x.Content)), a.memos.Limit(), x.Version)
		return nil
	})
}

type memoRestoreCmd struct {
	Version int64 `arg:"" help:"The version, as its history shows it."`
}

// Run restores a version.
func (m *memoRestoreCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		x, err := a.memos.Restore(ctx, c, m.Version)
		if err != nil {
			return err
		}
		if e.json {
			return e.printMemo(x, a.memos.Limit())
		}
		e.printf("memo restored: version %d is now version %d\n", m.Version, x.Version)
		return nil
	})
}

type memoHistoryCmd struct{}

// Run shows the changes of the memo.
func (memoHistoryCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		h, err := a.memos.History(ctx, c)
		if err != nil {
			return err
		}
		return e.printHistory(h)
	})
}
