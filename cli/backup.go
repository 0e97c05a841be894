package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie/internal/caller"
	"reverie/store"
	"reverie/store/backup"
)

// backupCmd groups the commands about backups.
type backupCmd struct {
	Create  backupCreateCmd  `cmd:"" help:"Write everything into one file in the home's folder backups."`
	List    backupListCmd    `cmd:"" help:"List the backups, newest first."`
	Verify  backupVerifyCmd  `cmd:"" help:"Read all of a backup and check it."`
	Restore backupRestoreCmd `cmd:"" help:"Give the home back what a backup holds, after a backup of what is there."`
}

type backupCreateCmd struct {
	Note string `help:"Why, for the list." placeholder:"TEXT"`
}

func (backupCreateCmd) Help() string {
	return "One file with all memories, vectors, memos and the history, and with config.toml, prompts, notes, knowledge and profiles. Not in it: .env. A config.toml with keys in it makes the file as secret as the keys. Servers may run meanwhile. Backups made by this command are never removed by the program."
}

// Run makes a backup.
func (b *backupCreateCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, _ caller.Caller) error {
		report, end := e.steps()
		i, err := backup.Create(ctx, a.db, e.cfg.Home, backup.Options{
			Reason: b.Note, Version: version(), Progress: func(done, total int64) { report("back up", done, total) },
		})
		end()
		if err != nil {
			return err
		}
		for _, l := range i.Left {
			e.say("not in it: %s", l)
		}
		return e.show(i, "%s\n%d memories, %d files, %s\n", i.Path, i.Memories, i.Files, megabytes(i.Bytes))
	})
}

// say tells a person something beside the result.
func (e *env) say(format string, args ...any) {
	fmt.Fprintf(e.stderr, "reverie: "+format+"\n", args...)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// steps shows work of several steps on a terminal.
func (e *env) steps() (report func(step string, done, total int64), end func()) {
	var bar *progressbar.ProgressBar
	var at string
	end = func() {
		if bar != nil {
			bar.Finish()
		}
	}
	return func(step string, done, total int64) {
		if step != at {
			end()
			bar, at = e.progress(int(total), step), step
		}
		bar.Set(int(done))
	}, end
}

type backupListCmd struct{}

// Run lists. It opens no database: backups are there for when that cannot be opened.
func (backupListCmd) Run(e *env) error {
	l, err := backup.List(e.cfg.Home)
	if err != nil {
		return err
	}
	if e.json {
		return e.printJSON(map[string]any{"backups": l})
	}
	if len(l) == 0 {
		e.printf("no backups (make one with: reverie backup create)\n")
	}
	for _, i := range l {
		what := fmt.Sprintf("%d memories, %d files", i.Memories, i.Files)
		switch {
		case i.Problem != "":
			what = i.Problem
		case i.Kind == backup.KindOld:
			what = "memories of P1"
		}
		e.printf("%s  %-6s  %9s  %s  %s%s\n", i.CreatedAt.Local().Format("2006-01-02 15:04:05"), i.Kind, megabytes(i.Bytes), i.Name, what, inBrackets(i.Reason))
	}
	return nil
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + clip(s, 80) + ")"
}

type backupVerifyCmd struct {
	File string `arg:"" help:"A path, or a name from: reverie backup list."`
}

// Run checks a backup.
func (b *backupVerifyCmd) Run(ctx context.Context, e *env) error {
	path, err := backup.Locate(e.cfg.Home, b.File)
	if err != nil {
		return err
	}
	report, end := e.steps()
	r, err := backup.Verify(ctx, path, func(done, total int64) { report("verify", done, total) })
	end()
	if err != nil {
		return err
	}
	return e.show(r, "%s is sound: %d rows, %d memories, %d files\n", path, r.Rows, r.Memories, r.Files)
}

type backupRestoreCmd struct {
	File    string `arg:"" help:"A path, or a name from: reverie backup list. An embed_backup_*.json of P1 restores, too."`
	Merge   bool   `help:"Add what is missing and take what is newer, remove nothing. The default for a backup of P1." xor:"mode"`
	Replace bool   `help:"Make the home what it was then. The default, but not for a backup of P1: of one, all memories that are not in it go to the trash." xor:"mode"`
	Yes     bool   `help:"Do not ask."`
	DryRun  bool   `help:"Say what would change, change nothing."`
}

func (backupRestoreCmd) Help() string {
	return "Without --merge (and not of P1) the home becomes what it was when the backup was written: what was stored since is gone from it, and in the backup that is made first. Servers may run and see the change at once. The rows change in one step; if the process is killed, all is old, or the next start completes it. A backup of P1 holds memories only and is merged, unless --replace is given: then all other memories, of everybody, go to the trash. With --merge every change is in the history and can be undone one by one."
}

// Run shows what would change, asks, and restores.
func (b *backupRestoreCmd) Run(ctx context.Context, e *env) error {
	path, err := backup.Locate(e.cfg.Home, b.File)
	if err != nil {
		return err
	}
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		report, end := e.steps()
		defer end()
		o := backup.RestoreOptions{
			Keep: e.cfg.Backup.Keep, Version: version(), Progress: report, Domain: a.restorer(c), Compare: !e.json,
			MapKey: func(key, scope string) (string, bool) {
				k, ok := caller.ParseKey(key, scope, e.chosenPlatform())
				return k.String(), ok
			},
		}
		switch {
		case b.Merge:
			o.Mode = backup.Merge
		case b.Replace:
			o.Mode = backup.Replace
		}
		if b.DryRun || !b.Yes {
			p, err := backup.Plan(ctx, a.db, e.cfg.Home, path, o)
			end()
			if err != nil {
				return err
			}
			if !e.json || b.DryRun {
				if err := e.showChanges(p, p, "would be restored"); err != nil || b.DryRun {
					return err
				}
			}
			ok, err := e.confirm(ctx, b.question(p), b.command())
			if err != nil {
				return err
			}
			if !ok {
				return errors.New("not confirmed; nothing was changed")
			}
		}
		r, err := backup.Restore(ctx, a.db, e.cfg.Home, path, o)
		end()
		var held *store.HeldError
		if errors.As(err, &held) {
			return fmt.Errorf("%w; try again when it is done", err)
		}
		if err != nil {
			return err
		}
		if err := e.showChanges(r, r.Changes, "restored"); err != nil {
			return err
		}
		if !e.json {
			e.printf("what was there before: %s\n", r.Before.Name)
			if slices.Contains(slices.Concat(r.Files.Added, r.Files.Replaced), "config.toml") {
				e.printf("config.toml was restored: restart your servers\n")
			}
		}
		return nil
	})
}

func (b *backupRestoreCmd) question(p backup.Changes) string {
	at := p.CreatedAt.Local().Format(time.DateTime)
	switch {
	case p.Mode == backup.Merge:
		return fmt.Sprintf("The backup of %s is to be merged into what is there; nothing is removed.", at)
	case p.Old:
		return fmt.Sprintf("The memories are to be replaced by those of the backup of P1 of %s: all others go to the trash.", at)
	}
	return fmt.Sprintf("What is there is to be replaced by the backup of %s.", at)
}

// command is the flag that answers, within the whole call.
func (b *backupRestoreCmd) command() string {
	mode := ""
	switch {
	case b.Merge:
		mode = " --merge"
	case b.Replace:
		mode = " --replace"
	}
	return fmt.Sprintf("--yes: reverie backup restore %s%s --yes", quoteArg(b.File), mode)
}

func quoteArg(s string) string {
	if strings.ContainsAny(s, " \t'\"\\$&;()*?<>|#") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// shownPartitions bounds the partitions that a person is shown; programs get all.
const shownPartitions = 20

// showChanges prints v for programs, or the changes for people.
func (e *env) showChanges(v any, c backup.Changes, did string) error {
	for _, n := range c.Notes {
		if !e.json {
			e.say("%s", n)
		}
	}
	if e.json {
		return e.printJSON(v)
	}
	merged := ""
	if c.Mode == backup.Merge {
		merged = ", merged into what is there"
	}
	e.printf("%s: %s of %s%s\n", did, filepath.Base(c.File), c.CreatedAt.Local().Format(time.DateTime), merged)
	for _, t := range []string{"memories", "memos"} { // what people know; programs get every table
		if n := c.Tables[t]; n != nil {
			e.printf("  %-12s %s\n", t, rowCounts(n))
		}
	}
	parts := slices.SortedFunc(maps.Keys(c.Partitions), func(x, y string) int {
		return cmp.Or(cmp.Compare(touched(c.Partitions[y]), touched(c.Partitions[x])), strings.Compare(x, y))
	})
	for i, p := range parts {
		if i == shownPartitions {
			e.printf("  and %d partitions more\n", len(parts)-i)
			break
		}
		for _, t := range slices.Sorted(maps.Keys(c.Partitions[p])) {
			e.printf("  %s: %s %s\n", p, t, rowCounts(c.Partitions[p][t]))
		}
	}
	f := c.Files
	e.printf("  files        %d added, %d replaced, %d removed, %d as they are\n", len(f.Added), len(f.Replaced), len(f.Removed), f.Kept+len(f.Differ))
	for _, list := range []struct {
		what  string
		paths []string
	}{{"replaced", f.Replaced}, {"removed", f.Removed}, {"stays, and differs from the backup's", f.Differ}} {
		for i, p := range list.paths {
			if i == shownPartitions {
				e.printf("    and %d more\n", len(list.paths)-i)
				break
			}
			e.printf("    %s: %s\n", list.what, p)
		}
	}
	if c.Pending > 0 {
		e.printf("  %d memories wait for their vectors, which a server makes\n", c.Pending)
	}
	return nil
}

func touched(m map[string]*backup.Counts) (n int64) {
	for _, c := range m {
		n += c.Added + c.Replaced + c.Removed
	}
	return n
}

func rowCounts(c *backup.Counts) string {
	return fmt.Sprintf("%d added, %d replaced, %d removed, %d as they are", c.Added, c.Replaced, c.Removed, c.Kept)
}
