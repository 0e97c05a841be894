package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// ErrFormat marks a file that is not an export, or not a whole one; the message says what
// is wrong and at which line. Nothing was imported.
var ErrFormat = errors.New("not an export that can be read")

// lines reads an export line by line.
type lines struct {
	r     *bufio.Reader
	n     int // number of the line read last
	ended bool
}

func newLines(r io.Reader) (*lines, error) {
	l := &lines{r: bufio.NewReaderSize(r, 1<<16)}
	first, err := l.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: the file is empty", ErrFormat)
	case bytes.HasPrefix(first, []byte("\xef\xbb\xbf")):
		return nil, fmt.Errorf("%w: it begins with a byte order mark; save it as UTF-8 without one", ErrFormat)
	case err != nil:
		return nil, err
	}
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if json.Unmarshal(first, &head) != nil || head.Format != formatName {
		return nil, fmt.Errorf("%w: its first line is not {\"format\":%q,...}; it was not written by reverie export (other programs' data: reverie import p1, reverie import p2)", ErrFormat, formatName)
	}
	if head.Version != formatVersion {
		return nil, fmt.Errorf("%w: it has format version %d and this program knows %d; install the newer reverie", ErrFormat, head.Version, formatVersion)
	}
	if err := decode(first, &head, headFields); err != nil {
		return nil, l.bad(err)
	}
	return l, nil
}

// bad is an error about the line read last.
func (l *lines) bad(err error) error { return fmt.Errorf("%w: line %d: %w", ErrFormat, l.n, err) }

// next returns the next line without its end; it is valid until the next call.
func (l *lines) next() ([]byte, error) {
	l.n++
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := append([]byte{}, line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > maxLine {
				return nil, l.bad(fmt.Errorf("it has more than %d bytes", maxLine))
			}
			line, err = l.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	switch {
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return line, l.bad(errors.New("it has no end: the file was cut off"))
	case err != nil:
		return nil, fmt.Errorf("read line %d: %w", l.n, err)
	}
	line = line[:len(line)-1]
	switch {
	case bytes.HasSuffix(line, []byte("\r")):
		return line, l.bad(errors.New("it ends as on Windows (CR LF); convert the file to Unix line ends"))
	case !utf8.Valid(line):
		return line, l.bad(errors.New("it is not valid UTF-8"))
	}
	return line, nil
}

// entry is what stands in one line: a memo, a memory, or the reason why it can be neither.
type entry struct {
	line   int
	part   string
	memo   *memoLine
	memory *memoryLine
	err    error
}

// entry returns the next entry, or io.EOF behind the last one of a whole file.
func (l *lines) entry(memos, memories int) (entry, error) {
	line, err := l.next()
	if errors.Is(err, io.EOF) {
		if !l.ended {
			return entry{}, fmt.Errorf("%w: its last line, {\"type\":\"end\",...}, is missing: the file was cut off after line %d", ErrFormat, l.n-1)
		}
		return entry{}, io.EOF
	}
	if err != nil {
		return entry{}, err
	}
	if l.ended {
		return entry{}, l.bad(errors.New("something follows the end; import one file at a time"))
	}
	var what struct {
		Type      string `json:"type"`
		Partition string `json:"partition"`
	}
	if !json.Valid(line) || json.Unmarshal(line, &what) != nil {
		return entry{}, l.bad(errors.New("it is not a JSON object with the texts type and partition"))
	}
	e := entry{line: l.n, part: what.Partition}
	switch what.Type {
	case typeMemo:
		e.memo = &memoLine{}
		e.err = decode(line, e.memo, memoFields)
	case typeMemory:
		e.memory = &memoryLine{}
		e.err = decode(line, e.memory, memoryFields)
	case typeEnd:
		var end endLine
		if err := decode(line, &end, endFields); err != nil {
			return entry{}, l.bad(err)
		}
		if end.Memos != memos || end.Memories != memories {
			return entry{}, l.bad(fmt.Errorf("it counts %d memos and %d memories, and the file has %d and %d: lines are missing or were added (after editing, correct the counts)", end.Memos, end.Memories, memos, memories))
		}
		l.ended = true
		return l.entry(memos, memories)
	default:
		return entry{}, l.bad(fmt.Errorf("unknown type %q", clip(what.Type)))
	}
	return e, nil
}
