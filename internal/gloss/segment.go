package gloss

import "unicode/utf8"

// unknownCost is the cost of a character the table does not know: a little
// more than that of its rarest words.
const unknownCost = 1790

// IsHan reports whether r is a Chinese character as this package knows them:
// the basic plane's unified ideographs and their first extension.
func IsHan(r rune) bool { return r >= firstHan && r < endHan }

// HasHan reports whether s holds at least one Chinese character.
func HasHan(s string) bool {
	for _, r := range s {
		if IsHan(r) {
			return true
		}
	}
	return false
}

// Segment cuts a run of simplified Chinese characters into the most probable
// words; joined they are the input again. Anything that is not a run of
// [IsHan] characters comes back in pieces of its own, uncut. Time and memory
// grow linearly with the input.
func (d *Dict) Segment(han string) []string {
	var words []string
	runs(han, func(run string) {
		d.segment(run, func(word string, _ int) bool {
			words = append(words, word)
			return true
		})
	}, func(other string) { words = append(words, other) })
	return words
}

// chunk bounds the characters segmented at once, and so the scratch memory.
// Only a run without any punctuation is longer; cutting a word there is harmless.
const chunk = 1024

// segment yields the words of a run of Han characters with their index in the
// table, or -1, until yield returns false. It reports whether it reached the end.
func (d *Dict) segment(run string, yield func(word string, index int) bool) bool {
	var s scratch
	for len(run) > chunk*hanBytes {
		if !s.segment(d, run[:chunk*hanBytes], yield) {
			return false
		}
		run = run[chunk*hanBytes:]
	}
	return s.segment(d, run, yield)
}

// step is the best known way to reach a position: by a word of so many
// characters, at the sum of the costs so far.
type step struct {
	cost   int32
	word   int32
	length int32
}

type scratch struct {
	steps []step
	short [64]step
}

// segment finds the cheapest chain of words by dynamic programming from left to right.
func (s *scratch) segment(d *Dict, run string, yield func(string, int) bool) bool {
	n := len(run) / hanBytes
	if s.steps == nil {
		s.steps = s.short[:]
	}
	if n+1 > len(s.steps) {
		s.steps = make([]step, n+1)
	}
	steps := s.steps[:n+1]
	clear(steps)
	for i := range n {
		here := steps[i].cost
		reach := func(length, word int, cost int32) {
			if to := &steps[i+length]; to.length == 0 || here+cost < to.cost {
				*to = step{here + cost, int32(word), int32(length)}
			}
		}
		known := false
		d.match(run, i*hanBytes, func(length, word int) {
			known = known || length == 1
			reach(length, word, int32(d.cost.at(word)))
		})
		if !known {
			reach(1, -1, unknownCost)
		}
	}
	// Turn the chain around in place: each step then names the one after it.
	at, next := n, step{}
	for at > 0 {
		s := steps[at]
		steps[at] = next
		at -= int(s.length)
		next = s
	}
	steps[0] = next
	for at < n {
		s := steps[at]
		end := at + int(s.length)
		if !yield(run[at*hanBytes:end*hanBytes], int(s.word)) {
			return false
		}
		at = end
	}
	return true
}

// runs cuts s into maximal runs of Han characters and of anything else.
func runs(s string, han, other func(string)) {
	from, inHan := 0, false
	cut := func(to int) {
		switch {
		case from == to:
		case inHan:
			han(s[from:to])
		default:
			other(s[from:to])
		}
		from = to
	}
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if IsHan(r) != inHan {
			cut(i)
			inHan = !inHan
		}
		i += size
	}
	cut(len(s))
}
