package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// kind is the JSON type of an argument. Arguments are flat on purpose: unions and
// nested objects are what clients' schema converters stumble over.
type kind int

const (
	text  kind = iota // a string
	whole             // a whole number
	flag              // true or false
	list              // an array of strings
)

// param describes one argument of a tool. The schema that clients see and the check
// that the server makes are both derived from it, so they cannot drift apart.
type param struct {
	name     string
	kind     kind
	doc      string
	required bool
	empty    bool     // a required text may be ""
	enum     []string // text: the only values allowed
	min      int64    // whole: least value
	max      int64    // whole: greatest value, 0 for none; text: characters; list: items
	each     int64    // list: characters of an item
	preset   any      // the default, shown in the schema
}

// schema renders the parameters as a compact JSON schema, in the order given: the
// bytes count against every client's context.
func schema(params []param) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, p := range params {
		if i > 0 {
			b.WriteByte(',')
		}
		if p.required {
			required = append(required, p.name)
		}
		b.WriteString(quote(p.name) + ":" + p.schema())
	}
	b.WriteByte('}')
	if len(required) > 0 {
		b.WriteString(`,"required":` + mustJSON(required))
	}
	b.WriteString(`,"additionalProperties":false}`)
	return json.RawMessage(b.String())
}

func (p param) schema() string {
	parts := []string{`"type":` + quote([]string{"string", "integer", "boolean", "array"}[p.kind])}
	add := func(key string, v any) { parts = append(parts, quote(key)+":"+mustJSON(v)) }
	switch p.kind {
	case text:
		if p.enum != nil {
			add("enum", p.enum)
		}
		if p.max > 0 {
			add("maxLength", p.max)
		}
	case whole:
		add("minimum", p.min)
		if p.max > 0 {
			add("maximum", p.max)
		}
	case list:
		items := `{"type":"string"`
		if p.each > 0 {
			items += `,"maxLength":` + strconv.FormatInt(p.each, 10)
		}
		parts = append(parts, `"items":`+items+`}`)
		if p.max > 0 {
			add("maxItems", p.max)
		}
	}
	if p.preset != nil {
		add("default", p.preset)
	}
	if p.doc != "" {
		add("description", p.doc)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// wants says in words what the parameter takes, for error messages.
func (p param) wants() string {
	switch {
	case p.enum != nil:
		return "one of " + strings.Join(p.enum, ", ")
	case p.kind == whole && p.max > 0:
		return fmt.Sprintf("a whole number from %d to %d", p.min, p.max)
	case p.kind == whole:
		return fmt.Sprintf("a whole number, %d or more", p.min)
	case p.kind == flag:
		return "true or false"
	case p.kind == list:
		return `an array of strings, such as ["travel","food"]`
	case p.max > 0:
		return fmt.Sprintf("a string of at most %s characters", thousands(p.max))
	}
	return "a string"
}

func names(params []param) []string {
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.name
	}
	return out
}

// quote writes s as JSON without escaping <, > and &, as mustJSON does.
func quote(s string) string { return mustJSON(s) }

// mustJSON encodes values that cannot fail to encode.
func mustJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("mcp: encode %T: %v", v, err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// thousands writes n with separators, as people read limits: 8,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
