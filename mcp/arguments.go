package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"reverie/internal/cleantext"
)

// arguments are the checked arguments of a tool call: a string, int64, bool or
// []string by name. What was absent, null or "" (where that means nothing) is not in it.
type arguments map[string]any

// argumentError says what is wrong with the arguments of a call, in words for the
// model that made it.
type argumentError struct{ message string }

func (e *argumentError) Error() string { return e.message }

func badArgument(format string, a ...any) error {
	return &argumentError{fmt.Sprintf(format, a...)}
}

func (a arguments) text(name string) string {
	s, _ := a[name].(string)
	return s
}

func (a arguments) whole(name string) int {
	n, _ := a[name].(int64)
	return int(n)
}

func (a arguments) flag(name string) bool {
	b, _ := a[name].(bool)
	return b
}

func (a arguments) list(name string) []string {
	l, _ := a[name].([]string)
	return l
}

func (a arguments) has(name string) bool {
	_, ok := a[name]
	return ok
}

// decodeArguments checks raw against params. Nothing is converted silently: a wrong
// type is an error that names the right one, for a model repeats what is tolerated.
func decodeArguments(raw json.RawMessage, params []param) (arguments, error) {
	out := arguments{}
	raw = bytes.TrimSpace(raw)
	if len(raw) != 0 && string(raw) != "null" {
		if raw[0] != '{' {
			return nil, badArgument("arguments must be an object, not %s", describe(raw))
		}
		if at, found := cleantext.LoneSurrogate(raw); found {
			return nil, badArgument(`the arguments contain %s, half of a surrogate pair and no character; send the text as UTF-8`, raw[at:at+6])
		}
		if err := decodeObject(raw, params, out); err != nil {
			return nil, err
		}
	}
	for _, p := range params {
		if p.required && !out.has(p.name) {
			return nil, badArgument("%s is missing; give %s", p.name, p.wants())
		}
	}
	return out, nil
}

func decodeObject(raw json.RawMessage, params []param, out arguments) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return badArgument("arguments are not valid JSON: %v", err)
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return badArgument("arguments are not valid JSON: %v", err)
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return badArgument("arguments are not valid JSON: %v", err)
		}
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		switch {
		case i < 0:
			return unknownName("argument", name, names(params))
		case seen[name]:
			return badArgument("%s is given twice; give it once", name)
		}
		seen[name] = true
		v, err := params[i].decode(value)
		if err != nil {
			return err
		}
		if v != nil {
			out[name] = v
		}
	}
	return nil
}

// decode reads one value; nil means that it counts as not given.
func (p param) decode(raw json.RawMessage) (any, error) {
	if string(raw) == "null" || string(raw) == `""` && !(p.required && p.empty) {
		if p.required && p.kind == text && string(raw) != "null" {
			return nil, badArgument("%s is empty; give %s", p.name, p.wants())
		}
		return nil, nil
	}
	wrong := func() error { return badArgument("%s must be %s, not %s", p.name, p.wants(), describe(raw)) }
	switch p.kind {
	case text:
		var s string
		if json.Unmarshal(raw, &s) != nil || p.enum != nil && !slices.Contains(p.enum, s) {
			return nil, wrong()
		}
		return s, nil
	case whole:
		n, ok := wholeNumber(raw)
		if !ok || n < p.min || p.max > 0 && n > p.max {
			return nil, wrong()
		}
		return n, nil
	case flag:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			return nil, wrong()
		}
		return b, nil
	default:
		return p.decodeList(raw)
	}
}

func (p param) decodeList(raw json.RawMessage) (any, error) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, badArgument("%s must be %s, not %s", p.name, p.wants(), describe(raw))
	}
	if p.max > 0 && int64(len(items)) > p.max {
		return nil, badArgument("%s has %d items; the limit is %d", p.name, len(items), p.max)
	}
	out := make([]string, 0, len(items))
	for i, item := range items {
		var s string
		if string(item) == "null" || json.Unmarshal(item, &s) != nil {
			return nil, badArgument("%s must be %s; item %d is %s", p.name, p.wants(), i+1, describe(item))
		}
		out = append(out, s)
	}
	return out, nil
}

// wholeNumber reads a JSON number without a fraction: 5, 5.0 and 5e0 are five, 5.5 is
// none. Numbers beyond int64 are reported as the nearest one, so that the limit check
// that follows speaks of the limit.
func wholeNumber(raw json.RawMessage) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err == nil && f != math.Trunc(f):
		return 0, false
	case f >= math.MaxInt64:
		return math.MaxInt64, true
	case f <= math.MinInt64:
		return math.MinInt64, true
	}
	return int64(f), true
}

// describe names a JSON value as a reader would: the string "5", an object, 1e9.
func describe(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "the string " + shorten(string(raw), 48)
	}
	return shorten(string(raw), 48)
}

// shorten cuts s to n code points, marking the cut.
func shorten(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
