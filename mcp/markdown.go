package mcp

import (
	"fmt"
	"slices"
	"strings"
)

// ToolsMarkdown is the table of all tools for the README, in "en" or "zh". It comes from
// the same declarations that clients get, so the page cannot fall behind.
func (s *Server) ToolsMarkdown(lang string) string {
	var b strings.Builder
	if lang == "zh" {
		b.WriteString("| 工具集 | 工具 | 参数 | 作用 |\n|---|---|---|---|\n")
	} else {
		b.WriteString("| toolset | tool | arguments | what it is for |\n|---|---|---|---|\n")
	}
	for _, t := range s.allTools() {
		what := t.description
		if lang == "zh" {
			what = t.zh
		}
		var args []string
		for _, p := range t.params {
			name := "`" + p.name
			if !p.required {
				name += "?"
			}
			if p.preset != nil {
				name += fmt.Sprintf("=%v", p.preset)
			}
			args = append(args, name+"`")
		}
		set := string(t.toolset)
		if slices.Contains(DefaultToolsets(), set) {
			set = "**" + set + "**"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", set, t.name, strings.Join(args, ", "), strings.ReplaceAll(what, "|", `\|`))
	}
	return b.String()
}
