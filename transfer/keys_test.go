package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/memo"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/transfer"
	"reverie/vector"
)

// The environment that makes the test binary a process that is killed in a migration.
const (
	childEnv = "REVERIE_TRANSFER_TEST_CHILD"
	childDSN = "REVERIE_TRANSFER_TEST_DSN"
)

func killedChild(path, dsn string) {
	ctx := context.Background()
	db, err := store.Open(ctx, path, store.Options{DSN: dsn})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	o := transfer.MigrateOptions{}
	o.AfterEach(func(moved int) {
		if moved == 2 {
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			select {}
		}
	})
	_, err = transfer.MigrateKeys(ctx, db, o)
	fmt.Fprintln(os.Stderr, "survived:", err)
	os.Exit(1)
}

func (h *home) migrate(t testing.TB, o transfer.MigrateOptions) transfer.MigrateReport {
	t.Helper()
	r, err := transfer.MigrateKeys(t.Context(), h.db, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// contents says what is stored, a line a thing: partition, state, content.
func (h *home) contents(t testing.TB) []string {
	t.Helper()
	var out []string
	err := h.db.Read(t.Context(), func(g *gorm.DB) error {
		return g.Raw(`SELECT part || ' ' || line FROM (
			SELECT part, 1 AS kind, 'memo ' || content AS line FROM memos WHERE content <> '' UNION ALL
			SELECT part, 2, scope || ' ' || state || CASE private WHEN 0 THEN '' ELSE ' private' END || ' ' || content ||
				CASE superseded_by WHEN '' THEN '' ELSE ' by ' || substr(superseded_by, 31) END FROM memories) x ORDER BY part, kind, line`).Scan(&out).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (h *home) marked(t testing.TB) bool {
	t.Helper()
	var n int
	err := h.db.Read(t.Context(), func(g *gorm.DB) error {
		return g.Raw("SELECT COUNT(*) FROM meta WHERE name = 'key_schema_version'").Row().Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

func TestMigrateKeys(t *testing.T) {
	const ann, group = "QQPlatform_Private_1", "QQPlatform_Group_1"
	for _, tt := range []struct {
		name string
		have func(t *testing.T, h *home)
		want []string
		move []string // from -> to: memories, known
		left []string // key: a part of the reason
	}{
		{"nothing", func(*testing.T, *home) {}, nil, nil, nil},
		{"today's keys stay", func(t *testing.T, h *home) {
			h.hold(t, "Local_Private_user_1", given(1, "a"))
		}, []string{"Local_Private_user_1 user live a"}, nil, nil},
		{"a person and a group", func(t *testing.T, h *home) {
			h.hold(t, "user_1", given(1, "a"), given(2, "b", state(vector.Deleted)), given(3, "c", state(vector.Archived)))
			h.hold(t, "group_1", given(4, "g", ofGroup))
			h.note(t, "user_1", "first", "memo of ann")
			h.note(t, "group_1", "memo of g")
		}, []string{
			group + " memo memo of g", group + " group live g",
			ann + " memo memo of ann", ann + " user archived c", ann + " user deleted b", ann + " user live a",
		}, []string{"group_1 -> " + group + ": 1, 0", "user_1 -> " + ann + ": 3, 0"}, nil},
		{"several old ones of one person", func(t *testing.T, h *home) {
			h.hold(t, "user_1", given(1, "a"), given(2, "b"))
			h.hold(t, "Private_1", given(3, "a"), given(4, "c"))
			h.hold(t, "QQPlatform_user_1", given(5, "d"))
		}, []string{ann + " user live a", ann + " user live b", ann + " user live c", ann + " user live d", ann + " user superseded a by 03"},
			[]string{"Private_1 -> " + ann + ": 2, 0", "QQPlatform_user_1 -> " + ann + ": 1, 0", "user_1 -> " + ann + ": 2, 1"}, nil},
		{"the new one is there", func(t *testing.T, h *home) {
			h.hold(t, ann, given(1, "a"), given(2, "b"))
			h.hold(t, "user_1", given(3, "b"), given(4, "c"), given(5, "a", state(vector.Deleted)))
			h.note(t, "user_1", "old memo")
		}, []string{ann + " memo old memo", ann + " user deleted a", ann + " user live a", ann + " user live b", ann + " user live c", ann + " user superseded b by 02"},
			[]string{"user_1 -> " + ann + ": 3, 1"}, nil},
		{"private stays private", func(t *testing.T, h *home) {
			h.hold(t, ann, given(1, "a", private), given(2, "b"))
			h.hold(t, "user_1", given(3, "a"), given(4, "b", private))
		}, []string{ann + " user live private a", ann + " user live private b", ann + " user superseded a by 01", ann + " user superseded private b by 02"},
			[]string{"user_1 -> " + ann + ": 2, 2"}, nil},
		{"a pair moves as a pair", func(t *testing.T, h *home) {
			h.hold(t, ann, given(9, "other"))
			h.hold(t, "user_1", given(1, "a", private), given(2, "a"))
		}, []string{ann + " user live a", ann + " user live other", ann + " user live private a"}, []string{"user_1 -> " + ann + ": 2, 0"}, nil},
		{"two memos that differ", func(t *testing.T, h *home) {
			h.hold(t, "user_1", given(1, "a"))
			h.note(t, "user_1", "old memo")
			h.note(t, ann, "new memo")
		}, []string{ann + " memo new memo", ann + " user live a", "user_1 memo old memo"},
			[]string{"user_1 -> " + ann + ": 1, 0"}, []string{"user_1: both have a memo"}},
		{"only a memo that differs", func(t *testing.T, h *home) {
			h.note(t, "user_1", "old memo")
			h.note(t, ann, "new memo")
		}, []string{ann + " memo new memo", "user_1 memo old memo"}, nil, []string{"user_1: both have a memo"}},
		{"private memories under a group's key", func(t *testing.T, h *home) {
			h.hold(t, "group_1", given(1, "a", ofGroup), given(2, "b", private))
			h.hold(t, "group_2", given(3, "c", ofGroup))
		}, []string{"QQPlatform_Group_2 group live c", "group_1 group live a", "group_1 user live private b"},
			[]string{"group_2 -> QQPlatform_Group_2: 1, 0"}, []string{"group_1: private"}},
		{"two memos that are the same", func(t *testing.T, h *home) {
			h.note(t, "user_1", "1", "2", "memo")
			h.note(t, ann, "memo")
		}, []string{ann + " memo memo"}, []string{"user_1 -> " + ann + ": 0, 0"}, nil},
		{"the new memo is empty", func(t *testing.T, h *home) {
			h.note(t, "user_1", "memo")
			h.note(t, ann, "x", "")
		}, []string{ann + " memo memo"}, []string{"user_1 -> " + ann + ": 0, 0"}, nil},
		{"the old memo is empty", func(t *testing.T, h *home) {
			h.note(t, "user_1", "x", "y", "")
			h.note(t, ann, "memo")
		}, []string{ann + " memo memo"}, []string{"user_1 -> " + ann + ": 0, 0"}, nil},
		{"digits of a person", func(t *testing.T, h *home) {
			h.hold(t, "1", given(1, "a"))
		}, []string{ann + " user live a"}, []string{"1 -> " + ann + ": 1, 0"}, nil},
		{"digits of a group", func(t *testing.T, h *home) {
			h.hold(t, "1", given(1, "a", ofGroup))
		}, []string{group + " group live a"}, []string{"1 -> " + group + ": 1, 0"}, nil},
		{"what cannot be placed", func(t *testing.T, h *home) {
			h.hold(t, "7", given(1, "a"), given(2, "b", ofGroup))
			h.hold(t, "QQPlatform_Channel_5", given(3, "c", ofGroup))
			h.hold(t, "somebody", given(4, "d"))
			h.note(t, "8", "memo")
			h.hold(t, "user_1", given(5, "e"))
		}, []string{"7 group live b", "7 user live a", "8 memo memo", "QQPlatform_Channel_5 group live c", ann + " user live e", "somebody user live d"},
			[]string{"user_1 -> " + ann + ": 1, 0"}, []string{"7: only digits", "8: only digits", "QQPlatform_Channel_5: a channel", "somebody: not a form"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, e storetest.Engine) {
				h := newHome(t, e)
				tt.have(t, h)
				before := h.export(t)
				backups := 0
				o := transfer.MigrateOptions{Backup: func(context.Context, string) error { backups++; return nil }}
				dry := o
				dry.DryRun = true
				plan := h.migrate(t, dry)
				if h.export(t) != before || backups > 0 {
					t.Errorf("a dry run changed something, or made %d backups", backups)
				}
				r := h.migrate(t, o)
				if d := cmp.Diff(plan, r); d != "" {
					t.Errorf("planned (-), done (+):\n%s", d)
				}
				if want := min(1, len(tt.move)); backups != want {
					t.Errorf("%d backups, want %d", backups, want)
				}
				checkReport(t, r, tt.move, tt.left)
				// The same order in every database.
				if d := cmp.Diff(sorted(tt.want), sorted(h.contents(t))); d != "" {
					t.Errorf("want (-), stored (+):\n%s", d)
				}
				if got, want := h.marked(t), len(tt.left) == 0; got != want {
					t.Errorf("marked as done: %v, want %v", got, want)
				}
				h.sound(t)
				after := h.export(t)
				again := h.migrate(t, o)
				if len(again.Moved) > 0 || len(again.Unplaced) != len(tt.left) || h.export(t) != after {
					t.Errorf("again: %+v", again)
				}
				if want := min(1, len(tt.move)); backups != want {
					t.Errorf("%d backups after a run that had nothing to do, want %d", backups, want)
				}
			})
		})
	}
}

func sorted(lines []string) map[string]int {
	out := map[string]int{}
	for _, l := range lines {
		out[l]++
	}
	return out
}

func checkReport(t *testing.T, r transfer.MigrateReport, move, left []string) {
	t.Helper()
	var got []string
	for _, m := range r.Moved {
		got = append(got, fmt.Sprintf("%s -> %s: %d, %d", m.From, m.To, m.Memories, m.Known))
	}
	if d := cmp.Diff(move, got); d != "" {
		t.Errorf("moves, want (-), got (+):\n%s", d)
	}
	if len(r.Unplaced) != len(left) {
		t.Fatalf("left %+v, want %q", r.Unplaced, left)
	}
	for i, want := range left {
		key, reason, _ := strings.Cut(want, ": ")
		if u := r.Unplaced[i]; u.Key != key || !strings.Contains(u.Reason, reason) {
			t.Errorf("left %+v, want %q", u, want)
		}
	}
}

// Readers that have seen either partition see the change; versions only rise; the history
// comes along.
func TestMigrateKeysIsSeen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, e storetest.Engine) {
		h := newHome(t, e)
		ann := caller.Caller{User: "1", Platform: caller.P1Platform}
		memos := memo.New(h.db, memo.Options{})
		for range 5 {
			if _, _, err := memos.Set(t.Context(), ann, "a memo", nil); err != nil {
				t.Fatal(err)
			}
			if _, _, err := memos.Set(t.Context(), ann, "", nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.memories.Write(t.Context(), ann, vector.Draft{Content: "knows this already"}); err != nil {
			t.Fatal(err)
		}
		h.hold(t, "user_1", given(1, "bees in Porto"), given(2, "gone", state(vector.Deleted)))
		h.note(t, "user_1", "the old memo")
		found := func() bool {
			r, err := h.memories.Search(t.Context(), ann, vector.Query{Text: "bees"})
			if err != nil {
				t.Fatal(err)
			}
			return len(r.Hits) > 0 && r.Hits[0].Content == "bees in Porto"
		}
		if m, err := memos.Get(t.Context(), ann); err != nil || m.Content != "" {
			t.Fatalf("memo %+v, %v", m, err)
		}
		if found() {
			t.Fatal("found before it is there")
		}
		mark, err := h.db.Mark(t.Context(), "user_1")
		if err != nil {
			t.Fatal(err)
		}
		old, target := h.version(t, "user_1"), h.version(t, "QQPlatform_Private_1")
		h.migrate(t, transfer.MigrateOptions{})
		if !found() {
			t.Error("not found afterwards")
		}
		m, err := memos.Get(t.Context(), ann)
		if err != nil || m.Content != "the old memo" {
			t.Errorf("memo %+v, %v", m, err)
		}
		if v := h.version(t, "user_1"); v <= old {
			t.Errorf("version of the old partition: %d after %d", v, old)
		}
		if v := h.version(t, "QQPlatform_Private_1"); v <= max(old, target) {
			t.Errorf("version of the new partition: %d after %d and %d", v, old, target)
		}
		if now, err := h.db.Mark(t.Context(), "user_1"); err != nil || now.Generation <= mark.Generation {
			t.Errorf("generation %d after %d, %v", now.Generation, mark.Generation, err)
		}
		hist, err := h.memories.History(t.Context(), ann, caller.ScopeUser, fmt.Sprintf("%032x", 1))
		if err != nil || len(hist) != 2 || hist[0].Source != "migrate-keys" || hist[1].Action != journal.Create {
			t.Errorf("history %+v, %v", hist, err)
		}
		if _, err := h.memories.Restore(t.Context(), ann, caller.ScopeUser, fmt.Sprintf("%032x", 2)); err != nil {
			t.Errorf("restore from the trash that came along: %v", err)
		}
		if _, _, err := memos.Set(t.Context(), ann, "goes on", &m.Version); err != nil {
			t.Errorf("set the memo: %v", err)
		}
		h.sound(t)
	})
}

// What could not be placed is placed as soon as nothing stands in its way.
func TestMigrateKeysTriesAgain(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	h.note(t, "user_1", "old memo")
	h.note(t, "QQPlatform_Private_1", "new memo")
	if r := h.migrate(t, transfer.MigrateOptions{}); len(r.Unplaced) != 1 || !r.Unplaced[0].Memo {
		t.Fatalf("report %+v", r)
	}
	ann := caller.Caller{User: "1", Platform: caller.P1Platform}
	if _, _, err := memo.New(h.db, memo.Options{}).Set(t.Context(), ann, "", nil); err != nil {
		t.Fatal(err)
	}
	r := h.migrate(t, transfer.MigrateOptions{})
	if len(r.Unplaced) != 0 || len(r.Moved) != 1 || !r.Moved[0].Memo || !h.marked(t) {
		t.Errorf("report %+v", r)
	}
	if d := cmp.Diff([]string{"QQPlatform_Private_1 memo old memo"}, h.contents(t)); d != "" {
		t.Error(d)
	}
	h.sound(t)
	// And what comes later is found again.
	h.hold(t, "user_2", given(1, "a"))
	h.hold(t, "Channel_3", given(2, "b"))
	if r := h.migrate(t, transfer.MigrateOptions{Platform: "Local"}); len(r.Moved) != 1 || r.Moved[0].To != "Local_Private_2" || h.marked(t) {
		t.Errorf("report %+v, marked %v", r, h.marked(t))
	}
}

func TestMigrateKeysBackup(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	h.hold(t, "user_1", given(1, "a"))
	full := errors.New("no space")
	_, err := transfer.MigrateKeys(t.Context(), h.db, transfer.MigrateOptions{Backup: func(context.Context, string) error { return full }})
	if !errors.Is(err, full) || h.contents(t)[0] != "user_1 user live a" {
		t.Errorf("without a backup: %v, %q", err, h.contents(t))
	}
	if _, err := transfer.MigrateKeys(t.Context(), h.db, transfer.MigrateOptions{Platform: "a b"}); !errors.Is(err, caller.ErrInvalid) {
		t.Errorf("platform: %v", err)
	}
}

// A process that is killed in the middle has changed nothing, and the next one does all.
func TestMigrateKeysKilled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, e storetest.Engine) {
		h := newHome(t, e)
		for i := range 4 {
			h.hold(t, fmt.Sprintf("user_%d", i), given(i*10+1, "a"), given(i*10+2, "b"))
			h.note(t, fmt.Sprintf("user_%d", i), "memo")
		}
		before := h.export(t)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"="+h.Path, childDSN+"="+h.DSN)
		out, err := cmd.CombinedOutput()
		if err == nil || len(out) > 0 {
			t.Fatalf("the process was not killed: %v\n%s", err, out)
		}
		if after := h.export(t); after != before {
			t.Errorf("half a migration:\n%s", cmp.Diff(before, after))
		}
		h.sound(t)
		if r := h.migrate(t, transfer.MigrateOptions{}); len(r.Moved) != 4 || len(r.Unplaced) != 0 {
			t.Errorf("report %+v", r)
		}
		h.sound(t)
	})
}

func TestMigrateKeysFiles(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	dir := t.TempDir()
	files := map[string]string{
		"profile/user_1.md":                             "one",
		"profile/user_2.md":                             "two, old",
		"profile/QQPlatform_Private_2.md":               "two, new",
		"profile/user_3.md":                             "three",
		"profile/QQPlatform_Private_3.md":               "three",
		"profile/Channel_4.md":                          "channel",
		"profile/55.md":                                 "digits of a group that moves",
		"profile/66.md":                                 "digits of nobody",
		"profile/readme.md":                             "not named after a key",
		"memories/session/group_1/a.md":                 "a",
		"memories/session/user_2/a.md":                  "same",
		"memories/session/user_2/b.md":                  "moves",
		"memories/session/user_2/c.md":                  "old",
		"memories/session/QQPlatform_Private_2/a.md":    "same",
		"memories/session/QQPlatform_Private_2/c.md":    "new",
		"memories/session/aiocqhttp_FriendMessage_1/x.": "of P2",
	}
	write(t, dir, files)
	h.hold(t, "55", given(1, "a", ofGroup))
	o := transfer.MigrateOptions{Home: dir, DryRun: true}
	plan := h.migrate(t, o)
	if d := cmp.Diff(files, tree(t, dir)); d != "" {
		t.Errorf("a dry run changed files:\n%s", d)
	}
	o.DryRun = false
	r := h.migrate(t, o)
	if d := cmp.Diff(plan, r); d != "" {
		t.Errorf("planned (-), done (+):\n%s", d)
	}
	want := map[string]string{
		"profile/QQPlatform_Private_1.md":               "one",
		"profile/user_2.md":                             "two, old",
		"profile/QQPlatform_Private_2.md":               "two, new",
		"profile/QQPlatform_Private_3.md":               "three",
		"profile/Channel_4.md":                          "channel",
		"profile/QQPlatform_Group_55.md":                "digits of a group that moves",
		"profile/66.md":                                 "digits of nobody",
		"profile/readme.md":                             "not named after a key",
		"memories/session/QQPlatform_Group_1/a.md":      "a",
		"memories/session/user_2/c.md":                  "old",
		"memories/session/QQPlatform_Private_2/a.md":    "same",
		"memories/session/QQPlatform_Private_2/b.md":    "moves",
		"memories/session/QQPlatform_Private_2/c.md":    "new",
		"memories/session/aiocqhttp_FriendMessage_1/x.": "of P2",
	}
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
	var left []string
	for _, u := range r.Unplaced {
		left = append(left, u.File)
	}
	if d := cmp.Diff([]string{"profile/66.md", "profile/Channel_4.md", "profile/user_2.md", "memories/session/user_2/c.md"}, left); d != "" {
		t.Errorf("left, want (-), got (+):\n%s", d)
	}
	if h.marked(t) {
		t.Error("marked as done")
	}
}

// A link that leads out of the home moves nothing there.
func TestMigrateKeysLinks(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"user_1.md": "one"})
	if err := os.Symlink(outside, filepath.Join(dir, "profile")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	h.hold(t, "user_1", given(1, "a"))
	write(t, dir, map[string]string{"memories/session/user_1/a.md": "a"})
	r := h.migrate(t, transfer.MigrateOptions{Home: dir})
	if d := cmp.Diff(map[string]string{"user_1.md": "one"}, tree(t, outside)); d != "" {
		t.Errorf("outside:\n%s", d)
	}
	if len(r.Moved) != 1 || len(r.Files) != 1 || len(r.Unplaced) != 1 || r.Unplaced[0].File != "profile" {
		t.Errorf("report %+v; the link is left, and the rest moves", r)
	}
}

// What is in the way of files is listed, for the partitions have moved by then.
func TestMigrateKeysNoFolder(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	dir := t.TempDir()
	write(t, dir, map[string]string{"profile": "a file", "memories/session/group_1/a.md": "a"})
	h.hold(t, "user_1", given(1, "a"))
	r := h.migrate(t, transfer.MigrateOptions{Home: dir})
	if len(r.Moved) != 1 || len(r.Files) != 1 || len(r.Unplaced) != 1 || r.Unplaced[0].File != "profile" || h.marked(t) {
		t.Errorf("report %+v", r)
	}
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// tree is every file below a folder.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
