package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode"
)

// entry is one line of CC-CEDICT.
type entry struct {
	traditional, simplified, pinyin string
	senses                          []string
}

// buildDictionary makes the table that internal/gloss reads.
func buildDictionary(in sources, vocab []piece) ([]byte, error) {
	entries, err := readCedict(in.cedict)
	if err != nil {
		return nil, err
	}
	frequency, err := readFrequencies(in.jieba)
	if err != nil {
		return nil, err
	}
	rarity := wordRarity(vocab)
	bySimplified := map[string][]entry{}
	for _, e := range entries {
		if isWord(e.simplified) {
			bySimplified[e.simplified] = append(bySimplified[e.simplified], e)
		}
	}
	glosses := map[string][]string{}
	for word, es := range bySimplified {
		if best := rank(candidates(es, rarity)); len(best) > 0 {
			glosses[word] = best
		}
	}
	if err := override(glosses, in.overrides); err != nil {
		return nil, err
	}
	var total float64
	for _, n := range frequency {
		total += n
	}
	cost := func(word string) uint16 {
		n := frequency[word]
		if n == 0 {
			n = 3 // as rare as the rarest words that were counted
		}
		return uint16(math.RoundToEven(-100 * math.Log(n/total)))
	}
	return encodeTable(glosses, cost, simplifications(entries)), nil
}

// readCedict reads the JSON of the npm package, an array of arrays: traditional,
// simplified, pinyin, senses (one string or several), and more that is not used.
func readCedict(path string) ([]entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	from, to := bytes.IndexByte(data, '{'), bytes.LastIndexByte(data, '}')
	if from < 0 || to < from {
		return nil, fmt.Errorf("%s: no JSON object", path)
	}
	var file struct {
		All [][]json.RawMessage `json:"all"`
	}
	if err := json.Unmarshal(data[from:to+1], &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	entries := make([]entry, 0, len(file.All))
	for i, row := range file.All {
		if len(row) < 4 {
			return nil, fmt.Errorf("%s: entry %d has %d fields", path, i, len(row))
		}
		var e entry
		for j, to := range []*string{&e.traditional, &e.simplified, &e.pinyin} {
			if err := json.Unmarshal(row[j], to); err != nil {
				return nil, fmt.Errorf("%s: entry %d: %w", path, i, err)
			}
		}
		if row[3][0] == '"' {
			e.senses = make([]string, 1)
			err = json.Unmarshal(row[3], &e.senses[0])
		} else {
			err = json.Unmarshal(row[3], &e.senses)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", path, i, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// readFrequencies reads lines "word count tag".
func readFrequencies(path string) (map[string]float64, error) {
	counts := map[string]float64{}
	err := eachLine(path, func(line string) error {
		f := strings.Fields(line)
		if len(f) < 2 {
			return fmt.Errorf("line %q", line)
		}
		n, err := strconv.Atoi(f[1])
		counts[f[0]] = float64(n)
		return err
	})
	return counts, err
}

// override replaces glosses by those of a file with lines "word TAB gloss|gloss".
// Without glosses a word is known but says nothing, like 的.
func override(glosses map[string][]string, path string) error {
	return eachLine(path, func(line string) error {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			return nil
		}
		word, list, _ := strings.Cut(line, "\t")
		if !isWord(word) {
			return fmt.Errorf("%q is not one to %d Chinese characters", word, maxWord)
		}
		best := []string{}
		for _, g := range strings.Split(list, "|") {
			if g != "" {
				best = append(best, g)
			}
		}
		glosses[word] = best
		return nil
	})
}

func eachLine(path string, do func(line string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if err := do(lines.Text()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return lines.Err()
}

// simplifications maps each traditional character to the simplified one that
// stands in its place most often; the first seen wins a tie.
func simplifications(entries []entry) map[rune]rune {
	type tally struct {
		order []rune
		count map[rune]int
	}
	seen := map[rune]*tally{}
	for _, e := range entries {
		from, to := []rune(e.traditional), []rune(e.simplified)
		if len(from) != len(to) {
			continue
		}
		for i, r := range from {
			if !isHan(r) {
				continue
			}
			t := seen[r]
			if t == nil {
				t = &tally{count: map[rune]int{}}
				seen[r] = t
			}
			if t.count[to[i]] == 0 {
				t.order = append(t.order, to[i])
			}
			t.count[to[i]]++
		}
	}
	simple := map[rune]rune{}
	for r, t := range seen {
		best := t.order[0]
		for _, c := range t.order {
			if t.count[c] > t.count[best] {
				best = c
			}
		}
		if best != r && isHan(best) {
			simple[r] = best
		}
	}
	return simple
}

const (
	firstHan = 0x3400
	endHan   = 0xa000
	maxWord  = 8
)

func isHan(r rune) bool { return r >= firstHan && r < endHan }

// isWord reports whether s can be a word of the table: one to eight Han characters.
func isWord(s string) bool {
	n := 0
	for _, r := range s {
		if !isHan(r) {
			return false
		}
		n++
	}
	return n >= 1 && n <= maxWord
}

func startsUpper(s string) bool {
	for _, r := range s {
		return unicode.IsUpper(r)
	}
	return false
}
