package embedding

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordStart is the mark of pieces that begin a word.
const wordStart = "\u2581"

// unknown is the piece for text the vocabulary lacks.
const unknown = 0

// What the model file says about a piece. The values are embedding/gen's.
const (
	flagWordStart   = 1 << iota // begins with the word mark
	flagSentenceEnd             // ends with a full stop or the like
	flagLetters                 // has a letter or a digit
	flagWord                    // the word mark and two or more letters
)

// tokenizer cuts text into the pieces of the vocabulary, the most probable way.
// The pieces lie in a trie of bytes: the children of node i are the nodes
// first[i] to first[i+1], sorted by label; piece[i] ends at node i, 0 for none.
type tokenizer struct {
	score        []float32 // ln p of a piece
	flags        string    // by piece
	first, piece string    // uint32 and uint16 by node, little-endian
	label        string
	root         [256]int32 // child of the root by its byte, 0 for none
}

func (t *tokenizer) fillRoot() {
	for i := t.children(0); i < t.children(1); i++ {
		t.root[t.label[i]] = int32(i)
	}
}

func (t *tokenizer) children(node int) int {
	b := t.first[4*node : 4*node+4]
	return int(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

func (t *tokenizer) ends(node int) uint16 {
	b := t.piece[2*node : 2*node+2]
	return uint16(b[0]) | uint16(b[1])<<8
}

// child follows byte c from a node below the root, 0 if there is no such piece.
func (t *tokenizer) child(node int, c byte) int {
	lo, hi := t.children(node), t.children(node+1)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.label[mid] < c {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < t.children(node+1) && t.label[lo] == c {
		return lo
	}
	return 0
}

// lookup returns the piece with exactly this text, or unknown.
func (t *tokenizer) lookup(text string) uint16 {
	if text == "" {
		return unknown
	}
	node := int(t.root[text[0]])
	for i := 1; i < len(text) && node != 0; i++ {
		node = t.child(node, text[i])
	}
	if node == 0 {
		return unknown
	}
	return t.ends(node)
}

// maxWordBytes is where an endless word is cut, so that memory has a bound.
const maxWordBytes = 512

// tokenize appends the pieces of a text to ids, stopping when there are limit
// of them or more. Pieces never reach across words, so that each word is cut by itself.
// Any string will do; time grows linearly with it.
func (t *tokenizer) tokenize(ids []uint16, text string, limit int) []uint16 {
	var s viterbi
	if !isASCII(text) {
		text = norm.NFKC.String(text)
	}
	for text != "" && len(ids) < limit {
		word := text
		if i := strings.IndexFunc(text, isSeparator); i >= 0 {
			_, size := utf8.DecodeRuneInString(text[i:])
			word, text = text[:i], text[i+size:]
		} else {
			text = ""
		}
		start := true
		for word != "" && len(ids) < limit {
			part := word[:cutAt(word, maxWordBytes)]
			word = word[len(part):]
			ids = s.word(ids, t, part, start)
			start = false
		}
	}
	return ids
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isSeparator reports whether a character stands between words.
func isSeparator(r rune) bool {
	return r <= ' ' || r >= 0x7f && (unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u200b' || r == '\ufeff')
}

// cutAt returns the length of the longest prefix of s of at most n bytes that
// does not cut a character.
func cutAt(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n
}

// viterbi is the scratch memory of the search for the best pieces.
type viterbi struct {
	text []byte
	best []arc
	ends []uint16
}

// arc is the best way found to reach a position: its last piece and the sum of
// the scores. A size of 0 means that the position was not reached.
type arc struct {
	score float64
	piece uint16
	size  uint16
}

// word appends the pieces of one word.
func (v *viterbi) word(ids []uint16, t *tokenizer, word string, start bool) []uint16 {
	v.text = v.text[:0]
	if start {
		v.text = append(v.text, wordStart...)
	}
	v.text = append(v.text, word...)
	n := len(v.text)
	if cap(v.best) < n+1 {
		v.best = make([]arc, max(n+1, 64))
	}
	best := v.best[:n+1]
	clear(best)
	for i := 0; i < n; i++ {
		if i > 0 && best[i].size == 0 {
			continue
		}
		if !v.pieces(t, best, i) {
			_, size := utf8.DecodeRune(v.text[i:])
			if to := &best[i+size]; to.size == 0 || best[i].score >= to.score {
				*to = arc{best[i].score, unknown, uint16(size)}
			}
		}
	}
	v.ends = v.ends[:0]
	for i := n; i > 0; i -= int(best[i].size) {
		id := best[i].piece
		if last := len(v.ends) - 1; id == unknown && last >= 0 && v.ends[last] == unknown {
			continue // a stretch of unknown text is one piece
		}
		v.ends = append(v.ends, id)
	}
	for i := len(v.ends) - 1; i >= 0; i-- {
		ids = append(ids, v.ends[i])
	}
	return ids
}

// pieces enters all pieces that begin at byte i, and reports whether there are any.
func (v *viterbi) pieces(t *tokenizer, best []arc, i int) (found bool) {
	node := int(t.root[v.text[i]])
	for end := i + 1; node != 0; end++ {
		if id := t.ends(node); id != 0 {
			found = true
			score := best[i].score + float64(t.score[id])
			if to := &best[end]; to.size == 0 || score >= to.score {
				*to = arc{score, id, uint16(end - i)}
			}
		}
		if end == len(v.text) {
			break
		}
		node = t.child(node, v.text[end])
	}
	return found
}
