package backup

import (
	"encoding/base64"
	"encoding/json"
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
func parseRow(line []byte, cols []column, values []any) error {
	fields := make([]json.RawMessage, 0, len(cols))
	if err := json.Unmarshal(line, &fields); err != nil {
		return err
	}
	if len(fields) != len(cols) {
		return fmt.Errorf("%d values for %d columns", len(fields), len(cols))
	}
	for i, f := range fields {
		var err error
		if values[i], err = parseValue(f, cols[i]); err != nil {
			return fmt.Errorf("column %s: %w", cols[i].name, err)
		}
	}
	return nil
}

func parseValue(f json.RawMessage, c column) (any, error) {
	switch first := f[0]; {
	case first == 'n':
		if !c.null {
			return nil, fmt.Errorf("is empty")
		}
		return nil, nil
	case first == '{':
		return parseOdd(f)
	case c.kind == integer:
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("is no whole number of 64 bits")
		}
		return n, nil
	case first != '"':
		return nil, fmt.Errorf("is no text")
	case c.kind == blob:
		v, err := base64.StdEncoding.Strict().AppendDecode(make([]byte, 0, len(f)*3/4), f[1:len(f)-1])
		if err != nil {
			return nil, fmt.Errorf("is no base64")
		}
		return v, nil
	}
	if !utf8.Valid(f) {
		return nil, fmt.Errorf("is no UTF-8")
	}
	var s string
	err := json.Unmarshal(f, &s)
	return s, err
}

func parseOdd(f json.RawMessage) (any, error) {
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
	return nil, fmt.Errorf("is an object of no known type")
}

// parseHeader reads the names of the columns of a table's file.
func parseHeader(line []byte, t table) ([]column, error) {
	var names []string
	if err := json.Unmarshal(line, &names); err != nil {
		return nil, fmt.Errorf("the first line is no list of columns")
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
