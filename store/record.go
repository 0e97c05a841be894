package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Types of pages that hold records.
const (
	tableLeaf = 0x0d
	indexLeaf = 0x0a
)

// maxRecord bounds a record, in bytes: the largest honest one is a journal entry with
// two memories in it.
const maxRecord = 16 << 20

var errRecord = errors.New("not a record")

// records calls yield with every record of a leaf page that can be read, and returns
// how many cells could not. The rowid of an index record is 0. Other pages have none.
func (p *pageFile) records(n uint32, yield func(leaf byte, rowid int64, values []any) error) (bad int, err error) {
	b, err := p.page(n)
	if err != nil {
		return 0, nil //nolint:nilerr // a page that the disk does not give has no records
	}
	h := 0
	if n == 1 {
		h = 100
	}
	leaf := b[h]
	if leaf != tableLeaf && leaf != indexLeaf {
		return 0, nil
	}
	cells := int(binary.BigEndian.Uint16(b[h+3:]))
	if h+8+2*cells > len(b) {
		return 1, nil
	}
	// All records of a page together are no longer than the file; noise may say so.
	p.budget = int64(p.pages) * int64(p.size)
	for i := range cells {
		at := int(binary.BigEndian.Uint16(b[h+8+2*i:]))
		rowid, values, err := p.cell(b, at, leaf)
		if err != nil {
			bad++
			continue
		}
		if err := yield(leaf, rowid, values); err != nil {
			return bad, err
		}
	}
	return bad, nil
}

// cell decodes the cell at an offset of a leaf page, with its overflow pages.
func (p *pageFile) cell(b []byte, at int, leaf byte) (rowid int64, values []any, err error) {
	if at < 8 || at >= len(b) {
		return 0, nil, errRecord
	}
	size, k := varint(b[at:])
	if k == 0 || size > maxRecord {
		return 0, nil, errRecord
	}
	at += k
	most := (p.usable-12)*64/255 - 23 // what an index page keeps of a record at most
	if leaf == tableLeaf {
		var id uint64
		if id, k = varint(b[at:]); k == 0 {
			return 0, nil, errRecord
		}
		rowid, at = int64(id), at+k
		most = p.usable - 35
	}
	total, local := int(size), int(size)
	if total > most {
		least := (p.usable-12)*32/255 - 23
		if local = least + (total-least)%(p.usable-4); local > most {
			local = least
		}
	}
	if at+local > p.usable || total > local && at+local+4 > p.usable {
		return 0, nil, errRecord
	}
	payload := append(make([]byte, 0, total), b[at:at+local]...)
	if total > local {
		if payload, err = p.overflow(payload, total, binary.BigEndian.Uint32(b[at+local:])); err != nil {
			return 0, nil, err
		}
	}
	values, err = decodeRecord(payload)
	return rowid, values, err
}

func (p *pageFile) overflow(payload []byte, total int, next uint32) ([]byte, error) {
	if p.budget -= int64(total); p.budget < 0 {
		return nil, errRecord
	}
	seen := map[uint32]bool{}
	for len(payload) < total {
		if seen[next] {
			return nil, errRecord
		}
		seen[next] = true
		b, err := p.page(next)
		if err != nil {
			return nil, err
		}
		take := min(total-len(payload), p.usable-4)
		payload = append(payload, b[4:4+take]...)
		next = binary.BigEndian.Uint32(b)
	}
	if next != 0 {
		return nil, errRecord // the chain ends with the record, or it is not its chain
	}
	return payload, nil
}

// decodeRecord returns the values of a record: nil, int64, float64, string or []byte.
func decodeRecord(b []byte) ([]any, error) {
	size, k := varint(b)
	if k == 0 || size > uint64(len(b)) || int(size) < k {
		return nil, errRecord
	}
	head, body := b[k:size], b[size:]
	var out []any
	for len(head) > 0 {
		serial, k := varint(head)
		if k == 0 {
			return nil, errRecord
		}
		head = head[k:]
		v, n, err := decodeValue(serial, body)
		if err != nil {
			return nil, err
		}
		out, body = append(out, v), body[n:]
	}
	if len(body) != 0 {
		return nil, errRecord
	}
	return out, nil
}

func decodeValue(serial uint64, body []byte) (v any, size int, err error) {
	switch {
	case serial == 0:
		return nil, 0, nil
	case serial == 8 || serial == 9:
		return int64(serial - 8), 0, nil
	case serial <= 7:
		size = []int{0, 1, 2, 3, 4, 6, 8, 8}[serial]
	case serial >= 12:
		if (serial-12)/2 > uint64(len(body)) {
			return nil, 0, errRecord
		}
		size = int(serial-12) / 2
	default:
		return nil, 0, fmt.Errorf("%w: serial type %d", errRecord, serial)
	}
	if size > len(body) {
		return nil, 0, errRecord
	}
	b := body[:size]
	switch {
	case serial == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), size, nil
	case serial >= 12 && serial%2 == 0:
		return append([]byte{}, b...), size, nil
	case serial >= 12:
		return string(b), size, nil
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	return n, size, nil
}

// varint reads SQLite's variable-length integer; n is 0 if b ends within it.
func varint(b []byte) (v uint64, n int) {
	for n < min(len(b), 8) {
		c := b[n]
		n++
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, n
		}
	}
	if len(b) < 9 {
		return 0, 0
	}
	return v<<8 | uint64(b[8]), 9
}
