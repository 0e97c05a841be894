package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"to carry (a load (heavy)) for sb": "to carry for somebody",
		"sth red, etc.":                    "something red",
		"see 貓|猫[mao1]":                    "see 貓 猫",
		"(only a remark)":                  "",
		"…and so on ~!":                    "and so on",
		"sobbing":                          "sobbing",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGlosses(t *testing.T) {
	rarity := map[string]float64{"cat": 5, "animal": 6, "puss": 14, "kept": 6, "at": 3, "home": 4, "by": 3, "people": 4}
	tests := []struct {
		name    string
		entries []entry
		want    []string
	}{
		{"nothing", nil, nil},
		{"one", []entry{{pinyin: "mao1", senses: []string{"a cat"}}}, []string{"cat"}},
		{"names come last", []entry{{pinyin: "Mao1", senses: []string{"Animal"}}, {pinyin: "mao1", senses: []string{"cat"}}}, []string{"cat", "animal"}},
		{"rare words come late", []entry{{senses: []string{"puss; cat"}}}, []string{"cat", "puss"}},
		{"remarks are none", []entry{{senses: []string{"variant of 猫", "CL:隻", "surname Cat", "(bound form) cat"}}}, []string{"cat"}},
		{"three at most, each once", []entry{{senses: []string{"cat", "cat", "animal", "home", "people"}}}, []string{"cat", "home", "animal"}},
		{"a definition is cut", []entry{{senses: []string{"an animal kept at home by people at home by people"}}}, []string{"animal kept at home by people at home"}},
		{"no English", []entry{{senses: []string{"猫"}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rank(candidates(tt.entries, rarity))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSimplifications(t *testing.T) {
	got := simplifications([]entry{
		{traditional: "長城", simplified: "长城"},
		{traditional: "乾淨", simplified: "干净"},
		{traditional: "乾坤", simplified: "乾坤"},
		{traditional: "乾燥", simplified: "干燥"},
		{traditional: "AB長", simplified: "长"},
	})
	want := map[rune]rune{'長': '长', '乾': '干', '淨': '净'}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQuantizeColumns(t *testing.T) {
	scale, q := quantizeColumns(tensor{rows: 2, cols: 2, data: []float32{1, -4, .5, 0}})
	if diff := cmp.Diff([]int8{127, -127, 64, 0}, q); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	if scale[0] != 1/float32(127) || scale[1] != 4/float32(127) {
		t.Errorf("scales %v", scale)
	}
	scale, q = quantizeRows(tensor{rows: 2, cols: 2, data: []float32{0, 0, .5, -1}})
	if diff := cmp.Diff([]int8{0, 0, 64, -127}, q); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	for _, s := range scale {
		if !(s > 0) || math.IsInf(float64(s), 0) {
			t.Errorf("scales %v", scale)
		}
	}
}

func TestTrie(t *testing.T) {
	vocab := make([]piece, reserved)
	for _, s := range []string{"b", "ab", "a", "abc", "ab"} {
		vocab = append(vocab, piece{text: s, score: -1})
	}
	got := buildTrie(vocab)
	want := trie{
		label: []byte{0, 'a', 'b', 'b', 'c'},
		first: []uint32{1, 3, 4, 4, 5, 5},
		piece: []uint16{0, 8, 6, 10, 9}, // of the two ab the last
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(trie{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same small sources give the same table twice, whatever order maps have.
func TestDictionaryIsReproducible(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	entries := [][]any{
		{"貓", "猫", "mao1", []string{"cat"}, nil}, {"狗", "狗", "gou3", "dog", nil},
		{"貓狗", "猫狗", "mao1 gou3", "pets", nil}, {"C盤", "C盘", "pan2", "drive", nil},
	}
	data, err := json.Marshal(map[string]any{"all": entries})
	if err != nil {
		t.Fatal(err)
	}
	in := sources{
		cedict:    write("all.js", "export default "+string(data)+";"),
		jieba:     write("dict.txt", "猫 5 n\n狗 3 n\n"),
		overrides: write("overrides.tsv", "# comment\n\n的\t\n狗\thound|dog\n"),
	}
	first, err := buildDictionary(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := buildDictionary(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, again) {
			t.Fatal("another table")
		}
	}
	if !bytes.Contains(first, []byte("hound|dog\n")) || !bytes.Contains(first, []byte("pets\n")) || bytes.Contains(first, []byte("drive")) {
		t.Errorf("table ends in %q", first[len(first)-40:])
	}
	in.overrides = write("bad.tsv", "abc\tletters\n")
	if _, err := buildDictionary(in, nil); err == nil {
		t.Error("an override of no Chinese word is accepted")
	}
}
