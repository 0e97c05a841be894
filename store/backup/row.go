package backup

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxLine bounds one row, in bytes: far above the longest that the program writes, and
// small enough to be held in memory several times.
const maxLine = 64 << 20

// odd is a value that does not have the type of its column, to which SQLite holds nobody,
// or is a text that is no UTF-8. A backup keeps what is there, damaged or not.
type odd struct {
	Int  *int64   `json:"int,omitempty"`
	Real *float64 `json:"real,omitempty"`
	Text *string  `json:"text,omitempty"`
	Raw  *[]byte  `json:"raw,omitempty"`  // of a text that is no UTF-8
	Blob *[]byte  `json:"blob,omitempty"` // base64, as encoding/json writes bytes
}

// appendRow appends values as one JSON array with the end of the line.
func appendRow(b []byte, cols []column, values []any) ([]byte, error) {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, cols[i].kind, v); err != nil {
			return nil, fmt.Errorf("column %s: %w", cols[i].name, err)
		}
	}
	return append(b, ']', '\n'), nil
}

func appendValue(b []byte, k kind, v any) ([]byte, error) {
	if flag, ok := v.(bool); ok { // an engine's own type for 0 and 1
		v = int64(0)
		if flag {
			v = int64(1)
		}
	}
	var o odd
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case int64:
		if k == integer {
			return strconv.AppendInt(b, v, 10), nil
		}
		o.Int = &v
	case string:
		valid := utf8.ValidString(v)
		if k == text && valid {
			return appendString(b, v)
		}
		if raw := []byte(v); !valid {
			o.Raw = &raw
		} else {
			o.Text = &v
		}
	case []byte:
		if k == blob {
			b = append(b, '"')
			b = base64.StdEncoding.AppendEncode(b, v)
			return append(b, '"'), nil
		}
		o.Blob = &v
	case float64:
		o.Real = &v
	default:
		return nil, fmt.Errorf("a value of type %T cannot be kept in a backup", v)
	}
	j, err := json.Marshal(o)
	return append(b, j...), err
}

func appendString(b []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] == 0x7f {
			j, err := json.Marshal(s)
			return append(b, j...), err
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"'), nil
}

// parseRow reads a row of as many columns as given.
//
// It takes JSON arrays as appendRow writes them, and blanks between values; a general
// parser takes most of the time of a restore.
func parseRow(line []byte, cols []column, values []any) error {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("["))
	if !ok {
		return errors.New("is no list")
	}
	rest, ok = bytes.CutSuffix(rest, []byte("]"))
	if !ok {
		return errors.New("is no whole list")
	}
	n := 0
	for more := len(bytes.TrimSpace(rest)) > 0; more; n++ {
		var f []byte
		var err error
		if f, rest, more, err = cutValue(rest); err != nil {
			return fmt.Errorf("value %d: %w", n+1, err)
		}
		if n >= len(cols) {
			continue
		}
		if values[n], err = parseValue(f, cols[n]); err != nil {
			return fmt.Errorf("column %s: %w", cols[n].name, err)
		}
	}
	if n != len(cols) {
		return fmt.Errorf("%d values for %d columns", n, len(cols))
	}
	return nil
}

// cutValue cuts the first value off a list without its brackets; more says that a comma
// followed it.
func cutValue(b []byte) (value, rest []byte, more bool, err error) {
	b = bytes.TrimLeft(b, " \t\r\n")
	end := -1
	switch {
	case len(b) == 0:
		return nil, nil, false, errors.New("is missing")
	case b[0] == '"':
		end = stringEnd(b)
	case b[0] == '{': // the odd ones, without objects inside
		for end = 1; end < len(b) && b[end] != '}'; end++ {
			if b[end] == '"' {
				n := stringEnd(b[end:])
				if n < 0 {
					return nil, nil, false, errors.New("does not end")
				}
				end += n - 1
			}
		}
		end++
	default:
		if end = bytes.IndexAny(b, ", \t\r\n"); end < 0 {
			end = len(b)
		}
	}
	if end <= 0 || end > len(b) {
		return nil, nil, false, errors.New("does not end")
	}
	value, rest = b[:end], bytes.TrimLeft(b[end:], " \t\r\n")
	if len(rest) == 0 {
		return value, nil, false, nil
	}
	if rest[0] != ',' {
		return nil, nil, false, errors.New("has something behind it")
	}
	return value, rest[1:], true, nil
}

// stringEnd is the length of the JSON string at the beginning of b with its quotes, -1 if
// it does not end.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for i += n; b[i-1-escapes] == '\\'; escapes++ {
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return -1
}

func parseValue(f []byte, c column) (any, error) {
	switch first := f[0]; {
	case string(f) == "null":
		if !c.null {
			return nil, errors.New("is empty")
		}
		return nil, nil
	case first == '{':
		return parseOdd(f)
	case c.kind == integer:
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil || first == '+' {
			return nil, errors.New("is no whole number of 64 bits")
		}
		return n, nil
	case first != '"':
		return nil, errors.New("is no text")
	case c.kind == blob:
		v, err := base64.StdEncoding.Strict().AppendDecode(make([]byte, 0, len(f)*3/4), f[1:len(f)-1])
		if err != nil {
			return nil, errors.New("is no base64")
		}
		return v, nil
	case !utf8.Valid(f):
		return nil, errors.New("is no UTF-8")
	}
	if plain := f[1 : len(f)-1]; !bytes.ContainsFunc(plain, func(r rune) bool { return r < 0x20 || r == '\\' }) {
		return string(plain), nil
	}
	var s string
	err := json.Unmarshal(f, &s)
	return s, err
}

func parseOdd(f []byte) (any, error) {
	var o odd
	if err := json.Unmarshal(f, &o); err != nil {
		return nil, err
	}
	switch {
	case o.Int != nil:
		return *o.Int, nil
	case o.Real != nil:
		return *o.Real, nil
	case o.Text != nil:
		return *o.Text, nil
	case o.Raw != nil:
		return string(*o.Raw), nil
	case o.Blob != nil:
		return *o.Blob, nil
	}
	return nil, errors.New("is an object of no known type")
}

// parseHeader reads the names of the columns of a table's file.
func parseHeader(line []byte, t table) ([]column, error) {
	var names []string
	if err := json.Unmarshal(line, &names); err != nil {
		return nil, errors.New("has a first line that is no list of columns")
	}
	var cols []column
	for _, name := range names {
		c, ok := t.column(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("has a column %.40q, which this program does not know", name)
		case index(cols, name) >= 0:
			return nil, fmt.Errorf("names column %q twice", name)
		}
		cols = append(cols, c)
	}
	for _, c := range t.cols {
		if index(cols, c.name) < 0 && !c.def && !c.null {
			return nil, fmt.Errorf("lacks the column %q", c.name)
		}
	}
	return cols, nil
}
