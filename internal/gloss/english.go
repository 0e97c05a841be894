package gloss

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// Simplify maps traditional characters to simplified ones, one for one, and
// leaves everything else as it is, invalid bytes included.
func (d *Dict) Simplify(s string) string {
	for i, r := range s {
		if d.simplified(r) == r {
			continue
		}
		b := make([]byte, 0, len(s))
		b = append(b, s[:i]...)
		for _, r := range s[i:] {
			if r == utf8.RuneError { // perhaps an invalid byte: keep what stands there
				_, size := utf8.DecodeRuneInString(s[len(b):])
				b = append(b, s[len(b):len(b)+size]...)
				continue
			}
			b = utf8.AppendRune(b, d.simplified(r)) // as long as r: both are Han
		}
		return string(b)
	}
	return s
}

func (d *Dict) simplified(r rune) rune {
	if !IsHan(r) {
		return r
	}
	if c := d.simple.at(int(r - firstHan)); c != 0 {
		return rune(c)
	}
	return r
}

// English carries a text over to English word for word: the first gloss of
// every Chinese word, dates in English, Chinese punctuation as ASCII, text in
// other scripts as it stands. Text without Chinese characters is returned
// unchanged. The result is meant for a sentence encoder, not for readers.
func (d *Dict) English(text string) string {
	if !HasHan(text) {
		return text
	}
	var b strings.Builder
	b.Grow(2 * len(text))
	add := func(s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 && strings.IndexByte(",.!?;:", s[0]) < 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	var one [1]string
	runs(d.prepare(text), func(run string) {
		d.segment(run, func(_ string, w int) bool {
			if w >= 0 {
				for _, g := range d.glosses(one[:0], w, 1) {
					add(g)
				}
			}
			return true
		})
	}, func(other string) { add(strings.TrimSpace(asciiPunctuation(other))) })
	return b.String()
}

// Glosses yields the text piece by piece as English for a word index. A
// Chinese word comes in its simplified form with up to limit glosses, best
// first and each of one or more words, or with none if it has none worth
// having. Anything between Chinese words comes as it stands, dates put to
// English, as its own and only gloss. The slice is valid until the next step.
func (d *Dict) Glosses(text string, limit int) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		if text == "" {
			return
		}
		if !HasHan(text) {
			yield(text, []string{text})
			return
		}
		buf := make([]string, 0, 4)
		stopped := false
		runs(d.prepare(text), func(run string) {
			if stopped {
				return
			}
			stopped = !d.segment(run, func(word string, w int) bool {
				buf = buf[:0]
				if w >= 0 {
					buf = d.glosses(buf, w, limit)
				}
				return yield(word, buf)
			})
		}, func(other string) {
			if !stopped {
				buf = append(buf[:0], other)
				stopped = !yield(other, buf)
			}
		})
	}
}

// prepare is what English and Glosses do to a text before they cut it.
func (d *Dict) prepare(text string) string {
	return englishDates(d.Simplify(text))
}

// asciiPunctuation maps Chinese punctuation to what an English text would have.
func asciiPunctuation(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '，', '、':
			return ','
		case '。', '…':
			return '.'
		case '！':
			return '!'
		case '？':
			return '?'
		case '；':
			return ';'
		case '：':
			return ':'
		case '“', '”', '《', '》', '「', '」', '『', '』':
			return '"'
		case '‘', '’':
			return '\''
		case '（':
			return '('
		case '）':
			return ')'
		case '【':
			return '['
		case '】':
			return ']'
		case '—':
			return '-'
		case '～':
			return '~'
		}
		return r
	}, s)
}
