package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each file of testdata/protocol is a conversation with a fresh server:
//
//	# what it is about
//	> a line to the server, or, in Go quotes, bytes that are no text
//	< what comes back
//
// A line after which nothing comes back is proved by what the next ping brings. With
// -update the answers are written anew. Ids and times of memories are masked.
func TestProtocol(t *testing.T) {
	files, err := filepath.Glob("testdata/protocol/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := newHome(t, setup{}).serve(t)
			var out strings.Builder
			n := 0
			for l := range strings.Lines(strings.ReplaceAll(string(data), "\r\n", "\n")) {
				l = strings.TrimSuffix(l, "\n")
				if strings.HasPrefix(l, "< ") {
					continue
				}
				out.WriteString(l + "\n")
				in, ok := strings.CutPrefix(l, "> ")
				if !ok {
					continue
				}
				if raw, err := strconv.Unquote(in); err == nil {
					in = raw
				}
				in = strings.ReplaceAll(in, "@deep", strings.Repeat(`{"a":`, 200)+"1"+strings.Repeat("}", 200))
				c.send(in)
				for _, got := range c.until(in, &n) {
					out.WriteString("< " + mask(got) + "\n")
				}
			}
			golden(t, "protocol/"+filepath.Base(file), out.String())
		})
	}
}

// until collects what the server says to a line: one answer to a request, and to all else
// what comes before the answer to a ping, which is given in order.
func (c *client) until(in string, n *int) []string {
	c.t.Helper()
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(strings.TrimPrefix(in, "\ufeff")), &m) == nil && m["id"] != nil && m["method"] != nil {
		return []string{<-c.lines}
	}
	*n++
	id := "sync-" + strconv.Itoa(*n)
	c.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"ping"}`)
	var out []string
	for l := range c.lines {
		if strings.Contains(l, `"id":"`+id+`"`) {
			break
		}
		out = append(out, l)
	}
	return out
}

var masks = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d (low|medium|high)`), "DAY $1"},
	{regexp.MustCompile(`"instructions":"[^"]*"`), `"instructions":"..."`},
}

func mask(s string) string {
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.to)
	}
	return s
}
