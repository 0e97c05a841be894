package cli

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"reverie/config"
	"reverie/internal/caller"
	"reverie/internal/fence"
	"reverie/mcp"
	"reverie/memo"
)

var update = flag.Bool("update", false, "write the generated parts of the READMEs")

// The tables of tools and keys in both READMEs are made from the code.
func TestReadmeIsCurrent(t *testing.T) {
	server, err := mcp.New(nil, memo.New(nil, memo.Options{}), mcp.Options{
		Caller: caller.Caller{User: "local", Platform: caller.DefaultPlatform}, Fence: fence.New([]byte("x")), Toolsets: []string{"all"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, lang := range map[string]string{"../README.md": "en", "../README.zh.md": "zh"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := string(b)
		page = replacePart(t, page, "tools", server.ToolsMarkdown(lang))
		page = replacePart(t, page, "config", config.MarkdownTable(lang))
		if page == string(b) {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the code says; run: go test ./cli -run TestReadmeIsCurrent -update", file)
			continue
		}
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func replacePart(t *testing.T, page, name, text string) string {
	t.Helper()
	re := regexp.MustCompile(`(?s)<!-- ` + name + `:begin -->\n.*?<!-- ` + name + `:end -->`)
	if !re.MatchString(page) {
		t.Fatalf("the page has no part %q", name)
	}
	return re.ReplaceAllLiteralString(page, "<!-- "+name+":begin -->\n"+strings.TrimRight(text, "\n")+"\n<!-- "+name+":end -->")
}
