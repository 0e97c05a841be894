package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// pageFile reads the pages of a database file as they are, with what its log adds, and
// trusts nothing in them: it serves files that SQLite refuses. The format is
// https://www.sqlite.org/fileformat2.html. Nobody may have the database open.
type pageFile struct {
	db, wal *os.File
	size    int              // bytes of a page
	usable  int              // bytes of a page that hold data
	pages   uint32           // pages are numbered from 1
	inLog   map[uint32]int64 // where the log has a newer version of a page
	header  bool             // page 1 is that of a SQLite database
	unused  map[uint32]bool  // pages on the free list, which hold rows of the past
	budget  int64            // bytes of overflow pages that the records of the page at hand may still have
}

const (
	magic       = "SQLite format 3\x00"
	usualPage   = 4096
	walHeader   = 32
	frameHeader = 24
)

func openPages(path string) (p *pageFile, err error) {
	p = &pageFile{size: usualPage, inLog: map[uint32]int64{}}
	if p.db, err = os.Open(path); err != nil {
		return nil, err
	}
	if p.wal, err = os.Open(path + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.db.Close()
		return nil, err
	}
	var head [100]byte
	if n, _ := p.db.ReadAt(head[:], 0); n == len(head) && string(head[:16]) == magic {
		if s := pageSize(uint32(binary.BigEndian.Uint16(head[16:]))); s != 0 {
			p.size = s
		}
	}
	var last uint32
	if p.wal != nil {
		last = p.readLog()
	}
	st, err := p.db.Stat()
	if err != nil {
		p.Close()
		return nil, err
	}
	p.usable = p.size
	p.pages = max(uint32((st.Size()+int64(p.size)-1)/int64(p.size)), last)
	if one, err := p.page(1); err == nil && string(one[:16]) == magic {
		p.header = true
		p.usable -= int(one[20])
		p.readFreeList(binary.BigEndian.Uint32(one[32:]), int(binary.BigEndian.Uint32(one[36:])))
	}
	return p, nil
}

func (p *pageFile) Close() error {
	err := p.db.Close()
	if p.wal != nil {
		err = errors.Join(err, p.wal.Close())
	}
	return err
}

// pageSize turns the stored number into a size, 0 if it is none.
func pageSize(n uint32) int {
	if n == 1 {
		return 65536
	}
	if n < 512 || n > 65536 || n&(n-1) != 0 {
		return 0
	}
	return int(n)
}

// page returns a page in its newest version. A file that ends within it reads as zeros
// from there.
func (p *pageFile) page(n uint32) ([]byte, error) {
	if n < 1 || n > p.pages {
		return nil, fmt.Errorf("no page %d", n)
	}
	b := make([]byte, p.size)
	f, at := p.db, int64(n-1)*int64(p.size)
	if off, ok := p.inLog[n]; ok {
		f, at = p.wal, off
	}
	if got, err := f.ReadAt(b, at); got == 0 || err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("page %d: %w", n, err)
	}
	return b, nil
}

// readLog finds the committed pages of the write-ahead log and returns the greatest
// page number. A frame that does not check is left out, and those after it are still
// taken: SQLite itself would drop them.
func (p *pageFile) readLog() (last uint32) {
	var head [walHeader]byte
	if n, _ := p.wal.ReadAt(head[:], 0); n < walHeader || binary.BigEndian.Uint32(head[:])&^1 != 0x377f0682 {
		return 0
	}
	size := pageSize(binary.BigEndian.Uint32(head[8:]))
	if size == 0 {
		return 0
	}
	p.size = size
	var order binary.ByteOrder = binary.LittleEndian
	if head[3]&1 == 1 {
		order = binary.BigEndian
	}
	sum := [2]uint32{binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[28:])}
	waiting := map[uint32]int64{} // until their transaction commits
	frame := make([]byte, frameHeader+size)
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if n, _ := p.wal.ReadAt(frame, at); n < len(frame) {
			return last
		}
		if string(frame[8:16]) != string(head[16:24]) {
			continue // left over from before the log was begun anew
		}
		sum = checksum(order, sum, frame[:8])
		sum = checksum(order, sum, frame[frameHeader:])
		stored := [2]uint32{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])}
		ok := sum == stored
		sum = stored // each frame's sum begins with that of the one before
		if !ok {
			continue
		}
		pgno := binary.BigEndian.Uint32(frame)
		waiting[pgno] = at + frameHeader
		if binary.BigEndian.Uint32(frame[4:]) == 0 {
			continue
		}
		for n, off := range waiting {
			p.inLog[n] = off
			last = max(last, n)
		}
		clear(waiting)
	}
}

func checksum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}

// readFreeList notes the unused pages. A list that is not as long as the header says is
// damaged and not believed: it would hide pages that are in use.
func (p *pageFile) readFreeList(trunk uint32, want int) {
	unused := map[uint32]bool{}
	for trunk != 0 && !unused[trunk] && len(unused) <= want {
		b, err := p.page(trunk)
		if err != nil {
			return
		}
		unused[trunk] = true
		n := int(binary.BigEndian.Uint32(b[4:]))
		if n < 0 || 8+4*n > len(b) {
			return
		}
		for i := range n {
			unused[binary.BigEndian.Uint32(b[8+4*i:])] = true
		}
		trunk = binary.BigEndian.Uint32(b)
	}
	if len(unused) == want {
		p.unused = unused
	}
}
