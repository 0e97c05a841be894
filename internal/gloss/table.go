package gloss

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
)

// The table covers the Han characters of the basic plane. Each takes three
// bytes of UTF-8, which the segmenter uses to turn positions into offsets.
const (
	firstHan = 0x3400
	endHan   = 0xa000
	hanBytes = 3

	// MaxWord is the length in characters of the longest word in the table.
	MaxWord = 8
)

// tableMagic names the layout, all numbers little-endian:
//
//	magic [4]byte, words uint32, tail uint32, pool uint32
//	first   [endHan-firstHan+1]uint32  index of the first word that begins with a character
//	simple  [endHan-firstHan]uint16    simplified form of a character, 0 for itself
//	tailAt  [words+1]uint32            where a word's tail begins
//	glossAt [words]uint32              where a word's glosses begin
//	cost    [words]uint16              -100 ln p
//	tail    [tail]uint16               the words without their first character
//	pool    [pool]byte                 gloss lists "one|two|three\n"
//
// Words are sorted by their characters, a prefix before its extensions.
const tableMagic = "RGL1"

//go:embed data/zh_gloss.bin
var table string

// words16 and words32 are arrays of little-endian numbers inside a string.
type (
	words16 string
	words32 string
)

func (w words16) at(i int) uint16 {
	s := w[2*i : 2*i+2]
	return uint16(s[0]) | uint16(s[1])<<8
}

func (w words32) at(i int) int {
	s := w[4*i : 4*i+4]
	return int(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
}

// Dict is a Chinese-English dictionary. It is read only: any number of
// goroutines may use one at once.
type Dict struct {
	first, tailAt, glossAt words32
	simple, cost, tail     words16
	pool                   string
}

// Default returns the dictionary inside the binary. It is cheap enough to call
// wherever it is needed: nothing is read or copied until the first look-up.
func Default() *Dict {
	d, err := parse(table)
	if err != nil {
		panic("gloss: embedded table: " + err.Error()) // a test checks the file's sum
	}
	return d
}

var errTable = errors.New("not a gloss table")

// parse lays a Dict over the bytes of a table. It checks sizes, not contents.
func parse(s string) (*Dict, error) {
	const header = 16
	if len(s) < header || s[:4] != tableMagic {
		return nil, errTable
	}
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32([]byte(s[at : at+4]))) }
	words, tail, pool := u32(4), u32(8), u32(12)
	rest := s[header:]
	cut := func(n int) string {
		if n < 0 || n > len(rest) {
			n = len(rest)
		}
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	want := header + 4*(endHan-firstHan+1) + 2*(endHan-firstHan) + 4*(words+1) + 4*words + 2*words + 2*tail + pool
	if want != len(s) {
		return nil, fmt.Errorf("%w: %d bytes, header says %d", errTable, len(s), want)
	}
	return &Dict{
		first:   words32(cut(4 * (endHan - firstHan + 1))),
		simple:  words16(cut(2 * (endHan - firstHan))),
		tailAt:  words32(cut(4 * (words + 1))),
		glossAt: words32(cut(4 * words)),
		cost:    words16(cut(2 * words)),
		tail:    words16(cut(2 * tail)),
		pool:    cut(pool),
	}, nil
}

// tailLen is the number of characters after the first of word w.
func (d *Dict) tailLen(w int) int { return d.tailAt.at(w+1) - d.tailAt.at(w) }

// narrow returns the words of [lo, hi) whose tail has c at position at. All
// words of the range must share what comes before and be longer than at.
func (d *Dict) narrow(lo, hi, at int, c uint16) (int, int) {
	from := d.lower(lo, hi, at, c)
	if from == hi || d.tail.at(d.tailAt.at(from)+at) != c {
		return from, from
	}
	return from, d.lower(from, hi, at, c+1)
}

// lower is the first word of [lo, hi) with a character not below c at position at.
func (d *Dict) lower(lo, hi, at int, c uint16) int {
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if d.tail.at(d.tailAt.at(mid)+at) < c {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// match calls found with the length in characters and the index of every word
// that begins the run of Han characters at its byte i.
func (d *Dict) match(run string, i int, found func(length, word int)) {
	c := hanAt(run, i) - firstHan
	lo, hi := d.first.at(int(c)), d.first.at(int(c)+1)
	for length := 1; lo < hi; length++ {
		if d.tailLen(lo) == length-1 {
			found(length, lo)
			lo++
		}
		i += hanBytes
		if length == MaxWord || i >= len(run) || lo == hi {
			return
		}
		lo, hi = d.narrow(lo, hi, length-1, uint16(hanAt(run, i)))
	}
}

// hanAt decodes the three-byte character at byte i of a run.
func hanAt(run string, i int) rune {
	s := run[i : i+hanBytes]
	return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
}

// lookup finds the index of a word that is a run of Han characters, or -1.
func (d *Dict) lookup(word string) int {
	at := -1
	if word != "" {
		d.match(word, 0, func(length, w int) {
			if length*hanBytes == len(word) {
				at = w
			}
		})
	}
	return at
}

// glosses appends up to limit glosses of word w to buf, best first.
func (d *Dict) glosses(buf []string, w, limit int) []string {
	s := d.pool[d.glossAt.at(w):]
	for from, i := 0, 0; limit > 0; i++ {
		c := s[i]
		if c != '|' && c != '\n' {
			continue
		}
		if i > from {
			buf = append(buf, s[from:i])
			limit--
		}
		if c == '\n' {
			break
		}
		from = i + 1
	}
	return buf
}
