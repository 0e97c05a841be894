package lexical

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// Dictionary is what the analyzer asks of a Chinese-English dictionary.
type Dictionary interface {
	// Simplify maps traditional characters to simplified ones.
	Simplify(s string) string
	// Glosses yields text piece by piece: a Chinese word with up to limit
	// English glosses, anything else as its own gloss with dates in English.
	Glosses(text string, limit int) iter.Seq2[string, []string]
}

// Kind tells where a term comes from.
type Kind uint8

const (
	// Word is a folded, stemmed word, number or joined name. Only words have
	// a spelling worth comparing by letters (see [Grams]).
	Word Kind = iota
	// Character is a CJK character, a pair of characters, or a mixed pair such as c盘.
	Character
	// Gloss is the stem of an English gloss of a Chinese word. It is spelled
	// as the Word of that stem would be, and meant to match it.
	Gloss
)

// maxGlosses bounds the glosses of one Chinese word that become terms.
const maxGlosses = 3

// maxTerm is the length in bytes a joined name may have to become a term.
// A single word of any length is one.
const maxTerm = 64

// Analyzer turns text into terms. It has no state and may be used concurrently.
type Analyzer struct {
	dict Dictionary
}

// New makes an analyzer. Without a dictionary (nil) Chinese text has no
// glosses and traditional characters differ from simplified ones.
func New(dict Dictionary) *Analyzer { return &Analyzer{dict: dict} }

// Tokens returns the terms of text in the order they are found, repetitions included.
func (a *Analyzer) Tokens(text string) []string {
	var out []string
	a.Terms(text, func(term []byte, _ Kind) { out = append(out, string(term)) })
	return out
}

// Terms calls emit for every term of text, repetitions included. The bytes are
// valid only during the call. The same text gives the same terms whether it is
// a memory or a question about one.
func (a *Analyzer) Terms(text string, emit func(term []byte, kind Kind)) {
	var stack [1024]byte
	s := scanner{emit: emit, text: appendFolded(stack[:0], text)}
	han := false
	if a.dict != nil {
		if han = hasHan(s.text); han {
			s.text = []byte(a.dict.Simplify(string(s.text)))
		}
	}
	s.scan()
	if han {
		a.glossTerms(string(s.text), emit)
	}
}

// glossTerms emits the glosses of the Chinese words of folded text. What is
// not Chinese was emitted by the scanner, except for the names of months.
func (a *Analyzer) glossTerms(text string, emit func([]byte, Kind)) {
	g := scanner{emit: func(term []byte, _ Kind) { emit(term, Gloss) }}
	for piece, glosses := range a.dict.Glosses(text, maxGlosses) {
		r, _ := utf8.DecodeRuneInString(piece)
		if !isHan(r) {
			g.text = append(g.text[:0], piece...)
			g.months()
			continue
		}
		for _, gloss := range glosses {
			g.text = append(g.text[:0], gloss...)
			g.scan()
		}
	}
}

func hasHan(b []byte) bool {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if isHan(r) {
			return true
		}
		i += size
	}
	return false
}

// Blank reports whether text has nothing that could be a word: no letter, no
// digit, no emoji.
func Blank(text string) bool {
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || isCJK(r) || r > 0x2000 && r != unicode.ReplacementChar && unicode.Is(unicode.So, r) {
			return false
		}
	}
	return true
}
