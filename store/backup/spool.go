package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"sort"
)

// spool holds what a merge needs in another order than the backup has it: lines of a
// table on the disk, and where they are in memory, 16 bytes each.
type spool struct {
	f   *os.File
	w   *bufio.Writer
	n   int64
	at  []place
	ids []int64 // by which the lines are found, rising
}

// place is where a line is, and to which partition, by its number, it belongs.
type place struct {
	off  int64
	size int32
	part int32
}

// newSpool makes the file in a folder of the home.
func newSpool(home *os.Root, path string) (*spool, error) {
	f, err := home.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &spool{f: f, w: bufio.NewWriterSize(f, 256<<10)}, nil
}

func (s *spool) add(line []byte, part int32) error {
	s.at = append(s.at, place{s.n, int32(len(line)), part})
	s.n += int64(len(line))
	_, err := s.w.Write(line)
	return err
}

func (s *spool) line(p place) ([]byte, error) {
	b := make([]byte, p.size)
	_, err := s.f.ReadAt(b, p.off)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// find returns the line of an id, nil if there is none.
func (s *spool) find(id int64) ([]byte, error) {
	i := sort.Search(len(s.ids), func(i int) bool { return s.ids[i] >= id })
	if i == len(s.ids) || s.ids[i] != id {
		return nil, nil
	}
	return s.line(s.at[i])
}

func (s *spool) close() error { return s.f.Close() }

// spoolMemories spools the memories of a backup by partition, and returns the partitions
// in the order of their numbers and the columns of the lines.
func spoolMemories(ctx context.Context, a *archive, s *spool) (parts []string, cols []column, err error) {
	t, _ := tableNamed("memories")
	number := map[string]int32{}
	err = a.lines(ctx, t, func(cs []column) error { cols = cs; return nil }, func(line []byte, values []any) error {
		part, _ := values[index(cols, "part")].(string)
		n, ok := number[part]
		if !ok {
			n = int32(len(parts))
			number[part] = n
			parts = append(parts, part)
		}
		return s.add(line, n)
	})
	if err == nil {
		err = s.w.Flush()
	}
	slices.SortStableFunc(s.at, func(a, b place) int { return cmp.Compare(a.part, b.part) })
	return parts, cols, err
}

// spoolVectors spools the vectors of one embedding space of a backup, by memory.
func spoolVectors(ctx context.Context, a *archive, s *spool, space int64) error {
	t, _ := tableNamed("vectors")
	var cols []column
	sorted := true
	err := a.lines(ctx, t, func(cs []column) error { cols = cs; return nil }, func(_ []byte, values []any) error {
		rid, _ := values[index(cols, "rid")].(int64)
		emb, _ := values[index(cols, "emb")].([]byte)
		if of, _ := values[index(cols, "space")].(int64); of != space || len(emb) == 0 {
			return nil
		}
		sorted = sorted && (len(s.ids) == 0 || s.ids[len(s.ids)-1] < rid)
		s.ids = append(s.ids, rid)
		return s.add(bytes.Clone(emb), 0)
	})
	if err == nil {
		err = s.w.Flush()
	}
	if !sorted { // then nothing can be found; a vector is made again from its text
		s.ids, s.at = nil, nil
	}
	return err
}
