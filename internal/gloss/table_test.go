package gloss

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// word rebuilds word w from its first character and its tail.
func (d *Dict) word(w int) string {
	c := firstHan
	for lo, hi := 0, endHan-firstHan; lo < hi; {
		mid := (lo + hi) / 2
		if d.first.at(mid+1) <= w {
			lo = mid + 1
		} else {
			hi = mid
		}
		c = firstHan + lo
	}
	runes := []rune{rune(c)}
	for i := d.tailAt.at(w); i < d.tailAt.at(w+1); i++ {
		runes = append(runes, rune(d.tail.at(i)))
	}
	return string(runes)
}

func TestTableIsSortedAndEveryWordIsFound(t *testing.T) {
	d := Default()
	n := len(d.cost) / 2
	if n < 100_000 {
		t.Fatalf("%d words", n)
	}
	last := ""
	for w := range n {
		word := d.word(w)
		if word <= last {
			t.Fatalf("word %d %q after %q", w, word, last)
		}
		last = word
		if got := d.lookup(word); got != w {
			t.Fatalf("lookup(%q) = %d, want %d", word, got, w)
		}
		if g := d.glosses(nil, w, 9); len(g) > 3 || slices.ContainsFunc(g, func(s string) bool { return s == "" || strings.ContainsAny(s, "|\n") }) {
			t.Fatalf("%q has glosses %q", word, g)
		}
	}
	for _, s := range []string{"", "㐀㐀", "我喜欢喝咖啡"} {
		if got := d.lookup(s); got != -1 {
			t.Errorf("lookup(%q) = %d, want none", s, got)
		}
	}
}

// The segmentation is the cheapest there is: no random cut of the same text into
// known words and single unknown characters costs less.
func TestSegmentationIsCheapest(t *testing.T) {
	d := Default()
	n := len(d.cost) / 2
	price := func(words []string) (sum int) {
		for _, w := range words {
			if at := d.lookup(w); at >= 0 {
				sum += int(d.cost.at(at))
			} else {
				sum += unknownCost
			}
		}
		return sum
	}
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		for _, w := range rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 20).Draw(t, "words") {
			words = append(words, d.word(w))
		}
		got := d.Segment(strings.Join(words, ""))
		if price(got) > price(words) {
			t.Fatalf("%q costs %d, %q costs %d", got, price(got), words, price(words))
		}
	})
}

func TestParseRefusesDamage(t *testing.T) {
	for _, s := range []string{"", "RGL1", table[:100], table[:len(table)-1], table + "x", "XGL1" + table[4:]} {
		if _, err := parse(s); err == nil {
			t.Errorf("parse accepts %d bytes", len(s))
		}
	}
}
