package lexical

import (
	"bytes"
	"unicode/utf8"
)

// scanner cuts folded text into terms.
type scanner struct {
	text   []byte
	emit   func([]byte, Kind)
	word   []byte // scratch for the stem of a part
	joined []byte // scratch for the parts of a name run together
	mixed  []byte // scratch for a pair of an ASCII run and a character
}

func (s *scanner) scan() {
	for i := 0; i < len(s.text); {
		c, _, size := classify(s.text[i:])
		switch c {
		case letter:
			i = s.name(i)
		case cjk:
			i = s.characters(i)
		case spaceless:
			i = s.pairs(i)
		case symbol:
			s.emit(s.text[i:i+size], Character)
			i += size
		default:
			i += size
		}
	}
}

// name reads words joined by single joiners from position i, emits each and,
// if there are several, all of them run together. It returns where it stopped.
func (s *scanner) name(i int) int {
	start, parts := i, 0
	s.joined = s.joined[:0]
	for {
		end := s.wordEnd(i)
		w := s.text[i:end]
		next, apostrophe := end, false
		if end+1 < len(s.text) && isJoiner(s.text, end) {
			if c, _, _ := classify(s.text[end+1:]); c == letter {
				next, apostrophe = end+1, s.text[end] == '\''
			}
		}
		if apostrophe && next > end {
			// don't, she's, o'brien, l'amour: letters on both sides are one word.
			end = s.wordEnd(next)
			s.contraction(w, s.text[next:end])
			w = s.text[end:end]
			next = end
			if end+1 < len(s.text) && isJoiner(s.text, end) && s.text[end] != '\'' {
				if c, _, _ := classify(s.text[end+1:]); c == letter {
					next = end + 1
				}
			}
			parts = -len(s.text) // no joined form
		} else {
			s.part(w)
			s.join(w, i > start && isNumberPoint(s.text, i-1))
		}
		parts++
		if next == end {
			i = end
			break
		}
		i = next
	}
	// c++, c#, f#
	if parts == 1 && i-start <= 2 {
		tail := i
		for tail < len(s.text) && tail < i+2 && (s.text[tail] == '+' || s.text[tail] == '#') {
			tail++
		}
		if tail > i {
			s.emit(s.text[start:tail], Word)
			i = tail
		}
	}
	if parts > 1 && len(s.joined) > 2 && len(s.joined) <= maxTerm {
		s.emit(s.joined, Word)
	}
	s.beside(start, i)
	return i
}

// part emits one word of a name.
func (s *scanner) part(w []byte) {
	if len(w) == 2 && w[0] == '0' && isDigit(w[1]) {
		w = w[1:] // 05 in a date or a time is 5
	}
	if stopWords[string(w)] {
		return
	}
	s.word = append(s.word[:0], w...)
	s.emit(stem(s.word), Word)
}

// contraction emits a word with an apostrophe inside.
func (s *scanner) contraction(head, tail []byte) {
	if string(tail) == "s" {
		s.part(head)
		return
	}
	s.mixed = append(append(s.mixed[:0], head...), tail...)
	s.part(s.mixed)
	if len(head) <= 2 && len(tail) > 2 { // l'amour, o'brien
		s.part(tail)
	}
}

func (s *scanner) join(w []byte, point bool) {
	if len(s.joined)+len(w) > maxTerm {
		s.joined = append(s.joined, s.text[:min(len(s.text), maxTerm)]...) // too long for good
		return
	}
	if point {
		s.joined = append(s.joined, '.')
	}
	s.joined = append(s.joined, w...)
}

// beside emits a short ASCII run together with the CJK character before and after it.
func (s *scanner) beside(start, end int) {
	if end-start > 3 || !isASCIIBytes(s.text[start:end]) {
		return
	}
	if start > 0 {
		if r, size := utf8.DecodeLastRune(s.text[:start]); isCJK(r) && !stopCharacters[r] {
			s.mixed = append(append(s.mixed[:0], s.text[start-size:start]...), s.text[start:end]...)
			s.emit(s.mixed, Character)
		}
	}
	if end < len(s.text) {
		if r, size := utf8.DecodeRune(s.text[end:]); isCJK(r) && !stopCharacters[r] {
			s.emit(s.text[start:end+size], Character)
		}
	}
}

// characters emits the characters of a CJK run and its pairs.
func (s *scanner) characters(i int) int {
	prev := -1
	for i < len(s.text) {
		c, r, size := classify(s.text[i:])
		if c != cjk {
			break
		}
		if !stopCharacters[r] {
			s.emit(s.text[i:i+size], Character)
		}
		if prev >= 0 {
			s.emit(s.text[prev:i+size], Character)
		}
		prev = i
		i += size
	}
	return i
}

// pairs emits the pairs of a run of a script without spaces, or its only character.
func (s *scanner) pairs(i int) int {
	start, prev := i, -1
	for i < len(s.text) {
		c, _, size := classify(s.text[i:])
		if c != spaceless {
			break
		}
		if prev >= 0 {
			s.emit(s.text[prev:i+size], Character)
		}
		prev = i
		i += size
	}
	if prev == start {
		s.emit(s.text[start:i], Character)
	}
	return i
}

// months emits the names of months that stand in text.
func (s *scanner) months(text string) {
	s.text = append(s.text[:0], text...)
	for i := 0; i < len(s.text); {
		c, _, size := classify(s.text[i:])
		if c != letter {
			i += size
			continue
		}
		end := s.wordEnd(i)
		if bytes.ContainsAny(s.text[i:i+1], "jfmasond") && monthNames[string(s.text[i:end])] {
			s.part(s.text[i:end])
		}
		i = end
	}
}

var monthNames = wordSet("january february march april may june july august september october november december")

func (s *scanner) wordEnd(i int) int {
	for i < len(s.text) {
		c, _, size := classify(s.text[i:])
		if c != letter {
			break
		}
		i += size
	}
	return i
}

func isJoiner(b []byte, i int) bool { return b[i] < utf8.RuneSelf && asciiClass[b[i]] == joiner }

// isNumberPoint reports whether the joiner at i separates digits as in 3.14 or
// 12:30, where running the digits together would name another number.
func isNumberPoint(b []byte, i int) bool {
	return (b[i] == '.' || b[i] == ':') && i > 0 && i+1 < len(b) && isDigit(b[i-1]) && isDigit(b[i+1])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isASCIIBytes(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
