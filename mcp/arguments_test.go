package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var testParams = []param{
	{name: "query", kind: text, required: true, max: 8000},
	{name: "top_k", kind: whole, min: 1, max: 50, preset: 5},
	{name: "importance", kind: text, enum: grades},
	{name: "tags", kind: list, max: 32, each: 64},
	{name: "private", kind: flag},
	{name: "body", kind: text, empty: true},
	{name: "version", kind: whole},
}

func TestDecodeArguments(t *testing.T) {
	for _, row := range []struct {
		name, raw string
		want      arguments
		err       string
	}{
		{"all", `{"query":"a","top_k":7,"importance":"low","tags":["x","y"],"private":true}`,
			arguments{"query": "a", "top_k": int64(7), "importance": "low", "tags": []string{"x", "y"}, "private": true}, ""},
		{"null and empty are unset", `{"query":"a","top_k":null,"importance":"","tags":null,"private":null}`, arguments{"query": "a"}, ""},
		{"empty string for any optional kind", `{"query":"a","top_k":"","tags":"","private":""}`, arguments{"query": "a"}, ""},
		{"empty list is given", `{"query":"a","tags":[]}`, arguments{"query": "a", "tags": []string{}}, ""},
		{"whole as float", `{"query":"a","top_k":5.0}`, arguments{"query": "a", "top_k": int64(5)}, ""},
		{"whole as exponent", `{"query":"a","top_k":5e0}`, arguments{"query": "a", "top_k": int64(5)}, ""},
		{"false is given", `{"query":"a","private":false}`, arguments{"query": "a", "private": false}, ""},
		{"fraction", `{"query":"a","top_k":5.5}`, nil, "top_k must be a whole number from 1 to 50, not 5.5"},
		{"string for number", `{"query":"a","top_k":"5"}`, nil, `top_k must be a whole number from 1 to 50, not the string "5"`},
		{"zero", `{"query":"a","top_k":0}`, nil, "top_k must be a whole number from 1 to 50, not 0"},
		{"negative", `{"query":"a","top_k":-1}`, nil, "top_k must be a whole number from 1 to 50, not -1"},
		{"million", `{"query":"a","top_k":1000000}`, nil, "from 1 to 50, not 1000000"},
		{"1e9", `{"query":"a","top_k":1e9}`, nil, "from 1 to 50, not 1e9"},
		{"1e999", `{"query":"a","top_k":1e999}`, nil, "from 1 to 50, not 1e999"},
		{"-1e999", `{"query":"a","top_k":-1e999}`, nil, "from 1 to 50, not -1e999"},
		{"no upper limit", `{"query":"a","version":-1}`, nil, "version must be a whole number, 0 or more, not -1"},
		{"enum", `{"query":"a","importance":"urgent"}`, nil, `importance must be one of low, medium, high, not the string "urgent"`},
		{"number for enum", `{"query":"a","importance":1}`, nil, "importance must be one of low, medium, high, not 1"},
		{"tags as object", `{"query":"a","tags":{"$in":["x"]}}`, nil, `tags must be an array of strings, such as ["travel","food"], not an object`},
		{"tags as string", `{"query":"a","tags":"x,y"}`, nil, `not the string "x,y"`},
		{"tag of a wrong type", `{"query":"a","tags":["x",{"$ne":1}]}`, nil, "item 2 is an object"},
		{"null tag", `{"query":"a","tags":[null]}`, nil, "item 1 is null"},
		{"number for text", `{"query":5}`, nil, "query must be a string of at most 8,000 characters, not 5"},
		{"object for text", `{"query":{"$ne":""}}`, nil, "not an object"},
		{"string for flag", `{"query":"a","private":"yes"}`, nil, `private must be true or false, not the string "yes"`},
		{"missing", `{}`, nil, "query is missing; give a string of at most 8,000 characters"},
		{"required null", `{"query":null}`, nil, "query is missing"},
		{"required empty", `{"query":""}`, nil, "query is empty; give a string"},
		{"absent", ``, nil, "query is missing"},
		{"null arguments", `null`, nil, "query is missing"},
		{"array", `["a"]`, nil, "arguments must be an object, not an array"},
		{"string", `"a"`, nil, `arguments must be an object, not the string "a"`},
		{"unknown with a hint", `{"query":"a","topk":5}`, nil, `unknown argument "topk"; did you mean top_k? allowed: query, top_k, importance`},
		{"unknown without", `{"query":"a","user_id":"bob"}`, nil, `unknown argument "user_id"; allowed: query, top_k`},
		{"case", `{"Query":"a"}`, nil, `unknown argument "Query"; did you mean query?`},
		{"twice", `{"query":"a","query":"b"}`, nil, "query is given twice"},
		{"twice unset", `{"query":null,"query":"b"}`, nil, "query is given twice"},
		{"lone surrogate", `{"query":"\ud83d"}`, nil, `contain \ud83d, half of a surrogate pair`},
		{"lone surrogate in a tag", `{"query":"a","tags":["\udc00"]}`, nil, `\udc00`},
		{"pair", `{"query":"\ud83d\ude00"}`, arguments{"query": "😀"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := decodeArguments(json.RawMessage(row.raw), testParams)
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Fatalf("error %v, want %q", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A required text that may be empty is the way to clear something; absence is not.
func TestRequiredMayBeEmpty(t *testing.T) {
	params := []param{{name: "content", kind: text, required: true, empty: true}}
	if a, err := decodeArguments([]byte(`{"content":""}`), params); err != nil || !a.has("content") {
		t.Errorf("empty: %v, %v", a, err)
	}
	for _, raw := range []string{`{}`, `{"content":null}`} {
		if _, err := decodeArguments([]byte(raw), params); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
}

func TestNearest(t *testing.T) {
	allowed := []string{"content", "tags", "importance", "scope"}
	for in, want := range map[string]string{
		"contents": "content", "Tag": "tags", "importence": "importance", "scopes": "scope", "metadata": "", "": "", "id": "",
	} {
		if got := nearest(in, allowed); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 4194304: "4,194,304", -1234: "-1,234", -123: "-123"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzDecodeArguments(f *testing.F) {
	for _, s := range []string{
		`{"query":"a","top_k":7,"tags":["x"]}`, `{"query":"\ud800"}`, `{"query":`, `[]`, `{"a":{"b":[1,2,{}]}}`, `{"top_k":1e400}`,
		`{"query":"a","tags":[[]]}`, `{"":""}`, "{\"query\":\"\xff\"}", `nul`, `{"query":"a"} {"query":"b"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := decodeArguments(json.RawMessage(raw), testParams)
		if err != nil {
			var own *argumentError
			if !errors.As(err, &own) || !utf8.ValidString(strings.ToValidUTF8(err.Error(), "")) {
				t.Fatalf("%q: %v", raw, err)
			}
			if len(err.Error()) > 1000 {
				t.Fatalf("%q: a long error: %d bytes", raw, len(err.Error()))
			}
			return
		}
		// What was accepted is within the limits and is accepted again as written.
		if k, ok := a["top_k"].(int64); ok && (k < 1 || k > 50) {
			t.Fatalf("%q: top_k %d", raw, k)
		}
		again, err := decodeArguments(json.RawMessage(mustJSON(a)), testParams)
		if err != nil {
			t.Fatalf("%q: accepted as %v, which is refused: %v", raw, a, err)
		}
		if diff := cmp.Diff(a, again); diff != "" {
			t.Fatalf("%q: %s", raw, diff)
		}
	})
}
