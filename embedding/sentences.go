package embedding

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"reverie/internal/gloss"
)

// A passage's size is measured by what it costs: hundredths of a token of a
// common model, as estimated from its characters. English words cost about 1.5.
//
// Models read more than a full passage, but in one vector for 240 words a single
// sentence was as good as lost: in the tests with the built-in model's vectors, it lifted the
// similarity of its passage by .01, and by .02 to .03 with 120 words.
const (
	fullCost     = 180_00 // of a passage: some 120 words or 180 Chinese characters
	leastPassage = 12_00  // smaller ones are not divided, whatever the server says; nor is a character with its marks
	overlapCost  = 20_00  // that a passage repeats when the one before stopped inside a sentence
)

// passageCost is the size of passages for a model that reads so many tokens (0:
// not known), of which the prefix takes some. A quarter stays free: the
// estimate is rough, and other scripts cost more.
func passageCost(tokens, prefix int) int {
	if tokens <= 0 || tokens > 1<<20 {
		return fullCost
	}
	return min(max(tokens*75-prefix, leastPassage), fullCost)
}

// cost estimates the size of a text.
func cost(text string) (sum int) {
	for _, r := range text {
		sum += runeCost(r)
	}
	return sum
}

func runeCost(r rune) int {
	switch {
	case 'a' <= r|0x20 && r|0x20 <= 'z':
		return 28
	case r == ' ':
		return 12
	case '0' <= r && r <= '9':
		return 60
	case r < utf8.RuneSelf:
		return 70
	case gloss.IsHan(r), 0x3040 <= r && r <= 0x30ff, 0xac00 <= r && r <= 0xd7a3:
		return 100
	case unicode.IsLetter(r), unicode.IsMark(r):
		return 50
	}
	return 150
}

// readable makes a text fit to be sent, "" if nothing in it can be read:
// without invalid bytes, control characters, and long runs of blanks.
func readable(text string) string {
	if !hasReadable(text) {
		return ""
	}
	var b strings.Builder
	b.Grow(len(text))
	blank, newline := false, false
	for _, r := range strings.ToValidUTF8(text, " ") {
		switch {
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			newline = true
		case unicode.IsSpace(r) || unicode.IsControl(r):
			blank = true
		default:
			switch {
			case b.Len() == 0:
			case newline:
				b.WriteByte('\n')
			case blank:
				b.WriteByte(' ')
			}
			blank, newline = false, false
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hasReadable reports whether a text has a letter, a digit or a pictogram.
func hasReadable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.So, r))
	})
}

// cluster is a character as a person sees it, with all its marks.
type cluster struct {
	end            int // its last byte's position in the text, plus 1
	spent          int // what the text costs up to there
	sentence, word bool
}

// clusters divides a text into characters and says what ends after each.
func clusters(text string) []cluster {
	var out []cluster
	state, end, spent := -1, 0, 0
	for rest := text; rest != ""; {
		var c string
		var ends int
		c, rest, ends, state = uniseg.StepString(rest, state)
		from := spent
		for _, r := range c {
			if spent+runeCost(r)-from > leastPassage { // nothing a person wrote
				out = append(out, cluster{end: end, spent: spent})
				from = spent
			}
			end += utf8.RuneLen(r)
			spent += runeCost(r)
		}
		out = append(out, cluster{end, spent, ends&uniseg.MaskSentence != 0, ends&uniseg.MaskWord != 0})
	}
	return out
}

// passages cuts a readable text into parts that cost no more than most. Parts
// with nothing to read are dropped.
func passages(text string, most int) (parts []string) {
	if cost(text) <= most {
		if hasReadable(text) {
			parts = []string{text}
		}
		return parts
	}
	for _, s := range divideText(text, most) {
		if part := strings.TrimSpace(text[s.from:s.to]); hasReadable(part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// divideText cuts a text into parts of like size: at the end of a sentence if
// there is one in their last part, else between words, else between characters.
// When it had to cut inside a sentence the next part repeats some words. Every
// byte is in a part.
func divideText(text string, most int) (parts []span) {
	all := clusters(text)
	for from, done := 0, 0; from < len(all); {
		start, spent := 0, 0
		if from > 0 {
			start, spent = all[from-1].end, all[from-1].spent
		}
		left := all[len(all)-1].spent - spent
		if left <= most {
			return append(parts, span{start, len(text)})
		}
		count := (left + most - 1) / most
		to, sentence := closingCluster(all, from, spent, min((left+count-1)/count+overlapCost/2, most))
		if to <= done { // the repeated words and a character too large for both
			from = done
			continue
		}
		parts = append(parts, span{start, all[to-1].end})
		from, done = to, to
		if !sentence {
			from = wordBefore(all, to, min(overlapCost, most/4))
		}
	}
	return parts
}

// closingCluster finds where a part that begins at from and costs at most size
// ends best, and whether a sentence ends there too.
func closingCluster(all []cluster, from, spent, size int) (to int, sentence bool) {
	to, _ = slices.BinarySearchFunc(all[from:], spent+size+1, func(c cluster, limit int) int { return c.spent - limit })
	to = max(from+to, from+1)
	least := spent + int(leastShare*float64(size))
	word := 0
	for i := to; i > from && all[i-1].spent > least; i-- {
		if all[i-1].sentence {
			return i, true
		}
		if word == 0 && all[i-1].word {
			word = i
		}
	}
	if word > 0 {
		return word, false
	}
	return to, false
}

// wordBefore returns where a part begins that repeats whole words before to that
// cost no more than most.
func wordBefore(all []cluster, to, most int) int {
	from := to
	for i := to - 1; i > 0 && all[to-1].spent-all[i-1].spent <= most; i-- {
		if all[i-1].word {
			from = i
		}
	}
	return from
}

// halves divides a passage near its middle and drops a half with nothing to
// read. It returns nothing if the passage is too small for that.
func halves(text string) []string {
	whole := cost(text)
	if whole <= leastPassage {
		return nil
	}
	all := clusters(text)
	if len(all) < 2 {
		return nil
	}
	to, _ := closingCluster(all, 0, 0, whole*3/5)
	cut := all[min(to, len(all)-1)-1].end
	return slices.DeleteFunc([]string{strings.TrimSpace(text[:cut]), strings.TrimSpace(text[cut:])},
		func(s string) bool { return !hasReadable(s) })
}

// headOf returns the beginning of a text that costs at most so much, up to the
// end of a word if there is one.
func headOf(text string, most int) string {
	if cost(text) <= most {
		return text
	}
	all := clusters(text)
	to, _ := closingCluster(all, 0, 0, most)
	return strings.TrimSpace(text[:all[to-1].end])
}
