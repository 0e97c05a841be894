package config

import (
	"fmt"
	"strings"
)

// Entry is one key with its effective value.
type Entry struct {
	Key     string `json:"key"`     // as in config.toml, with its section
	Value   any    `json:"value"`   // int, string, bool or []string
	Default any    `json:"default"` // the same type
	Origin  string `json:"origin"`  // default, config.toml, .env, "environment NAME" or "flag --name"
	Help    string `json:"help"`
}

// Text returns the value as config.toml would have it.
func (e Entry) Text() string { return show(e.Value) }

// Show lists every key with its effective value and where that comes from, the home folder first. A secret that is
// set is shown as "(set, not shown)".
func (c *Config) Show() []Entry {
	entries := []Entry{{Key: "home", Value: c.Home, Default: "", Origin: c.homeFrom, Help: "folder with everything that is kept"}}
	for _, k := range keys() {
		origin := c.origins[k.name]
		if origin == "" {
			origin = "default"
		}
		value := deref(k.field(c))
		if k.secret && value != k.def {
			value = hidden
		}
		entries = append(entries, Entry{Key: k.name, Value: value, Default: k.def, Origin: origin, Help: k.help})
	}
	return entries
}

// hidden stands for a secret.
const hidden = "(set, not shown)"

// quotable returns text as a message may show it: a value with a secret in it, also one
// that was put into the wrong key, is not quoted.
func (k *key) quotable(text string) string {
	if k.secret || strings.Contains(text, "://") && strings.ContainsAny(text, "@?#") {
		return hidden
	}
	return text
}

func deref(p any) any {
	switch p := p.(type) {
	case *int:
		return *p
	case *string:
		return *p
	case *bool:
		return *p
	default:
		return *p.(*[]string)
	}
}

// InitFile returns a config.toml with every key commented out, at its default, with a line of help. As it stands it
// changes nothing.
func InitFile() []byte {
	var b strings.Builder
	b.WriteString("# Configuration of Reverie. Every key is shown with its default; take the # away to change one.\n" +
		"# Stronger than this file are, in this order: command-line flags, the environment, .env beside this file.\n" +
		"# Unknown keys are errors, so that a misspelt one is noticed.\n")
	section := ""
	for _, k := range keys() {
		s, name, ok := strings.Cut(k.name, ".")
		if !ok {
			s, name = "", k.name
		}
		if s != section {
			section = s
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "\n# %s\n# Allowed: %s.", upperFirst(k.help), k.expects())
		if len(k.env) > 0 {
			fmt.Fprintf(&b, " Environment: %s.", k.env[0])
		}
		fmt.Fprintf(&b, "\n# %s = %s\n", name, show(k.def))
	}
	return []byte(b.String())
}

// MarkdownTable returns the table of all keys for the README, in language "zh" or, for anything else, in English.
func MarkdownTable(language string) string {
	zh := language == "zh"
	var b strings.Builder
	if zh {
		b.WriteString("| 键 | 默认值 | 允许的值 | 环境变量或参数 | 含义 |\n")
	} else {
		b.WriteString("| key | default | allowed | environment, flag | meaning |\n")
	}
	b.WriteString("|---|---|---|---|---|\n")
	for _, k := range keys() {
		names := make([]string, 0, len(k.env)+1)
		for _, n := range k.env {
			names = append(names, "`"+n+"`")
		}
		if k.flag != "" {
			names = append(names, "`"+k.flag+"`")
		}
		help := k.help
		if zh {
			help = k.helpZH
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", k.name, show(k.def), cell(k.short(zh)), strings.Join(names, ", "), cell(help))
	}
	return b.String()
}

// short is expects in the few words of a table.
func (k *key) short(zh bool) string {
	switch k.def.(type) {
	case int:
		return fmt.Sprintf("%d–%d", k.min, k.max)
	case bool:
		return "`true`, `false`"
	}
	if k.allowed != nil {
		names := make([]string, len(k.allowed))
		for i, a := range k.allowed {
			names[i] = "`" + a + "`"
			if a == "" {
				names[i] = "`\"\"`"
			}
		}
		return strings.Join(names, ", ")
	}
	if zh {
		return fmt.Sprintf("%d–%d 个字符", k.min, k.max)
	}
	return fmt.Sprintf("%d–%d characters", k.min, k.max)
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
