package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"reverie/config"
	"reverie/internal/caller"
	"reverie/memo"
	"reverie/store"
	"reverie/vector"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// root is the command line.
type root struct {
	Home string `help:"Home folder with config.toml and the database (default: REVERIE_HOME, else the platform's data folder)." placeholder:"DIR"`
	JSON bool   `help:"Print results as JSON."`

	User     string `help:"Whose memory: user id (default: [identity] in config.toml, REVERIE_USER, else local)." placeholder:"ID"`
	Group    string `help:"The group that the call is made in." placeholder:"ID"`
	Role     string `help:"Your role in the group: member, admin or owner." placeholder:"ROLE"`
	Platform string `help:"First part of partition keys (default Local)." placeholder:"NAME"`
	LogLevel string `help:"debug, info, warn or error." placeholder:"LEVEL"`

	Serve            serveCmd            `cmd:"" default:"withargs" help:"Serve MCP over stdin and stdout (the default command)."`
	Demo             demoCmd             `cmd:"" help:"See what it does: a guided round in a temporary home."`
	Status           statusCmd           `cmd:"" help:"Show what is stored, where, and whether all is well."`
	Doctor           doctorCmd           `cmd:"" help:"Check the database; with --repair, save what a damaged one still holds."`
	Memory           memoryCmd           `cmd:"" help:"List, search, add, delete, restore memories: reverie memory [user|group] list."`
	Memo             memoCmd             `cmd:"" help:"Show or set the memo."`
	Export           exportCmd           `cmd:"" help:"Write memos and memories as lines of JSON."`
	Import           importCmd           `cmd:"" help:"Import an export, or the data of another program."`
	MigrateKeys      migrateKeysCmd      `cmd:"" help:"Give partitions with keys of an older form today's."`
	Backup           backupCmd           `cmd:"" help:"Back up everything into one file, list, verify, restore."`
	Config           configCmd           `cmd:"" help:"Show the configuration and where each value comes from, or write a config.toml."`
	Reindex          reindexCmd          `cmd:"" help:"Embed everything with the configured embedder, and switch to it."`
	ResetFingerprint resetFingerprintCmd `cmd:"" help:"Take the stored vectors for the configured embedder's, without embedding."`
	Mirror           mirrorCmd           `cmd:"" help:"The copy of the vectors in a Chroma server: show, rebuild or verify it."`
	Bench            benchCmd            `cmd:"" help:"Measure retrieval quality and speed."`
	Version          versionCmd          `cmd:"" help:"Print the version."`
}

// env is what a command may use of the world.
type env struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	json   bool
	cfg    *config.Config // nil for commands that need none
}

// exitError carries the exit code of an error that is not a plain failure.
type exitError struct {
	code int
	error
}

func (e exitError) Unwrap() error { return e.error }

func usage(err error) error { return exitError{exitUsage, err} }

// Main runs the program and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, args, stdin, stdout, stderr)
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var coded exitError
	switch {
	case errors.As(err, &coded):
		code = coded.code
	case errors.Is(err, vector.ErrInvalid), errors.Is(err, memo.ErrInvalid), errors.Is(err, caller.ErrInvalid):
		code = exitUsage
	}
	if slices.Contains(args, "--json") {
		json.NewEncoder(stderr).Encode(map[string]any{"error": message(err), "code": code})
	} else {
		fmt.Fprintf(stderr, "reverie: %s\n", message(err))
	}
	return code
}

// help is raised by kong after it printed help, to end the program.
type help struct{}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(help); !ok {
				panic(r)
			}
			err = nil
		}
	}()
	var r root
	parser, err := kong.New(&r,
		kong.Name("reverie"),
		kong.Description("Long-term memory for agents, IDEs and chat bots, over the Model Context Protocol."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { panic(help{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && (args[0] == "--version" || args[0] == "-v"):
		args = []string{"version"}
	case len(args) > 0 && args[0] == "help":
		args = append(args[1:], "--help")
	}
	for i, a := range args {
		if !utf8.ValidString(a) {
			// Different bytes would become the same replacement character, and two users one.
			return usage(fmt.Errorf("argument %d is not valid UTF-8", i+1))
		}
	}
	for i, a := range args[:max(len(args)-1, 0)] {
		if a == "--home" && isCommand(parser.Model.Node, args[i+1]) && !exists(args[i+1]) {
			return usage(fmt.Errorf("--home %s: the folder after --home is missing (for one of this name write ./%s)", args[i+1], args[i+1]))
		}
	}
	k, err := parser.Parse(scopeFirst(args))
	if err != nil {
		return usage(misspelt(parser.Model.Node, args, err))
	}
	e := &env{stdin: stdin, stdout: stdout, stderr: stderr, json: r.JSON}
	if c, ok := k.Selected().Target.Addr().Interface().(interface{ needsConfig() bool }); !ok || c.needsConfig() {
		if e.cfg, err = r.load(); err != nil {
			return usage(err)
		}
	}
	return k.Run(e)
}

// load reads the configuration with the flags on top.
func (r *root) load() (*config.Config, error) {
	flags := map[string]string{}
	for key, v := range map[string]string{
		"identity.user": r.User, "identity.group": r.Group, "identity.role": r.Role, "identity.platform": r.Platform,
		"log.level": r.LogLevel, "toolsets.enabled": r.Serve.Toolsets,
	} {
		if v != "" {
			flags[key] = v
		}
	}
	return config.Load(config.Options{HomeFlag: r.Home, Flags: flags})
}

// scopeFirst moves the scope of "memory group list" into a flag: it stands before the
// action as in the chat command, where a command-line parser has no place for it.
func scopeFirst(args []string) []string {
	for i, a := range args {
		if a != "memory" {
			continue
		}
		if i+1 < len(args) && (args[i+1] == "user" || args[i+1] == "group") {
			out := append([]string{}, args[:i+1]...)
			out = append(out, args[i+2:]...)
			return append(out, "--scope="+args[i+1])
		}
		break
	}
	return args
}

// printJSON prints a result for programs.
func (e *env) printJSON(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (e *env) printf(format string, args ...any) { fmt.Fprintf(e.stdout, format, args...) }

// open opens the home for a command.
func (e *env) open(ctx context.Context) (*app, error) {
	log, err := newLogger(e.cfg, e.stderr)
	if err != nil {
		return nil, usage(err)
	}
	return openApp(ctx, e.cfg, log, "command")
}

// message words an error for a person at a terminal, with the next step.
func message(err error) string {
	s := err.Error()
	var full *vector.LimitError
	var conflict *memo.ConflictError
	switch {
	case errors.As(err, &full):
		var b strings.Builder
		b.WriteString(s + "; nothing was stored. Delete or merge some first, or raise per_session_memory_limit. Candidates:")
		for _, m := range full.Candidates {
			fmt.Fprintf(&b, "\n  %s  [%s] %s", m.ID, m.Importance, clip(m.Content, 60))
		}
		return b.String()
	case errors.As(err, &conflict):
		return s + "; nothing was changed (see it with: reverie memo show)"
	case errors.Is(err, vector.ErrNotFound):
		return s + " (list them with: reverie memory list)"
	case errors.Is(err, store.ErrDamaged) && !strings.Contains(s, "doctor"):
		return s + " (see: reverie doctor)"
	case errors.Is(err, caller.ErrForbidden):
		return s + " (an operator can pass --role admin)"
	}
	return s
}

type versionCmd struct{}

func (versionCmd) needsConfig() bool { return false }

// Run prints the version.
func (versionCmd) Run(e *env) error {
	if e.json {
		return e.printJSON(map[string]string{"version": version()})
	}
	e.printf("reverie %s\n", version())
	return nil
}

// version is what the build says: a tag for a released module, else the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
