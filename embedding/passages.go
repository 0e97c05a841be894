package embedding

// How long documents are divided, in pieces; 60 pieces are about 45 words. The
// encoder could read 128, but a vector is an average over its text, in which
// one sentence among many is lost: with passages of 120 pieces, long documents
// were found less often than with 40 to 80.
const (
	wholeDocument = 68 // a document of no more than this is not divided
	fullPassage   = 60 // the most a passage holds of one that is
	leastShare    = .6 // of a passage that must be filled before a sentence's end may close it
	overlap       = 12 // pieces that a passage repeats when the one before stopped inside a sentence
)

// span is a part of a document's pieces, from inclusive to to exclusive.
type span struct{ from, to int }

// divide cuts the pieces of a document into passages: one if it is short, else
// several of like length, closed at the end of a sentence if there is one in
// their last part, else between words, else anywhere. Every piece is in a passage.
func divide(ids []uint16, flags string) []span {
	var spans []span
	for from := 0; from < len(ids); {
		left := len(ids) - from
		if left <= wholeDocument {
			return append(spans, span{from, len(ids)})
		}
		count := (left + fullPassage - 1) / fullPassage
		size := min((left+count-1)/count+overlap/2, fullPassage) // like lengths, with room for overlaps
		to, sentence := closing(ids, flags, from, size)
		spans = append(spans, span{from, to})
		from = to
		if !sentence {
			from = backToWord(ids, flags, to)
		}
	}
	return spans
}

// closing finds where a passage of at most size pieces ends best, and whether a
// sentence ends there too.
func closing(ids []uint16, flags string, from, size int) (to int, sentence bool) {
	least := from + int(leastShare*float64(size))
	word := 0
	for to := from + size; to > least; to-- {
		if flags[ids[to]]&flagWordStart == 0 {
			continue
		}
		if flags[ids[to-1]]&flagSentenceEnd != 0 {
			return to, true
		}
		word = max(word, to)
	}
	if word > 0 {
		return word, false
	}
	return from + size, false
}

// backToWord returns where a passage begins that repeats up to overlap pieces
// before to: at the first word there.
func backToWord(ids []uint16, flags string, to int) int {
	for from := to - overlap; from < to; from++ {
		if flags[ids[from]]&flagWordStart != 0 {
			return from
		}
	}
	return to
}
