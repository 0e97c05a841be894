package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// assign puts a checked value into its field.
func (k *key) assign(c *Config, v any) {
	switch p := k.field(c).(type) {
	case *int:
		*p = v.(int)
	case *string:
		*p = v.(string)
	case *bool:
		*p = v.(bool)
	case *[]string:
		*p = slices.Clone(v.([]string))
	}
}

// fromTOML checks a value as the TOML library decodes it.
func (k *key) fromTOML(raw any) (any, error) {
	switch k.def.(type) {
	case int:
		n, ok := raw.(int64)
		if !ok {
			return nil, fmt.Errorf("is %s, must be %s", typeName(raw), k.expects())
		}
		return k.checkInt(n)
	case bool:
		b, ok := raw.(bool)
		if !ok {
			return nil, fmt.Errorf("is %s, must be true or false, without quotes", typeName(raw))
		}
		return b, nil
	case string:
		s, ok := raw.(string)
		if !ok {
			return nil, fmt.Errorf("is %s, must be %s, in quotes", typeName(raw), k.expects())
		}
		return k.checkString(s)
	default:
		list, ok := raw.([]any)
		if !ok {
			return nil, fmt.Errorf("is %s, must be %s", typeName(raw), k.expects())
		}
		var names []string
		for _, e := range list {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("has %s in it, must be %s", typeName(e), k.expects())
			}
			names = append(names, s)
		}
		return k.checkList(names)
	}
}

// fromText checks a value from an environment variable, .env or a flag.
func (k *key) fromText(text string) (any, error) {
	switch k.def.(type) {
	case int:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("must be %s", k.expects())
		}
		return k.checkInt(n)
	case bool:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true", "1", "yes", "on":
			return true, nil
		case "false", "0", "no", "off":
			return false, nil
		}
		return nil, errors.New("must be true or false")
	case string:
		return k.checkString(text)
	default:
		var names []string
		for _, s := range strings.Split(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				names = append(names, s)
			}
		}
		return k.checkList(names)
	}
}

func (k *key) checkInt(n int64) (any, error) {
	if n < int64(k.min) || n > int64(k.max) {
		return nil, fmt.Errorf("is out of range, must be %s", k.expects())
	}
	return int(n), nil
}

func (k *key) checkString(s string) (any, error) {
	if k.allowed != nil {
		if !slices.Contains(k.allowed, s) {
			return nil, fmt.Errorf("must be %s%s", k.expects(), DidYouMean(s, k.allowed))
		}
		return s, nil
	}
	if n := utf8.RuneCountInString(s); n < k.min || n > k.max {
		return nil, fmt.Errorf("has %d characters, must be %s", n, k.expects())
	}
	if k.check != nil && s != "" {
		if err := k.check(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// checkList checks the names of a list, takes each once and replaces "all".
func (k *key) checkList(names []string) (any, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("is empty, must be %s", k.expects())
	}
	var out []string
	for _, n := range names {
		if !slices.Contains(k.allowed, n) {
			return nil, fmt.Errorf("has %s in it, must be %s%s", strconv.Quote(n), k.expects(), DidYouMean(n, k.allowed))
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if slices.Contains(out, "all") {
		out = slices.DeleteFunc(slices.Clone(k.allowed), func(n string) bool { return n == "all" })
	}
	return out, nil
}

// expects says in words what a value may be.
func (k *key) expects() string {
	switch k.def.(type) {
	case int:
		return fmt.Sprintf("a whole number from %d to %d", k.min, k.max)
	case bool:
		return "true or false"
	case []string:
		return "a list of one or more of " + quoted(k.allowed, ", ")
	}
	switch {
	case len(k.allowed) == 1:
		return quoted(k.allowed, "") + ", the only choice in this version"
	case k.allowed != nil:
		return "one of " + quoted(k.allowed, ", ")
	case k.min == 0:
		return fmt.Sprintf("at most %d characters", k.max)
	}
	return fmt.Sprintf("%d to %d characters", k.min, k.max)
}

func (k *key) flagName() string {
	if k.flag != "" {
		return k.flag
	}
	return k.name
}

// checkID accepts any id that can be shown on one line and is not changed by trimming.
func checkID(s string) error {
	switch {
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.TrimSpace(s) != s:
		return errors.New("must not begin or end with white space")
	case strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) >= 0:
		return errors.New("must not have control or invisible characters in it")
	}
	return nil
}

func checkPlatform(s string) error {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return fmt.Errorf("has %q in it, must be 1 to 32 ASCII letters and digits", r)
		}
	}
	return nil
}

// show writes a value as TOML would have it.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		return "[" + quoted(v, ", ") + "]"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = show(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any, []map[string]any:
		return "a table"
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return fmt.Sprint(v)
}

func quoted(list []string, sep string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = strconv.Quote(s)
	}
	return strings.Join(q, sep)
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any, []map[string]any:
		return "a table"
	}
	return "a date or time"
}
