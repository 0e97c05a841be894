package embedding

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"reverie/internal/gloss"
)

// leastCoverage is the share of a text that must be English or Chinese for its
// vector to help a search. Of texts of six words or more, English ones lie
// above .75 and those in other languages below .55.
const leastCoverage = .65

// Understands reports whether the model knows the language of a text well
// enough for its vector to say what it means. Vectors of other languages are
// made of chance resemblances and hurt more than they help. A text without
// letters or digits is not understood.
func (b *Builtin) Understands(text string) bool { return b.Coverage(text) >= leastCoverage }

// Coverage estimates the share of a text, 0 to 1, that the model can read:
// Chinese through the dictionary, and words of its English vocabulary. Words
// that mark another European language count against it, names hardly at all.
func (b *Builtin) Coverage(text string) float64 {
	text = text[:cutAt(text, maxQueryBytes)]
	t := &b.load().model.tokens
	var tally coverage
	eachWord(text, func(word string, elided bool) { tally.add(t, word, elided) })
	return tally.share()
}

// coverage sums up the words of a text.
type coverage struct {
	known, total float64
	han, kana    float64 // weights of their own: kana make Japanese of both
	digits       bool
}

func (c *coverage) share() float64 {
	known, total := c.known, c.total+c.han+c.kana
	if c.kana < c.han/8 { // a Japanese name in a Chinese text
		known += c.han
	}
	switch {
	case total > 0:
		return known / total
	case c.digits:
		return 1
	}
	return 0
}

// The weights of words that are not what they seem to be for sure.
const (
	doubtWeight   = .3 // a name, a rare or inflected form, or a word of several languages
	doubtKnown    = .5 // of it that counts as known
	characterSize = 2  // characters of Chinese or Japanese that weigh as much as a word
)

// add weighs one word: a run of letters of one kind, see eachWord.
func (c *coverage) add(t *tokenizer, word string, elided bool) {
	first, size := utf8.DecodeRuneInString(word)
	switch n := float64(utf8.RuneCountInString(word)) / characterSize; kindOf(first) {
	case hanWord:
		c.han += n
	case kanaWord:
		c.kana += n
	case number:
		c.digits = true
	case otherWord:
		c.total++
	case latinWord:
		lower := strings.ToLower(word)
		switch {
		case size == len(word): // a letter: an initial, or what is left of it's; but l'eau, d'un, j'ai
			if elided && strings.ContainsRune("cdjln", first|0x20) {
				c.total++
			}
		case isForeign(lower) && !(word != lower && (isParticle(lower) || word == strings.ToUpper(word))):
			c.total++
		case isForeign(lower), isShared(lower): // Los Angeles, MIT, war
			c.addDoubtful()
		case t.lookup(wordStart+lower) != unknown || t.lookup(wordStart+word) != unknown:
			c.total++
			c.known++
		case !isASCII(word) && t.lookup(wordStart+unaccented(lower)) == unknown:
			c.total++ // a café passes for English
		default:
			c.addDoubtful()
		}
	}
}

// addDoubtful adds a word that speaks neither for nor against much.
func (c *coverage) addDoubtful() {
	c.total += doubtWeight
	c.known += doubtWeight * doubtKnown
}

// unaccented drops the marks of letters.
func unaccented(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, norm.NFD.String(word))
}

// The kinds of runs that eachWord tells apart.
const (
	noWord = iota
	hanWord
	kanaWord
	number
	latinWord
	otherWord
)

func kindOf(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r|0x20 && r|0x20 <= 'z' {
			return latinWord
		}
		if '0' <= r && r <= '9' {
			return number
		}
		return noWord
	case gloss.IsHan(r):
		return hanWord
	case r >= 0x3040 && r <= 0x30ff || r >= 0xff66 && r <= 0xff9f:
		return kanaWord
	case unicode.Is(unicode.Latin, r):
		return latinWord
	case unicode.IsLetter(r):
		return otherWord
	case unicode.IsNumber(r):
		return number
	}
	return noWord
}

// eachWord calls do for every run of letters or digits of one kind, and tells
// whether an apostrophe follows at once. Marks belong to the run before them.
func eachWord(text string, do func(word string, elided bool)) {
	from, kind := 0, noWord
	for i, r := range text {
		next := kindOf(r)
		if kind != noWord && (next == kind || unicode.IsMark(r)) {
			continue
		}
		if kind != noWord {
			do(text[from:i], r == '\'' || r == '’')
		}
		from, kind = i, next
	}
	if kind != noWord {
		do(text[from:], false)
	}
}
