package evalset_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/evalset"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	garden = `{"corpus":"a","id":"1","text":"roses by the gate"}
{"corpus":"a","id":"2","text":"tulips in pots"}
{"corpus":"b","id":"1","text":"a pear tree"}
{"corpus":"*","id":"9","text":"the shed is locked"}
`
	jardin = `{"corpus":"a","id":"1","text":"des roses"}
{"corpus":"a","id":"2","text":"des tulipes"}
{"corpus":"b","id":"1","text":"un poirier"}
`
	questions = `{"corpus":"a","qid":"q1","query":"which flowers grow in pots","gold":["2"],"category":"plain","lang":"en"}
{"corpus":"b","qid":"q2","query":"what tree","gold":["1"],"category":"plain"}
`
)

func TestLoadPairs(t *testing.T) {
	dir := write(t, map[string]string{
		"garden_en_corpus.jsonl":       garden,
		"garden_fr_corpus.jsonl":       jardin,
		"garden_en_dev_queries.jsonl":  questions,
		"kitchen_corpus.jsonl":         strings.ReplaceAll(garden, "roses", "spoons"),
		"kitchen_fr2en_queries.jsonl":  `{"corpus":"a","qid":"k","query":"où","gold":["9"]}`,
		"README.md":                    "not data",
		"garden_en_dev_queries.backup": "not data either",
	})
	sets, err := evalset.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sets {
		got = append(got, s.Name)
	}
	want := []string{"garden_en_dev", "garden_en_dev on garden_fr", "kitchen_fr2en"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	if n := len(sets[0].Pool("a")); n != 3 {
		t.Errorf("pool a has %d texts, want 3 with the one of every pool", n)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no queries", map[string]string{"x_corpus.jsonl": garden}, "no *_queries.jsonl"},
		{"no corpus", map[string]string{"x_queries.jsonl": questions}, "x_queries.jsonl has no corpus"},
		{"other ids", map[string]string{
			"x_corpus.jsonl":  garden,
			"x_queries.jsonl": `{"corpus":"a","qid":"q","query":"?","gold":["77"]}`,
		}, "has no corpus"},
		{"broken line", map[string]string{"x_corpus.jsonl": garden + "{\"corpus\":\"a\"", "x_queries.jsonl": questions}, "x_corpus.jsonl:5:"},
		{"missing id", map[string]string{"x_corpus.jsonl": "\n" + `{"corpus":"a","text":"t"}`, "x_queries.jsonl": questions}, "x_corpus.jsonl:2: bad evaluation data: id is missing"},
		{"same id", map[string]string{"x_corpus.jsonl": garden + garden, "x_queries.jsonl": questions}, "on line 1 already"},
		{"missing gold", map[string]string{"x_corpus.jsonl": garden, "x_queries.jsonl": `{"corpus":"a","qid":"q","query":"t"}`}, "x_queries.jsonl:1: bad evaluation data: gold is missing"},
		{"empty", map[string]string{"x_corpus.jsonl": "", "x_queries.jsonl": questions}, "no lines"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := evalset.Load(write(t, test.files))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to say %q", err, test.want)
			}
		})
	}
	_, err := evalset.ReadDocs(strings.NewReader("null\n"), "x")
	if !errors.Is(err, evalset.ErrFormat) {
		t.Errorf("error %v does not wrap ErrFormat", err)
	}
}

func TestDoc(t *testing.T) {
	for _, test := range []struct {
		doc          evalset.Doc
		conversation string
		when         string
	}{
		{evalset.Doc{ID: "D3:7", Time: "1:56 pm on 8 May, 2023"}, "D3", "2023-05-08T13:56:00Z"},
		{evalset.Doc{ID: "12", Time: "2023-04-27", UserText: "hello"}, "2023-04-27", "2023-04-27T00:00:00Z"},
		{evalset.Doc{ID: "12", Time: "2023-04-27"}, "", "2023-04-27T00:00:00Z"},
		{evalset.Doc{ID: "12", Time: "soon"}, "", "0001-01-01T00:00:00Z"},
	} {
		if got := test.doc.Conversation(); got != test.conversation {
			t.Errorf("conversation of %+v = %q, want %q", test.doc, got, test.conversation)
		}
		if got := test.doc.When().Format(time.RFC3339); got != test.when {
			t.Errorf("time of %+v = %s, want %s", test.doc, got, test.when)
		}
	}
}

// scripted answers with fixed ids and notes what it was given.
type scripted struct {
	answers map[string][]string
	loads   [][]string
}

func (s *scripted) Load(_ context.Context, docs []evalset.Doc) error {
	var ids []string
	for _, d := range docs {
		ids = append(ids, d.ID)
	}
	s.loads = append(s.loads, ids)
	return nil
}

func (s *scripted) Search(_ context.Context, query string, k int) (evalset.Answer, error) {
	ids, ok := s.answers[query]
	if !ok {
		return evalset.Answer{}, errors.New("unknown question")
	}
	return evalset.Answer{IDs: ids, Tokens: 10 * len(ids), Latency: time.Duration(len(ids)) * time.Millisecond}, nil
}

func TestRun(t *testing.T) {
	doc := func(pool, id, text string) evalset.Doc { return evalset.Doc{Corpus: pool, ID: id, Text: text} }
	set := evalset.Set{
		Name: "s",
		Docs: []evalset.Doc{
			doc("a", "1", "one"), doc("a", "2", "two"), doc("a", "3", "three"), doc("a", "4", "two"), doc("b", "1", "other"),
		},
		Queries: []evalset.Query{
			{Corpus: "a", Text: "first", Gold: []string{"1"}, Category: "x"},
			{Corpus: "a", Text: "second", Gold: []string{"1", "3", "gone"}, Category: "x"},
			{Corpus: "a", Text: "twin", Gold: []string{"4"}, Category: "y"}, // kept only as 2
			{Corpus: "a", Text: "never", Gold: []string{"3"}, Category: "y"},
			{Corpus: "a", Text: "nothing there", Gold: []string{"gone"}, Category: "y"},
			{Corpus: "b", Text: "trap", Gold: []string{"1"}, Category: "adversarial"},
		},
	}
	r := &scripted{answers: map[string][]string{
		"first": {"1"}, "second": {"2", "1", "2", "2", "2", "3"}, "twin": {"1", "1", "1", "2"}, "never": {},
	}}
	got, err := evalset.Run(t.Context(), set, r, evalset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"1", "2", "3", "4"}}, r.loads); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
	want := evalset.Report{
		Set: "s", Left: 2,
		All: evalset.Scores{
			Queries: 4, Any: []float64{.25, .5, .75, .75}, Every: []float64{.25, .25, .5, .75},
			Recall: []float64{.25, .375, .625, .75}, MRR: (1 + 1.0/2 + 1.0/4) / 4, Tokens: 27.5,
			P50: time.Millisecond, P95: 6 * time.Millisecond,
		},
		Categories: []evalset.Scores{
			{
				Name: "x", Queries: 2, Any: []float64{.5, 1, 1, 1}, Every: []float64{.5, .5, .5, 1},
				Recall: []float64{.5, .75, .75, 1}, MRR: .75, Tokens: 35, P50: time.Millisecond, P95: 6 * time.Millisecond,
			},
			{
				Name: "y", Queries: 2, Any: []float64{0, 0, .5, .5}, Every: []float64{0, 0, .5, .5},
				Recall: []float64{0, 0, .5, .5}, MRR: .125, Tokens: 20, P50: 0, P95: 4 * time.Millisecond,
			},
		},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, got, near, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".results" }, cmp.Ignore())); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if s := got.All.String(); s != "75.0 / 75.0 / 43.8" {
		t.Errorf("scores read %q", s)
	}
	set.Queries[0].Text = "?"
	if _, err := evalset.Run(t.Context(), set, r, evalset.Options{}); err == nil || !strings.Contains(err.Error(), "unknown question") {
		t.Errorf("error %v, want that of the search", err)
	}
}

func FuzzReadDocs(f *testing.F) {
	f.Add(garden)
	f.Add("{}\n\x00")
	f.Fuzz(func(t *testing.T, data string) {
		docs, err := evalset.ReadDocs(strings.NewReader(data), "f")
		if err == nil && len(docs) == 0 {
			t.Error("neither texts nor an error")
		}
		for _, d := range docs {
			if d.ID == "" || d.Corpus == "" {
				t.Errorf("accepted %+v", d)
			}
		}
	})
}
