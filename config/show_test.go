package config_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/config"
)

func TestInitFileChangesNothing(t *testing.T) {
	plain, _, err := sources{}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := sources{toml: string(config.InitFile())}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain.Show()[1:], c.Show()[1:]); diff != "" {
		t.Errorf("(-default +init):\n%s", diff)
	}
}

// With every # taken away, the file sets each key to its default: none is missing, none misspelt, none in the wrong
// section.
func TestInitFileHasEveryKey(t *testing.T) {
	text := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(string(config.InitFile()), "$1")
	c, _, err := sources{toml: text}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Show()[1:] {
		if e.Origin != config.FileName || !cmp.Equal(e.Value, e.Default) {
			t.Errorf("%s = %s from %s, want the default from the file", e.Key, e.Text(), e.Origin)
		}
	}
}

func TestMarkdownTable(t *testing.T) {
	c, _, err := sources{}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"en", "zh"} {
		rows := strings.Split(strings.TrimSpace(config.MarkdownTable(language)), "\n")
		if len(rows) != 2+len(c.Show())-1 {
			t.Errorf("%s: %d rows for %d keys", language, len(rows), len(c.Show())-1)
		}
		for i, row := range rows {
			if n := strings.Count(row, "|") - strings.Count(row, `\|`); n != 6 {
				t.Errorf("%s: row %d has %d bars: %s", language, i, n, row)
			}
		}
		for i, e := range c.Show()[1:] {
			if !strings.HasPrefix(rows[i+2], "| `"+e.Key+"` | `"+e.Text()+"` |") {
				t.Errorf("%s: row of %s: %s", language, e.Key, rows[i+2])
			}
		}
	}
	if !strings.Contains(config.MarkdownTable("zh"), "| 键 |") || !strings.Contains(config.MarkdownTable("en"), "`EMBEDDING_PROTOCOL`, `EMBEDDING_PROCTOL`") {
		t.Error("a heading or an alias is missing")
	}
}

func BenchmarkLoad(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		if _, err := config.Load(config.Options{HomeFlag: home}); err != nil {
			b.Fatal(err)
		}
	}
}
