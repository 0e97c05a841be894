package lexical

import "unicode/utf8"

// scanner cuts folded text into terms.
type scanner struct {
	text   []byte
	emit   func([]byte, Kind)
	word   []byte // scratch for a word that is changed
	joined []byte // scratch for the parts of a name run together
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

// name reads words joined by single joiners (user_id, v1.2.3, don't) from
// position i and emits each word and, if there are several, all of them run
// together. It returns where it stopped.
func (s *scanner) name(start int) int {
	s.joined = s.joined[:0]
	words, apostrophes := 0, 0
	var from int
	end := start
	for {
		from = end
		end = s.wordEnd(from)
		w := s.text[from:end]
		if words++; words == 1 {
			s.afterCharacter(from, end)
		}
		if from > start && s.text[from-1] == '\'' {
			apostrophes++
			s.afterApostrophe(w)
		} else if !s.nextIs(end, '\'') {
			s.part(w)
		} else {
			s.word = append(s.word[:0], w...) // kept for afterApostrophe
		}
		s.join(w, from, start)
		if !s.joins(end) {
			break
		}
		end++
	}
	s.beforeCharacter(from, end)
	if words == 1 {
		end = s.sharps(start, end)
	} else if (words > 2 || apostrophes == 0) && len(s.joined) > 2 && len(s.joined) <= maxTerm {
		s.emit(stem(s.joined), Word)
	}
	return end
}

// joins reports whether the letter before position i and what follows it are
// parts of one name. A comma joins digits only.
func (s *scanner) joins(i int) bool {
	if i+1 >= len(s.text) || s.text[i] >= utf8.RuneSelf || asciiClass[s.text[i]] != joiner {
		return false
	}
	if s.text[i] == ',' && !(isDigit(s.text[i-1]) && isDigit(s.text[i+1])) {
		return false
	}
	c, _, _ := classify(s.text[i+1:])
	return c == letter
}

func (s *scanner) nextIs(i int, joiner byte) bool {
	return i < len(s.text) && s.text[i] == joiner && s.joins(i)
}

// part emits one word of a name.
func (s *scanner) part(w []byte) {
	if len(w) == 2 && w[0] == '0' && isDigit(w[1]) {
		w = w[1:] // 05 in a date or a time is 5
	}
	if len(w) == 0 || stopWords[string(w)] {
		return
	}
	s.word = append(s.word[:0], w...)
	s.emit(stem(s.word), Word)
}

// afterApostrophe emits the word before an apostrophe, which is in s.word,
// together with what stands after it: don't is one word, she's and she'll are
// she, and l'amour and o'brien can be found without their heads.
func (s *scanner) afterApostrophe(tail []byte) {
	head := len(s.word)
	switch string(tail) {
	case "s", "ll", "d", "ve", "re", "m":
	default:
		s.word = append(s.word, tail...)
	}
	s.part(s.word)
	if 0 < head && head <= 2 && len(tail) > 2 {
		s.part(tail)
	}
	s.word = s.word[:0]
}

// join adds a word that begins at from to the joined form of the name that begins at start.
func (s *scanner) join(w []byte, from, start int) {
	if len(s.joined) > maxTerm {
		return
	}
	if from > start && s.isNumberPoint(from-1) {
		s.joined = append(s.joined, '.')
	}
	s.joined = append(s.joined, w[:min(len(w), maxTerm+1)]...)
}

// isNumberPoint reports whether the joiner at i separates digits as in 3.14 or
// 12:30, where running them together would name another number.
func (s *scanner) isNumberPoint(i int) bool {
	return (s.text[i] == '.' || s.text[i] == ':') && isDigit(s.text[i-1]) && isDigit(s.text[i+1])
}

// sharps emits c++, c#, f# and the like, and returns the end of what it read.
func (s *scanner) sharps(start, end int) int {
	tail := end
	for tail < len(s.text) && tail < end+2 && (s.text[tail] == '+' || s.text[tail] == '#') {
		tail++
	}
	if tail == end || end-start > 2 {
		return end
	}
	s.emit(s.text[start:tail], Word)
	return tail
}

// maxBeside is the length in bytes of a word that forms a term with the
// character beside it: C盘, 5月, API配置.
const maxBeside = 3

// afterCharacter emits a short ASCII word with the CJK character before it.
func (s *scanner) afterCharacter(start, end int) {
	if start == 0 || end-start > maxBeside || !isASCIIBytes(s.text[start:end]) {
		return
	}
	if r, size := utf8.DecodeLastRune(s.text[:start]); isCJK(r) && !stopCharacters[r] {
		s.emit(s.text[start-size:end], Character)
	}
}

// beforeCharacter emits a short ASCII word with the CJK character after it.
func (s *scanner) beforeCharacter(start, end int) {
	if end == len(s.text) || end-start > maxBeside || !isASCIIBytes(s.text[start:end]) {
		return
	}
	if r, size := utf8.DecodeRune(s.text[end:]); isCJK(r) && !stopCharacters[r] {
		s.emit(s.text[start:end+size], Character)
	}
}

// characters emits the characters of a CJK run and its pairs.
func (s *scanner) characters(i int) int {
	before := -1
	for i < len(s.text) {
		c, r, size := classify(s.text[i:])
		if c != cjk {
			break
		}
		if !stopCharacters[r] {
			s.emit(s.text[i:i+size], Character)
		}
		if before >= 0 {
			s.emit(s.text[before:i+size], Character)
		}
		before = i
		i += size
	}
	return i
}

// pairs emits the pairs of a run of a script without spaces, or its only character.
func (s *scanner) pairs(i int) int {
	start, before := i, -1
	for i < len(s.text) {
		c, _, size := classify(s.text[i:])
		if c != spaceless {
			break
		}
		if before >= 0 {
			s.emit(s.text[before:i+size], Character)
		}
		before = i
		i += size
	}
	if before == start {
		s.emit(s.text[start:i], Character)
	}
	return i
}

// months emits the names of months that stand in the text, and nothing else.
func (s *scanner) months() {
	for i := 0; i < len(s.text); {
		c, _, size := classify(s.text[i:])
		if c != letter {
			i += size
			continue
		}
		end := s.wordEnd(i)
		if monthNames[string(s.text[i:end])] {
			s.part(s.text[i:end])
		}
		i = end
	}
}

var monthNames = wordSet("january february march april may june july august september october november december")

// wordEnd is where the letters from position i end.
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

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isASCIIBytes(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
