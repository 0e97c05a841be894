package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func readLines(t *testing.T, r io.Reader, max int) []line {
	t.Helper()
	lr := newLineReader(r, max)
	var out []line
	for {
		l, err := lr.next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
}

func TestLineReader(t *testing.T) {
	long := `{"pad":"` + strings.Repeat("x", 200000) + `","id":"late"}`
	in := "one\r\n\ntwo\n" + long + "\nthree"
	got := readLines(t, strings.NewReader(in), 100000)
	want := []string{"one", "", "two", "", "three"}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i, l := range got {
		if string(l.data) != want[i] || l.long != (i == 3) {
			t.Errorf("line %d: %q long=%v", i, l.data, l.long)
		}
	}
	if string(got[3].scan.id) != `"late"` || got[3].size != int64(len(long))+1 {
		t.Errorf("long line: id %s, %d bytes", got[3].scan.id, got[3].size)
	}
}

// The limit counts the line without its end, whatever that is.
func TestLineLimitIsExact(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", ""} {
		at := readLines(t, strings.NewReader(strings.Repeat("x", 100)+end), 100)
		if len(at) != 1 || at[0].long || len(at[0].data) != 100 {
			t.Errorf("end %q: a line at the limit: %+v", end, at)
		}
		over := readLines(t, strings.NewReader(strings.Repeat("x", 101)+end+"next"), 100)
		if len(over) == 0 || !over[0].long {
			t.Errorf("end %q: a line over the limit was kept", end)
		}
	}
}

func TestTopScanner(t *testing.T) {
	for _, row := range []struct{ in, id string }{
		{`{"jsonrpc":"2.0","id":7,"method":"x"}`, `7`},
		{`{"params":{"id":1,"x":[{"id":2}]},"id":"a\"b"}`, `"a\"b"`},
		{` { "id" : -1.5e3 , "z" : 1 }`, `-1.5e3`},
		{`{"\u0069d":9}`, `9`},
		{`{"id":null}`, ``},
		{`{"id":{"id":3}}`, ``},
		{`{"id":[3]}`, ``},
		{`[{"id":3}]`, ``},
		{`{"a":"\\","id":4}`, `4`},
		{`{"a":"\"id\":5","id":6}`, `6`},
		{`{"id":1,"id":2}`, `2`},
		{`{"x":"id","y":5}`, ``},
		{`{"id":"` + strings.Repeat("x", maxID) + `"}`, ``},
		{`{"id":8,"broken":tru`, `8`},
		{`{"id":8`, ``}, // it may go on: 8, 80, 81...
		{`id`, ``},
		{``, ``},
	} {
		for _, step := range []int{1, 3, 1 << 20} {
			s := &topScanner{}
			for in := row.in; in != ""; {
				n := min(step, len(in))
				s.feed([]byte(in[:n]))
				in = in[n:]
			}
			if string(s.id) != row.id {
				t.Errorf("%s in steps of %d: id %s, want %s", shorten(row.in, 60), step, s.id, row.id)
			}
		}
	}
}

// Of any valid object the scanner finds the id that a parser finds.
func FuzzTopScanner(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"method":"a"}`, `{"a":{"id":2},"id":"x"}`, `{"id":"é\n"}`, `[1]`, `{"":{},"id":0}`, `{"id":1}`, `{"b":"}","id":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &topScanner{}
		s.feed(data)
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil {
			return
		}
		want := members["id"]
		if !validID(want) || len(want) >= maxID {
			want = nil
		}
		// A parser lets a later member win even if it is no id, the scanner keeps the
		// last that is one; duplicates are no concern.
		if bytes.Count(data, []byte(`"`)) > 0 && strings.Count(string(data), `id`)+strings.Count(string(data), `\u`) > 1 {
			return
		}
		if !bytes.Equal(bytes.TrimSpace(s.id), want) {
			t.Fatalf("%q: id %q, want %q", data, s.id, want)
		}
	})
}

// However the input arrives, the lines are those of the whole.
func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nccc"), 2)
	f.Add([]byte("\n\n\n"), 1)
	f.Add([]byte(strings.Repeat("x", 70000)+"\ny"), 66000)
	f.Fuzz(func(t *testing.T, data []byte, max int) {
		if max < 1 || max > 1<<17 {
			return
		}
		var want []string
		for _, l := range bytes.Split(data, []byte("\n")) {
			want = append(want, string(bytes.TrimRight(l, "\r\n")))
		}
		if len(data) == 0 || data[len(data)-1] == '\n' {
			want = want[:len(want)-1]
		}
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.HalfReader(bytes.NewReader(data))} {
			got := readLines(t, r, max)
			if len(got) != len(want) {
				t.Fatalf("%d lines, want %d", len(got), len(want))
			}
			for i, l := range got {
				if l.long && len(want[i]) <= max && !strings.Contains(string(data), "\r\r") || !l.long && string(l.data) != want[i] {
					t.Fatalf("line %d: %q long=%v, want %q", i, l.data, l.long, want[i])
				}
				if !l.long && len(l.data) > max {
					t.Fatalf("line %d has %d bytes, the limit is %d", i, len(l.data), max)
				}
			}
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"x","params":{"a":[]}}`, `[]`, `5`, `{`, "\ufeff{}", `{"id":{}}`,
		strings.Repeat("[", 300), `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":5}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(bytes.TrimSpace(data)) == 0 {
			return
		}
		m, bad := parseMessage(data)
		if m.id != nil && !validID(m.id) {
			t.Fatalf("%q: id %q", data, m.id)
		}
		if bad == nil && !json.Valid(m.raw) {
			t.Fatalf("%q: accepted as %q", data, m.raw)
		}
		if bad != nil && bad.message == "" {
			t.Fatalf("%q: an error without words", data)
		}
	})
}
