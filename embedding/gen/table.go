package main

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// encodeTable writes the layout that internal/gloss documents at tableMagic.
func encodeTable(glosses map[string][]string, cost func(string) uint16, simple map[rune]rune) []byte {
	// Characters of the basic plane compare in UTF-8 as they do as numbers.
	words := slices.Sorted(maps.Keys(glosses))
	var (
		first   [endHan - firstHan + 1]uint32
		mapping [endHan - firstHan]uint16
		tailAt  = make([]uint32, 0, len(words)+1)
		glossAt = make([]uint32, 0, len(words))
		costs   = make([]uint16, 0, len(words))
		tail    []uint16
		pool    []byte
		pooled  = map[string]uint32{} // many words share one list of glosses
	)
	for r, to := range simple {
		mapping[r-firstHan] = uint16(to)
	}
	for _, w := range words {
		list := strings.Join(glosses[w], "|") + "\n"
		at, ok := pooled[list]
		if !ok {
			at = uint32(len(pool))
			pooled[list] = at
			pool = append(pool, list...)
		}
		chars := []rune(w)
		first[chars[0]-firstHan+1]++
		tailAt = append(tailAt, uint32(len(tail)))
		glossAt = append(glossAt, at)
		costs = append(costs, cost(w))
		for _, r := range chars[1:] {
			tail = append(tail, uint16(r))
		}
	}
	tailAt = append(tailAt, uint32(len(tail)))
	for i := 1; i < len(first); i++ { // counts to starts
		first[i] += first[i-1]
	}
	out := []byte("RGL1")
	for _, n := range []int{len(words), len(tail), len(pool)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	for _, part := range []any{first[:], mapping[:], tailAt, glossAt, costs, tail, pool} {
		out, _ = binary.Append(out, binary.LittleEndian, part) // fails only on types without a size
	}
	return out
}
