package transfer_test

import (
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/caller"
	"reverie/store/storetest"
	"reverie/transfer"
	"reverie/vector"
)

// p2Folder names a chat's folder as P2 does.
func p2Folder(origin string) string {
	key := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._-]`).ReplaceAllString(origin, "_")[:min(80, len(origin))], "._")
	if key == origin {
		return key
	}
	return fmt.Sprintf("%s-%x", key, md5.Sum([]byte(origin)))[:len(key)+9]
}

var (
	friend = p2Folder("aiocqhttp:FriendMessage:12345")
	chat   = p2Folder("aiocqhttp:GroupMessage:678")
)

func TestP2FolderIsAsRecorded(t *testing.T) {
	for origin, want := range map[string]string{"a/b": "a_b-a7e86136", "a.": "a-9fbcccf4", "plain": "plain"} {
		if got := p2Folder(origin); got != want {
			t.Errorf("%q is named %q, want %q", origin, got, want)
		}
	}
}

func paragraphs(topic string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Paragraph%d%s tells about %s number %d, %s.\n\n", i, topic, topic, i, strings.Repeat("and so on ", 20))
	}
	return b.String()
}

// numbers is one paragraph, of one line, too long for one memory.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "数%d，", i)
	}
	return b.String()
}

// p2Data is a data folder of P2 with all that may be in one.
func p2Data() map[string]string {
	return map[string]string{
		"memories/global/MEMORY.md":                                                     "- [style](style.md) — short answers\n",
		"memories/global/style.md":                                                      "---\nname: style\ndescription: answers are short\nmetadata:\n  type: feedback\n---\nNever more than three sentences.\n",
		"memories/session/" + friend + "/MEMORY.md":                                     "- [user-12345](user-12345.md) — who\n",
		"memories/session/" + friend + "/user-12345.md":                                 "---\nname: user-12345\ndescription: 张三，喜欢绿茶\nmetadata:\n  type: user\n---\n住在波尔图，养蜜蜂。[[project-x]]\n",
		"memories/session/" + friend + "/project-x.md":                                  "---\r\nname: Project X\r\ndescription: \"a \\\"big\\\" plan\"\r\nmetadata: {type: project}\r\n---\r\n# Plan\r\n\r\nDue on Friday.\r\n",
		"memories/session/" + friend + "/bom.md":                                        "\ufeff---\ndescription: with a mark\n---\nBody after the mark.\n",
		"memories/session/" + friend + "/broken.md":                                     "---\ndescription: [unclosed\n---\nBody of the broken one.\n",
		"memories/session/" + friend + "/open.md":                                       "---\ndescription: never closed\nBody of the open one.\n",
		"memories/session/" + friend + "/plain.md":                                      "# Heading\n\nno frontmatter at all\n",
		"memories/session/" + friend + "/only.md":                                       "---\ndescription: only a description here\n---\n",
		"memories/session/" + friend + "/blank.md":                                      "\n",
		"memories/session/" + chat + "/long.md":                                         "---\ndescription: a long note\ntype: reference\n---\n" + paragraphs("alpha", 40) + "# Part two\n\n" + paragraphs("beta", 10),
		"memories/session/" + chat + "/wall.md":                                         numbers(2500),
		"memories/session/" + chat + "/" + strings.Repeat("n", 118) + ".md":             "a note with a long name",
		"memories/session/" + p2Folder("telegram:GroupMessage:-100#5") + "/t.md":        "topic five",
		"memories/session/" + p2Folder("webchat:FriendMessage:webchat!ann!1") + "/w.md": "from the web",
		"memories/session/" + p2Folder("qq:OtherMessage:1") + "/o.md":                   "of neither",
		"memories/session/aiocqhttp_FriendMessage_1-00000000/x.md":                      "a checksum that fits nothing",
		"memories/session/unknown-d41d8cd9/u.md":                                        "no origin at all",
		"state/" + chat + ".json":                                                       `{"cid":"c","watermark":4,"summary":"They planned a picnic by the lake.","compressed_at":1714978800.5}`,
		"state/" + friend + ".json":                                                     `{"summary":""}`,
		"state/broken-00000000.json":                                                    `[1`,
		// What is left alone.
		"memories/session/" + friend + "/big.md":      strings.Repeat("x", 64<<10+1),
		"memories/session/" + friend + "/binary.md":   "a\x00b",
		"memories/session/" + friend + "/latin.md":    "caf\xe9",
		"memories/session/" + friend + "/.hidden.md":  "x",
		"memories/session/" + friend + "/a b.md":      "x",
		"memories/session/" + friend + "/user.md.tmp": "x",
		"memories/session/" + friend + "/sub/deep.md": "x",
		"memories/session/stray.md":                   "x",
		"memories/session/odd name/x.md":              "x",
	}
}

func (h *home) bringP2(t testing.TB, dir string, o transfer.P2Options) transfer.P2Report {
	t.Helper()
	r, err := transfer.ImportP2(t.Context(), h.memories, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestImportP2(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	dir, to := t.TempDir(), t.TempDir()
	data := p2Data()
	write(t, dir, data)
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "memories/session", friend, "plain.md"), at, at); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret.md")
	write(t, filepath.Dir(secret), map[string]string{"secret.md": "not for import"})
	if err := os.Symlink(secret, filepath.Join(dir, "memories/session", friend, "link.md")); err != nil {
		t.Log("no symbolic links here:", err)
	}
	write(t, to, map[string]string{"memories/session/" + friend + "/plain.md": "mine, and different"})

	o := transfer.P2Options{Home: to, DryRun: true}
	before := tree(t, to)
	plan := h.bringP2(t, dir, o)
	if d := cmp.Diff(before, tree(t, to)); d != "" || len(h.contents(t)) > 0 {
		t.Errorf("a dry run changed something: %q\n%s", h.contents(t), d)
	}
	o.DryRun = false
	r := h.bringP2(t, dir, o)
	if d := cmp.Diff(plan, r); d != "" {
		t.Errorf("planned (-), done (+):\n%s", d)
	}

	// Files: byte for byte, and nothing that P2 would not have read.
	copied := tree(t, to)
	for name, text := range data {
		got, ok := copied[name]
		switch base := filepath.Base(name); {
		case base == "plain.md":
			text = "mine, and different"
		case strings.Contains("big.md binary.md latin.md .hidden.md a b.md user.md.tmp deep.md stray.md", base), strings.Contains(name, "odd name"):
			if ok {
				t.Errorf("%s was copied", name)
			}
			continue
		}
		if got != text {
			t.Errorf("%s is %.60q, want %.60q", name, got, text)
		}
	}
	for name := range copied {
		if strings.Contains(name, "link") || strings.Contains(name, "import") {
			t.Errorf("%s is there", name)
		}
	}
	if d := cmp.Diff([]string{"memories/session/" + friend + "/plain.md"}, r.Differ); d != "" {
		t.Errorf("differ:\n%s", d)
	}
	left := map[string]string{}
	for _, l := range append(append([]transfer.P2Left{}, r.Skipped...), r.FilesOnly...) {
		left[l.Name] = l.Reason
	}
	for name, reason := range map[string]string{
		"memories/session/" + friend + "/big.md": "65537 bytes", "memories/session/" + friend + "/binary.md": "not a text",
		"memories/session/" + friend + "/latin.md": "not a text", "memories/session/" + friend + "/.hidden.md": "name",
		"memories/session/" + friend + "/a b.md": "name", "memories/session/" + friend + "/user.md.tmp": "name",
		"memories/session/" + friend + "/sub": "a folder", "memories/session/stray.md": "not a folder of a chat", "memories/session/odd name": "not a folder of a chat",
		"memories/session/" + friend + "/link.md": "symbolic link", "global": "belong to nobody",
		"aiocqhttp_FriendMessage_1-00000000": "checksum fits no origin", "unknown-d41d8cd9": "platform_GroupMessage_id-checksum); --unplaced-to", p2Folder("qq:OtherMessage:1"): "neither",
	} {
		if !strings.Contains(left[name], reason) {
			t.Errorf("%s is left because of %q, want %q", name, left[name], reason)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		t.Errorf("also left: %v", left)
	}

	// Memories: whose, and as what.
	ann := caller.Caller{User: "12345", Platform: "aiocqhttp"}
	group := caller.Caller{User: "x", Group: "678", Platform: "aiocqhttp"}
	for _, tt := range []struct {
		name    string
		c       caller.Caller
		scope   caller.Scope
		query   string
		content string // a part of it
		tags    []string
		imp     vector.Importance
	}{
		{"a person", ann, caller.ScopeUser, "养蜜蜂", "张三，喜欢绿茶\n\n住在波尔图，养蜜蜂。[[project-x]]", []string{"note:user-12345", "user"}, vector.High},
		{"a project", ann, caller.ScopeUser, "due on Friday", "a \"big\" plan\n\n# Plan\n\nDue on Friday.", []string{"note:project-x", "project", "Project X"}, vector.Medium},
		{"a byte order mark", ann, caller.ScopeUser, "after the mark", "with a mark\n\nBody after the mark.", []string{"note:bom"}, vector.Medium},
		{"broken frontmatter", ann, caller.ScopeUser, "broken one", "---\ndescription: [unclosed\n---\nBody of the broken one.", []string{"note:broken"}, vector.Medium},
		{"open frontmatter", ann, caller.ScopeUser, "open one", "Body of the open one.", []string{"note:open"}, vector.Medium},
		{"no frontmatter", ann, caller.ScopeUser, "frontmatter at all", "# Heading\n\nno frontmatter at all", []string{"note:plain"}, vector.Medium},
		{"only a description", ann, caller.ScopeUser, "only a description", "only a description here", []string{"note:only"}, vector.Medium},
		{"a summary", group, caller.ScopeGroup, "picnic lake", "They planned a picnic by the lake.", []string{"summary"}, vector.Medium},
		{"a long name", group, caller.ScopeGroup, "a long name", "a note with a long name", []string{"note:" + strings.Repeat("n", 59)}, vector.Medium},
		{"a topic", caller.Caller{User: "x", Group: "-100#5", Platform: "telegram"}, caller.ScopeGroup, "topic", "topic five", []string{"note:t"}, vector.Medium},
		{"the web", caller.Caller{User: "webchat!ann!1", Platform: "webchat"}, caller.ScopeUser, "web", "from the web", []string{"note:w"}, vector.Medium},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := h.memories.Search(t.Context(), tt.c, vector.Query{Scope: tt.scope, Text: tt.query, TopK: 3})
			if err != nil || len(res.Hits) == 0 {
				t.Fatalf("%+v, %v", res, err)
			}
			m := res.Hits[0].Memory
			if !strings.Contains(m.Content, tt.content) || m.Importance != tt.imp || m.Source != vector.FromImport || m.Private != (tt.scope == caller.ScopeUser) {
				t.Errorf("found %+v", m)
			}
			if d := cmp.Diff(tt.tags, m.Tags[:min(len(tt.tags), len(m.Tags))]); d != "" {
				t.Errorf("tags:\n%s", d)
			}
		})
	}
	// What was said in private is not told in a group.
	if res, err := h.memories.Search(t.Context(), caller.Caller{User: "12345", Group: "678", Platform: "aiocqhttp"}, vector.Query{Text: "养蜜蜂"}); err != nil || len(res.Hits) > 0 {
		t.Errorf("in a group: %+v, %v", res.Hits, err)
	}
	// Every paragraph of the long note is found, and every piece is short.
	for _, topic := range []string{"alpha", "beta"} {
		for i := range map[string]int{"alpha": 40, "beta": 10}[topic] {
			word := fmt.Sprintf("Paragraph%d%s", i, topic)
			res, err := h.memories.Search(t.Context(), group, vector.Query{Scope: caller.ScopeGroup, Text: word, TopK: 1})
			if err != nil || len(res.Hits) == 0 || !strings.Contains(res.Hits[0].Content, word+" ") || !strings.HasPrefix(res.Hits[0].Content, "a long note\n") {
				t.Errorf("%s is not found: %v", word, err)
			}
		}
	}
	var wall string
	for line := range strings.Lines(h.export(t)) {
		var m vector.Memory
		if json.Unmarshal([]byte(line), &m) == nil && m.Content != "" {
			if n := len([]rune(m.Content)); n > 2000 {
				t.Errorf("a piece has %d characters", n)
			}
			if strings.HasPrefix(m.Content, "数") {
				wall += m.Content
			}
			if strings.Contains(m.Content, "no frontmatter at all") && !m.CreatedAt.Equal(at) {
				t.Errorf("created %v, want the time of the file", m.CreatedAt)
			}
			if m.Tags[0] == "summary" && m.CreatedAt.Unix() != 1714978800 {
				t.Errorf("summary created %v", m.CreatedAt)
			}
		}
	}
	for i := range 2500 {
		if n := fmt.Sprintf("数%d，", i); strings.Count(wall, n) != 1 {
			t.Errorf("%s stands in the pieces %d times", n, strings.Count(wall, n))
			break
		}
	}
	h.sound(t)

	// Again: nothing new.
	stored := h.export(t)
	again := h.bringP2(t, dir, o)
	if again.Memories.Added+again.Memories.Replaced > 0 || again.Copied > 0 || again.Same == 0 || h.export(t) != stored {
		t.Errorf("again: %+v", again)
	}
}

func TestImportP2Elsewhere(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	dir := t.TempDir()
	write(t, dir, p2Data())
	r := h.bringP2(t, dir, transfer.P2Options{Platform: "QQPlatform", GlobalTo: "Local_Private_op", UnplacedTo: "Local_Private_lost"})
	if r.Copied+r.Same > 0 {
		t.Errorf("files without a home: %+v", r)
	}
	got := strings.Join(h.contents(t), "\n")
	for _, want := range []string{
		"Local_Private_op user live answers are short\n\nNever", "Local_Private_lost user live private of neither", "Local_Private_lost user live private no origin at all",
		"QQPlatform_Group_678 group live They planned", "QQPlatform_Private_12345 user live private 张三", "QQPlatform_Group_-100#5 group live topic",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%.2000s", want, got)
		}
	}
	if len(r.FilesOnly) > 0 {
		t.Errorf("files only: %+v", r.FilesOnly)
	}
}

// The folder may be given as the plugin's, as the notes themselves, or as the bot's.
func TestImportP2Where(t *testing.T) {
	note := map[string]string{"memories/session/" + friend + "/a.md": "a note", "state/" + chat + ".json": `{"summary":"sum"}`}
	for _, tt := range []struct{ name, below, given string }{
		{"the plugin's", "", ""},
		{"the notes", "", "memories"},
		{"the bot's data", "plugin_data/astrbot_plugin_memory_beyond", ""},
		{"the bot's", "data/plugin_data/astrbot_plugin_memory_beyond", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t, storetest.Engines(t)[0])
			dir := t.TempDir()
			write(t, filepath.Join(dir, filepath.FromSlash(tt.below)), note)
			r := h.bringP2(t, filepath.Join(dir, tt.given), transfer.P2Options{})
			if r.Notes != 1 || r.Summaries != 1 || r.Memories.Added != 2 {
				t.Errorf("report %+v", r)
			}
		})
	}
	h := newHome(t, storetest.Engines(t)[0])
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		if _, err := transfer.ImportP2(t.Context(), h.memories, dir, transfer.P2Options{}); !errors.Is(err, transfer.ErrNoNotes) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for _, o := range []transfer.P2Options{{GlobalTo: "me"}, {UnplacedTo: "user_1"}, {Platform: "a b"}} {
		if _, err := transfer.ImportP2(t.Context(), h.memories, t.TempDir(), o); !errors.Is(err, caller.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// What is beside the notes is named, so that nobody takes it for imported.
func TestImportP2Others(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"memories/session/" + friend + "/a.md": "a note", "memories/session/" + friend + "/MEMORY.md": "- a", "memories/session/not-of-it/MEMORY.md": "- b",
		"memories/README.md": "x", "state/" + chat + ".json": `{"summary":"sum"}`, "profile/ann.json": "{}", "config.json": "{}",
	})
	for given, want := range map[string][]string{"": {"config.json", "memories/README.md", "profile/"}, "memories": {"memories/README.md"}} {
		r := h.bringP2(t, filepath.Join(dir, given), transfer.P2Options{DryRun: true})
		var got []string
		for _, l := range r.Skipped {
			got = append(got, l.Name)
		}
		if d := cmp.Diff(want, got); d != "" || r.Indexes != 2 || r.Notes != 1 {
			t.Errorf("%q: %d indexes, %d notes; left out (-want +got):\n%s", given, r.Indexes, r.Notes, d)
		}
	}
}

// Secrets in notes are treated as in all text that comes in.
func TestImportP2Cleans(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	dir := t.TempDir()
	write(t, dir, map[string]string{"memories/session/" + friend + "/a.md": "the api_key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD\u200b ok"})
	r := h.bringP2(t, dir, transfer.P2Options{})
	if len(r.Notices) == 0 || strings.Contains(strings.Join(h.contents(t), ""), "sk-proj") {
		t.Errorf("notices %v, stored %q", r.Notices, h.contents(t))
	}
}
