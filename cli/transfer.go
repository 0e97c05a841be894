package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store/backup"
	"reverie/transfer"
	"reverie/vector"
)

// exportCmd writes memos and memories as lines of JSON.
type exportCmd struct {
	File      string   `arg:"" optional:"" help:"Where to; - or nothing is stdout." default:"-"`
	Partition []string `help:"Only this partition, such as Local_Private_ann; repeat for several." placeholder:"KEY" sep:"none"`
	NoTrash   bool     `help:"Without memories that are in the trash."`
	Force     bool     `help:"Replace FILE also if it is no export."`
}

func (exportCmd) Help() string {
	return "One JSON object a line: memos and memories of all people and groups, in every state, with every field. The same store gives the same bytes; reverie import reads it. Vectors and the history are not in it: for a copy of everything there is reverie backup."
}

// Run exports.
func (x *exportCmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, _ caller.Caller) error {
		o := transfer.ExportOptions{Partitions: x.Partition, NoTrash: x.NoTrash}
		var r transfer.ExportReport
		var err error
		write := func(w io.Writer) error {
			r, err = transfer.Export(ctx, a.db, w, o)
			return err
		}
		said := e.stdout
		if x.File == "-" {
			said = e.stderr // stdout is the export
			err = write(e.stdout)
		} else if regular, rerr := x.mayReplace(); rerr != nil {
			err = rerr
		} else {
			if !regular {
				said = e.stderr // it may be stdout by another name
			}
			err = transfer.WriteFile(x.File, write)
		}
		if err != nil {
			return err
		}
		for _, p := range r.Problems {
			fmt.Fprintf(e.stderr, "reverie: damaged: %s\n", p)
		}
		to := *e
		to.stdout = said
		if err := to.show(r, "exported %d memories and %d memos of %d partitions\n", r.Memories, r.Memos, r.Partitions); err != nil {
			return err
		}
		if n := len(r.Problems); n > 0 {
			return fmt.Errorf("%d rows are damaged and not in the export, or not whole (see: reverie doctor)", n)
		}
		return nil
	})
}

// mayReplace refuses to write over something that is no export: a slip of the pen must
// not cost a database. regular is false for pipes and the like, which are not replaced.
func (x *exportCmd) mayReplace() (regular bool, err error) {
	st, err := os.Stat(x.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !st.Mode().IsRegular(), x.Force: // reading a pipe would wait for its other end
		return st.Mode().IsRegular(), nil
	}
	f, err := os.Open(x.File)
	if err != nil {
		return true, err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	if n > 0 && !bytes.HasPrefix(head[:n], []byte(`{"format":"reverie-export"`)) {
		return true, usage(fmt.Errorf("%s is there and is no export; give another name, or --force to replace it", x.File))
	}
	return true, nil
}

// importCmd groups the ways in. The plain one reads what export wrote.
type importCmd struct {
	File importFileCmd `cmd:"" default:"withargs" help:"Import what reverie export wrote (the default)."`
	P1   importP1Cmd   `cmd:"" name:"p1" help:"Import what the memory plugin of AmritaBot kept: its Chroma collection, memos, profile, knowledge."`
	P2   importP2Cmd   `cmd:"" name:"p2" help:"Import a folder of Markdown notes, as the memory plugin of AstrBot keeps them."`
}

type importFileCmd struct {
	File       string `arg:"" help:"What reverie export wrote; - is stdin."`
	OnConflict string `help:"A memory that is there with other contents: keep what is stored, replace it, or keep the newer." default:"keep" enum:"keep,replace,newer"`
	DryRun     bool   `help:"Say what would happen, store nothing."`
}

func (importFileCmd) Help() string {
	return "The file is checked as a whole first. Of a partition with a line that cannot be imported, nothing is imported; such lines are listed. An id that belongs to another partition here stays there. The limit of a partition does not stop an import. Importing again changes nothing."
}

// Run imports an export.
func (x *importFileCmd) Run(ctx context.Context, e *env) error {
	f, done, err := e.seekable(x.File)
	if err != nil {
		return err
	}
	defer done()
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		bar := e.progress(-1, "importing")
		r, err := transfer.Import(ctx, a.db, a.memories, f, transfer.ImportOptions{
			OnConflict: vector.Conflict(x.OnConflict), By: journal.By(c, "import"), DryRun: x.DryRun,
			Progress: func(done, total int) {
				bar.ChangeMax(total)
				bar.Set(done)
			},
		})
		bar.Finish()
		if errors.Is(err, transfer.ErrFormat) && x.File != "-" && backup.Recognize(x.File) {
			return fmt.Errorf("%s is a backup, not an export; use: reverie backup restore %s", x.File, quoteArg(x.File))
		}
		if err != nil {
			return err
		}
		if err := e.show(r, "%s: memories %s; memos %s\n", did(x.DryRun), counts(r.Memories), counts(r.Memos)); err != nil {
			return err
		}
		if !e.json {
			e.over(r.OverLimit)
			for _, l := range r.Refused {
				fmt.Fprintf(e.stderr, "reverie: line %d, %s: %s\n", l.Line, l.Partition, l.Reason)
			}
			if more := r.RefusedTotal - len(r.Refused); more > 0 {
				fmt.Fprintf(e.stderr, "reverie: and %d lines more\n", more)
			}
			if err := e.waits(ctx, a, x.DryRun); err != nil {
				return err
			}
		}
		if r.RefusedTotal > 0 {
			return fmt.Errorf("%d lines cannot be imported; nothing of the %d partitions they are in was", r.RefusedTotal, r.Left)
		}
		return nil
	})
}

// seekable opens a file; what stdin or a pipe has is kept in a temporary one, for it is
// read twice.
func (e *env) seekable(name string) (f *os.File, done func(), err error) {
	if name == "-" {
		return spooled(e.stdin, "stdin")
	}
	if f, err = os.Open(name); err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = usage(fmt.Errorf("%s is a folder; an export is a file (notes of P2: reverie import p2 DIR)", name))
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		defer f.Close()
		return spooled(f, name)
	}
	return f, func() { f.Close() }, nil
}

// spooled keeps all that r has in a temporary file.
func spooled(r io.Reader, name string) (f *os.File, done func(), err error) {
	if f, err = os.CreateTemp("", "reverie-import-*"); err != nil { // mode 0600
		return nil, nil, fmt.Errorf("keep %s: %w", name, err)
	}
	done = func() {
		f.Close()
		os.Remove(f.Name())
	}
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("keep %s: %w", name, err)
	}
	return f, done, nil
}

func did(dryRun bool) string {
	if dryRun {
		return "would be imported"
	}
	return "imported"
}

func counts(c transfer.Counts) string {
	return fmt.Sprintf("%d added, %d known, %d replaced, %d kept as they were", c.Added, c.Known, c.Replaced, c.Kept)
}

// over says which partitions hold more than may be written to them.
func (e *env) over(list []transfer.Over) {
	for _, o := range list {
		fmt.Fprintf(e.stderr, "reverie: %s has %d memories, more than the limit of %d: new ones are refused there until some are deleted or per_session_memory_limit is raised\n", o.Partition, o.Live, o.Limit)
	}
}

// waits says how many memories searches find by their words alone, and what helps. Those
// of before count too: whoever imports once more wants to know of them.
func (e *env) waits(ctx context.Context, a *app, dryRun bool) error {
	if dryRun {
		return nil
	}
	t, err := a.memories.Totals(ctx)
	if err == nil && t.Pending > 0 {
		e.printf("%d memories wait for their vector: a running server makes them, or: reverie reindex\n", t.Pending)
	}
	return err
}

type importP2Cmd struct {
	Dir        string `arg:"" help:"The plugin's data folder, the folder memories in it, or the bot's data folder."`
	GlobalTo   string `help:"Whose memories the notes of all chats become: a partition key, or user or group for the configured one. Without it they are only copied." placeholder:"KEY"`
	UnplacedTo string `help:"The same for chats whose person or group cannot be told from the folder's name." placeholder:"KEY"`
	DryRun     bool   `help:"Say what would happen, change nothing."`
}

func (importP2Cmd) Help() string {
	return "Every note is copied as it is into the home's folder memories, and becomes memories of the person or group of its chat as well, which searches find: split into pieces of at most 2,000 characters, tagged note:NAME and with its type; notes about people and about how they want to be dealt with are of high importance. A chat's summary becomes memories tagged summary. What was noted in a private chat becomes private memories: they are never shown in groups. The platform of the keys is the chat network's name, unless --platform or [identity] platform says another one."
}

// Run imports notes.
func (x *importP2Cmd) Run(ctx context.Context, e *env) error {
	return e.withApp(ctx, func(a *app, c caller.Caller) error {
		global, err := partitionOf(c, x.GlobalTo)
		if err != nil {
			return err
		}
		unplaced, err := partitionOf(c, x.UnplacedTo)
		if err != nil {
			return err
		}
		r, err := transfer.ImportP2(ctx, a.memories, x.Dir, transfer.P2Options{
			Home: e.cfg.Home, Platform: e.chosenPlatform(), GlobalTo: global, UnplacedTo: unplaced, By: journal.By(c, "import"), DryRun: x.DryRun,
		})
		if errors.Is(err, transfer.ErrNoNotes) {
			return usage(err)
		}
		if err != nil {
			return err
		}
		if e.json {
			return e.printJSON(r)
		}
		e.printf("%s: %d notes and %d summaries; memories %s\n", did(x.DryRun), r.Notes, r.Summaries, counts(r.Memories))
		e.printf("files: %d copied, %d were there, %d differ from what is there, which stays", r.Copied, r.Same, len(r.Differ))
		if r.Indexes > 0 {
			e.printf("; %d of them MEMORY.md, which is only copied", r.Indexes)
		}
		e.printf("\n")
		var parts []string
		for _, c := range r.Chats {
			e.printf("  %s -> %s: %d memories\n", c.Folder, c.Partition, c.Memories)
			parts = append(parts, c.Partition)
		}
		for _, n := range r.Differ {
			fmt.Fprintf(e.stderr, "reverie: differs: %s\n", n)
		}
		for _, list := range []struct {
			what  string
			items []transfer.P2Left
		}{{"files only", r.FilesOnly}, {"left out", r.Skipped}, {"refused", r.Refused}, {"note", r.Remarks}} {
			for _, l := range list.items {
				fmt.Fprintf(e.stderr, "reverie: %s: %s: %s\n", list.what, l.Name, l.Reason)
			}
		}
		for what, n := range r.Notices {
			fmt.Fprintf(e.stderr, "reverie: %s (%d times)\n", what, n)
		}
		e.over(r.OverLimit)
		e.hintPlatform(parts)
		return e.waits(ctx, a, x.DryRun)
	})
}

// partitionOf reads a flag that names a partition: its key, or the scope of the configured
// caller.
func partitionOf(c caller.Caller, text string) (string, error) {
	switch s := caller.Scope(text); s {
	case caller.ScopeUser, caller.ScopeGroup:
		return c.Partition(s)
	}
	if _, ok := caller.CurrentKey(text); text != "" && !ok {
		return "", usage(fmt.Errorf("%q is not a partition key; write user, group, or one such as Local_Private_ann", text))
	}
	return text, nil
}

// chosenPlatform is the configured platform, empty if it is only the default.
func (e *env) chosenPlatform() string { return e.chosen("identity.platform", e.cfg.Identity.Platform) }

// chosen is the value of a key, empty if it is only the default.
func (e *env) chosen(key, value string) string {
	for _, k := range e.cfg.Show() {
		if k.Key == key && k.Origin == "default" {
			return ""
		}
	}
	return value
}
