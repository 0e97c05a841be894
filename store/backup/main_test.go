package backup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/backup"
	"reverie/store/storetest"
)

// childEnv makes the test binary another process of the same home: a JSON array of a
// role and its arguments.
const childEnv = "REVERIE_BACKUP_TEST_CHILD"

func TestMain(m *testing.M) {
	if v := os.Getenv(childEnv); v != "" {
		var args []string
		if err := json.Unmarshal([]byte(v), &args); err != nil {
			panic(err)
		}
		if err := runChild(args[0], args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	storetest.Main(m)
}

// child returns the command that runs this test binary in a role.
func child(tb testing.TB, role string, args ...string) *exec.Cmd {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	b, err := json.Marshal(append([]string{role}, args...))
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+string(b))
	return cmd
}

func runChild(role string, args []string) error {
	ctx, home := context.Background(), args[0]
	db, err := store.Open(ctx, filepath.Join(home, "reverie.db"), store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Println("ready")
	switch role {
	case "create":
		for range 1000 {
			if _, err := backup.Create(ctx, db, home, backup.Options{Kind: backup.Auto, Keep: 2}); err != nil {
				return err
			}
		}
	case "restore":
		_, err = backup.Restore(ctx, db, home, args[1], backup.RestoreOptions{Keep: 2})
		fmt.Println("done")
	}
	return err
}

// home is a home with its database.
type home struct {
	dir string
	db  *store.DB
}

func newHome(tb testing.TB) *home {
	tb.Helper()
	return openHome(tb, tb.TempDir())
}

func openHome(tb testing.TB, dir string) *home {
	tb.Helper()
	db, err := store.Open(tb.Context(), filepath.Join(dir, "reverie.db"), store.Options{Synchronous: "normal"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return &home{dir, db}
}

// file writes a file of the home.
func (h *home) file(tb testing.TB, path, content string) {
	tb.Helper()
	path = filepath.Join(h.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// files are all files of the home but the database and the backups.
func (h *home) files(tb testing.TB) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(h.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(h.dir, p)
		rel = filepath.ToSlash(rel)
		switch {
		case rel == "backups":
			return fs.SkipDir
		case d.IsDir(), strings.HasPrefix(rel, "reverie."):
			if strings.HasPrefix(rel, "restore-") {
				out[rel+"/"] = ""
			}
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			out[rel], err = os.Readlink(p)
			return err
		}
		b, err := os.ReadFile(p)
		out[rel] = string(b)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// allTables are the tables whose rows must come back.
var allTables = []string{"meta", "partitions", "memories", "spaces", "vectors", "pending", "memos", "journal", "serving", "canaries"}

// rows are all rows of the database, by table, each as one text.
func (h *home) rows(tb testing.TB) map[string][]string {
	tb.Helper()
	out := map[string][]string{}
	err := h.db.Read(tb.Context(), func(g *gorm.DB) error {
		for _, t := range allTables {
			rs, err := g.Raw("SELECT * FROM " + t).Rows()
			if err != nil {
				return err
			}
			defer rs.Close()
			cols, err := rs.Columns()
			if err != nil {
				return err
			}
			out[t] = []string{}
			values, into := make([]any, len(cols)), make([]any, len(cols))
			for i := range into {
				into[i] = &values[i]
			}
			for rs.Next() {
				if err := rs.Scan(into...); err != nil {
					return err
				}
				var b strings.Builder
				for i, c := range cols {
					if c != "generation" { // which never goes back
						fmt.Fprintf(&b, "%s=%#v ", c, values[i])
					}
				}
				out[t] = append(out[t], b.String())
			}
			if err := rs.Err(); err != nil {
				return err
			}
			slices.Sort(out[t])
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func (h *home) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if err := h.db.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatal(err)
	}
}

func (h *home) create(tb testing.TB, o backup.Options) backup.Info {
	tb.Helper()
	i, err := backup.Create(tb.Context(), h.db, h.dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

func (h *home) restore(tb testing.TB, path string) backup.Result {
	tb.Helper()
	r, err := backup.Restore(tb.Context(), h.db, h.dir, path, backup.RestoreOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// zips are the backups in a home, by name.
func (h *home) zips(tb testing.TB) []string {
	tb.Helper()
	all, err := filepath.Glob(filepath.Join(h.dir, "backups", "*"))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range all {
		all[i] = filepath.Base(all[i])
	}
	return all
}

// sound fails unless the database agrees with itself.
func sound(tb testing.TB, h *home) {
	tb.Helper()
	r, err := h.db.Check(context.WithoutCancel(tb.Context()))
	if err != nil || len(r.Problems) > 0 {
		tb.Errorf("check: %q, %v", r.Problems, err)
	}
}
