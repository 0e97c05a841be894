package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"reverie/config"
	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/internal/fence"
	"reverie/internal/intake"
	"reverie/memo"
	"reverie/store"
	"reverie/vector"
	"reverie/vector/mirror"
)

// databaseName is the file in the home folder that holds everything SQL.
const databaseName = "reverie.db"

// app is the program put together on one home.
type app struct {
	cfg      *config.Config
	log      *slog.Logger
	db       *store.DB
	spaces   *spaces.Manager
	mirror   *mirror.Mirror // nil if there is none
	unmirror func()
	memories *vector.Service
	memos    *memo.Store
	fence    *fence.Fence
}

// openApp opens the home and everything in it. source names the way of writing in the
// journal: "tool" or "command".
func openApp(ctx context.Context, cfg *config.Config, log *slog.Logger, source string) (*app, error) {
	for _, w := range append(config.UnknownEnv(os.Environ()), cfg.Warnings...) {
		log.Warn(w, "component", "config")
	}
	a := &app{cfg: cfg, log: log}
	var err error
	if a.db, err = openStore(ctx, cfg); err != nil {
		return nil, err
	}
	finishRestore(ctx, a.db, cfg, log)
	secret, err := a.db.Secret(ctx)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.fence = fence.New(secret)
	embedder, err := newEmbedder(ctx, cfg.Embedding, a.db, log.With("component", "embedding"))
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.spaces = spaces.New(a.db, embedder, spaces.Options{
		Old:       oldEmbedder(cfg.Embedding, log.With("component", "embedding")),
		Trust:     !cfg.Embedding.CheckOnStartup,
		Policy:    spaces.Policy(cfg.Embedding.MismatchPolicy),
		BatchSize: cfg.Embedding.BatchSize,
		Backup:    backupBefore(a.db, cfg),
		Logger:    log.With("component", "embedding"),
	})
	clean := intake.Policy{KeepSecrets: !cfg.Privacy.RedactSecrets}.Clean
	o := vector.Options{
		Limit:      cfg.PerSessionMemoryLimit,
		CacheBytes: int64(cfg.Retrieval.CacheMB) << 20,
		DenyGroups: cfg.Privacy.UserMemoriesInGroups == "deny",
		Clean:      clean,
		Spaces:     a.spaces,
		Source:     source,
		Logger:     log.With("component", "memory"),
	}
	if mirrored(cfg.VectorDB) {
		if a.mirror, a.unmirror, err = a.newMirror(); err != nil {
			return nil, errors.Join(err, a.Close())
		}
		o.Changed = a.mirror.Wake
	}
	if cfg.Retrieval.Expiry == "archive" {
		o.ArchiveLow = days(cfg.ShortTermExpiryDays)
		o.ArchiveMid = days(cfg.LongTermExpiryDays)
	}
	if a.memories, err = vector.New(ctx, a.db, nil, o); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	// A memo is merged by its writer: recalled text in it is the old memo, which must not
	// vanish from the new one.
	memoText := intake.Policy{KeepSecrets: !cfg.Privacy.RedactSecrets, RefuseRecalled: true}
	a.memos = memo.New(a.db, memo.Options{MaxChars: cfg.MemoMaxChars, Clean: memoText.Clean, Source: source})
	return a, nil
}

// openStore opens the database of the configuration.
func openStore(ctx context.Context, cfg *config.Config) (*store.DB, error) {
	return store.Open(ctx, filepath.Join(cfg.Home, databaseName), store.Options{
		DSN:         cfg.Storage.DSN,
		Copies:      filepath.Join(cfg.Home, "backups"),
		Synchronous: cfg.Storage.Synchronous,
		BusyTimeout: time.Duration(cfg.Storage.BusyTimeoutMS) * time.Millisecond,
	})
}

// databasePlace says where the database is, without a password.
func databasePlace(cfg *config.Config) string {
	if cfg.Storage.DSN == "" {
		return filepath.Join(cfg.Home, databaseName)
	}
	u, err := url.Parse(cfg.Storage.DSN)
	if err != nil {
		return "PostgreSQL"
	}
	return "PostgreSQL " + u.Host + u.Path
}

// leftBehind warns of memories in the home's SQLite database that PostgreSQL does not have.
func leftBehind(cfg *config.Config) string {
	if cfg.Storage.DSN == "" || !exists(filepath.Join(cfg.Home, databaseName)) {
		return ""
	}
	return "this home has a " + databaseName + " from before PostgreSQL, which is not read now; to take it over run without the dsn: reverie backup create, and with it: reverie backup restore NAME --merge; then move " + databaseName + " away"
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

// Close closes the parts in the order that loses nothing.
func (a *app) Close() error {
	var errs []error
	if a.spaces != nil {
		errs = append(errs, a.spaces.Close()) // first: it may be embedding everything anew
	}
	if a.memories != nil {
		errs = append(errs, a.memories.Close())
	}
	if a.unmirror != nil {
		a.unmirror()
	}
	if a.spaces != nil {
		if c, ok := a.spaces.Target().(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	return errors.Join(errs...)
}

// who is the caller of the configuration: whoever runs the program.
func who(cfg *config.Config) caller.Caller {
	i := cfg.Identity
	return caller.Caller{User: i.User, Group: i.Group, Role: caller.Role(i.Role), Conversation: i.Conversation, Platform: i.Platform}
}

// newLogger logs to w, never to stdout, which is the protocol's.
func newLogger(cfg *config.Config, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	o := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return slog.New(slog.NewTextHandler(w, o)), nil
}
