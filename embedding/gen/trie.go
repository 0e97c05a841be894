package main

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
)

// reserved is the number of pieces at the beginning that stand for no text.
const reserved = 6

// What package embedding knows about a piece besides its score.
const (
	flagWordStart   = 1 << iota // begins with the word mark
	flagSentenceEnd             // ends with a full stop or the like
	flagLetters                 // has a letter or a digit
	flagWord                    // the word mark and two or more letters
)

func flags(text string) (f byte) {
	word, marked := strings.CutPrefix(text, wordStart)
	if marked {
		f |= flagWordStart
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		f |= flagSentenceEnd
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		f |= flagLetters
	}
	if marked && len(word) > 1 && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		f |= flagWord
	}
	return f
}

// trie holds the pieces byte by byte. Nodes are numbered level by level, so
// that the children of a node lie side by side, in the order of their bytes:
// those of node i are nodes first[i] to first[i+1]. The root is node 0.
type trie struct {
	label []byte
	first []uint32
	piece []uint16 // that ends at the node, 0 for none
}

func buildTrie(vocab []piece) trie {
	type span struct{ from, to, depth int } // the sorted pieces below a node
	ids := make([]int, 0, len(vocab))
	for id := reserved; id < len(vocab); id++ {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int) int {
		return cmp.Or(strings.Compare(vocab[a].text, vocab[b].text), cmp.Compare(a, b)) // of equal texts the last counts
	})
	t := trie{label: []byte{0}, piece: []uint16{0}}
	nodes := []span{{0, len(ids), 0}}
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		t.first = append(t.first, uint32(len(nodes)))
		for n.from < n.to && len(vocab[ids[n.from]].text) == n.depth {
			t.piece[i] = uint16(ids[n.from])
			n.from++
		}
		for from := n.from; from < n.to; {
			c := vocab[ids[from]].text[n.depth]
			to := from
			for to < n.to && vocab[ids[to]].text[n.depth] == c {
				to++
			}
			nodes = append(nodes, span{from, to, n.depth + 1})
			t.label = append(t.label, c)
			t.piece = append(t.piece, 0)
			from = to
		}
	}
	t.first = append(t.first, uint32(len(nodes)))
	return t
}

// append adds the trie and what belongs to each piece to a model file.
func (t trie) append(out []byte, vocab []piece) []byte {
	for _, p := range vocab {
		out = appendFloats(out, []float32{float32(p.score)})
	}
	for _, p := range vocab {
		out = append(out, flags(p.text))
	}
	for _, v := range t.first {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	for _, v := range t.piece {
		out = binary.LittleEndian.AppendUint16(out, v)
	}
	return append(out, t.label...)
}
