package mcp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/tokens"
	"reverie/mcp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update", err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got); run with -update if this is meant:\n%s", path, diff)
	}
}

func listTools(t *testing.T, sets ...string) []object {
	t.Helper()
	c := newHome(t, setup{options: mcp.Options{Toolsets: sets}}).serve(t)
	c.initialize()
	var out []object
	for _, tool := range c.result("tools/list", nil)["tools"].([]any) {
		out = append(out, tool.(object))
	}
	return out
}

// What clients see of a tool changes only on purpose.
func TestToolsGolden(t *testing.T) {
	for _, tool := range listTools(t, "all") {
		data, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, data, "", "  "); err != nil {
			t.Fatal(err)
		}
		golden(t, "tools/"+tool["name"].(string)+".json", b.String()+"\n")
	}
}

// The schemas are in every request of every client: they must stay small.
func TestTokenBudget(t *testing.T) {
	c := newHome(t, setup{}).serve(t)
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	line := <-c.lines
	n := tokens.Estimate(line)
	t.Logf("tools/list of memory and memo: %d tokens, %d bytes", n, len(line))
	if n >= 1600 {
		t.Errorf("tools/list takes %d tokens; the limit is 1,600", n)
	}
}

func TestToolsets(t *testing.T) {
	names := func(tools []object) []string {
		var out []string
		for _, tool := range tools {
			out = append(out, tool["name"].(string))
		}
		return out
	}
	for _, row := range []struct {
		sets []string
		want string
	}{
		{nil, "delete_memory list_memory read_memo read_memory update_memo update_memory write_memory"},
		{[]string{"memo"}, "read_memo update_memo"},
		{[]string{"memory", "memo", "admin"}, "delete_memory history list_memory read_memo read_memory restore update_memo update_memory write_memory"},
		{[]string{"all"}, "delete_memory history list_memory read_memo read_memory restore update_memo update_memory write_memory"},
	} {
		if got := strings.Join(names(listTools(t, row.sets...)), " "); got != row.want {
			t.Errorf("%v: %s, want %s", row.sets, got, row.want)
		}
	}
}

// Every tool says explicitly what it may do, takes flat arguments and bounds them.
func TestToolRules(t *testing.T) {
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for _, tool := range listTools(t, "all") {
		n := tool["name"].(string)
		if !name.MatchString(n) {
			t.Errorf("name %q", n)
		}
		if tool["title"] == nil || tool["description"] == nil || tool["outputSchema"] == nil {
			t.Errorf("%s lacks a title, a description or an outputSchema", n)
		}
		if d, _ := tool["description"].(string); !strings.HasPrefix(d, "Call ") {
			t.Errorf("%s: the description does not say when to call it: %q", n, d)
		}
		hints := tool["annotations"].(object)
		for _, h := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := hints[h].(bool); !ok {
				t.Errorf("%s: %s is not explicit", n, h)
			}
		}
		if hints["openWorldHint"] != false || hints["readOnlyHint"] == true && hints["destructiveHint"] == true {
			t.Errorf("%s: %v", n, hints)
		}
		in := tool["inputSchema"].(object)
		if in["type"] != "object" || in["additionalProperties"] != false {
			t.Errorf("%s: inputSchema %v", n, in)
		}
		lint(t, n, in)
		lint(t, n, tool["outputSchema"])
		for prop, raw := range in["properties"].(object) {
			p := raw.(object)
			switch p["type"] {
			case "string":
				if p["enum"] == nil && p["maxLength"] == nil && prop != "cursor" {
					t.Errorf("%s.%s: a string without a limit", n, prop)
				}
			case "integer":
				if p["minimum"] == nil {
					t.Errorf("%s.%s: a number without a limit", n, prop)
				}
			case "array":
				if p["maxItems"] == nil || p["items"].(object)["type"] != "string" {
					t.Errorf("%s.%s: %v", n, prop, p)
				}
			case "boolean":
			default:
				t.Errorf("%s.%s: type %v", n, prop, p["type"])
			}
		}
	}
}

// lint refuses what clients' schema converters do not understand.
func lint(t *testing.T, tool string, schema any) {
	t.Helper()
	switch v := schema.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch key {
			case "anyOf", "oneOf", "allOf", "not", "$ref", "patternProperties":
				t.Errorf("%s: schema uses %s", tool, key)
			case "type":
				if _, ok := v[key].(string); !ok {
					if _, isSchema := v[key].(object); !isSchema {
						t.Errorf("%s: type is %v", tool, v[key])
					}
				}
			}
			lint(t, tool, v[key])
		}
	case []any:
		for _, x := range v {
			lint(t, tool, x)
		}
	}
}

func TestToolsMarkdown(t *testing.T) {
	s := newHome(t, setup{}).server
	golden(t, "tools_en.md", s.ToolsMarkdown("en"))
	golden(t, "tools_zh.md", s.ToolsMarkdown("zh"))
	for _, tool := range listTools(t, "all") {
		contains(t, s.ToolsMarkdown("zh"), "`"+tool["name"].(string)+"`")
	}
}

func TestNewRefuses(t *testing.T) {
	h := newHome(t, setup{})
	for name, row := range map[string]struct {
		o    mcp.Options
		want string
	}{
		"toolset": {mcp.Options{Toolsets: []string{"memroy"}, Fence: plainFence{}, Caller: local}, `unknown toolset "memroy"; known: all, memory, memo, admin`},
		"caller":  {mcp.Options{Fence: plainFence{}}, "user id is empty"},
		"fence":   {mcp.Options{Caller: local}, "no fence"},
	} {
		_, err := mcp.New(h.memories, h.memos, row.o)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}
