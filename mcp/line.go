package mcp

import (
	"bufio"
	"bytes"
	"io"
)

// MaxLine is the longest line, in bytes, that is accepted on stdin. It is far beyond any
// honest call and small enough that a runaway client cannot fill the memory.
const MaxLine = 4 << 20

// line is one line of input without its end.
type line struct {
	data []byte
	size int64       // bytes, also of what was not kept
	long bool        // longer than MaxLine: data is nil
	scan *topScanner // what is known of a long line
}

// lineReader cuts a stream into lines. A line beyond the limit is read to its end
// without being kept, so that the next request works.
type lineReader struct {
	r    *bufio.Reader
	max  int
	held []byte // of the line at hand; reused, so that long lines cost no more each time
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line, and io.EOF after the last one. A last line without an end
// is a line all the same.
func (r *lineReader) next() (line, error) {
	var l line
	r.held = r.held[:0]
	for {
		chunk, err := r.r.ReadSlice('\n')
		l.size += int64(len(chunk))
		switch {
		case l.long:
			l.scan.feed(chunk)
		case len(r.held)+len(chunk) > r.max+2: // two for the line's end
			r.give(&l)
			l.scan.feed(chunk)
		default:
			r.held = append(r.held, chunk...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && l.size > 0, err == nil:
			r.held = bytes.TrimRight(r.held, "\r\n")
			switch {
			case l.long:
			case len(r.held) > r.max:
				r.give(&l)
			default:
				l.data = bytes.Clone(r.held)
			}
			return l, nil
		}
		return line{}, err
	}
}

// give makes l a long line of which only the top level is looked at.
func (r *lineReader) give(l *line) {
	l.long, l.scan = true, &topScanner{}
	l.scan.feed(r.held)
	r.held = r.held[:0]
}
