package mcp

import (
	"bytes"
	"encoding/json"
)

// topScanner looks at the top level of a JSON object that arrives in pieces, to find
// the id under which an error about it must be answered. It keeps a few bytes only and
// never fails: of text that is no JSON it finds no id.
type topScanner struct {
	depth   int
	inText  bool
	escaped bool
	wantKey bool   // a string at depth 1 would be a key
	keep    bool   // the bytes of the value at hand are collected
	buf     []byte // of the key or the value at hand
	key     string
	id      []byte
	method  bool
}

// done is the depth after the end of the first value: nothing counts any more.
const done = -1 << 40

// maxID bounds the bytes of an id that is found in a line too long to be kept.
const maxID = 4096

func (s *topScanner) feed(p []byte) {
	for _, c := range p {
		if s.inText {
			s.text(c)
			continue
		}
		switch c {
		case '"':
			s.inText = true
			s.begin(c)
		case '{', '[':
			s.depth++
			s.wantKey = s.depth == 1 && c == '{'
			s.keep = false
		case '}', ']':
			s.end()
			if s.depth--; s.depth <= 0 {
				s.depth = done // a second message on the line has no say
			}
		case ',':
			s.end()
			s.wantKey = s.depth == 1
		case ':':
			s.begin(c)
		case ' ', '\t', '\r', '\n':
		default:
			if s.depth == 1 && s.keep {
				s.push(c)
			}
		}
	}
}

// begin starts a string, or the value after a colon.
func (s *topScanner) begin(c byte) {
	switch {
	case s.depth != 1:
	case c == ':':
		s.wantKey = false
		s.keep = s.key == "id"
		s.buf = s.buf[:0]
		s.method = s.method || s.key == "method"
	case s.wantKey:
		s.keep = true
		s.buf = append(s.buf[:0], c)
	case s.keep:
		s.push(c)
	}
}

// text takes one byte inside a string.
func (s *topScanner) text(c byte) {
	if s.depth == 1 && s.keep {
		s.push(c)
	}
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inText = false
		if s.depth == 1 && s.wantKey {
			s.key = ""
			_ = json.Unmarshal(s.buf, &s.key) // no key if it is broken
			s.keep = false
		}
	}
}

// end closes the value at hand.
func (s *topScanner) end() {
	if s.depth == 1 && s.keep && s.key == "id" && validID(s.buf) {
		s.id = bytes.Clone(s.buf)
	}
	s.keep = false
}

func (s *topScanner) push(c byte) {
	if len(s.buf) >= maxID {
		s.keep = false
		return
	}
	s.buf = append(s.buf, c)
}

// validID reports whether raw is what a JSON-RPC id may be: a string or a number.
func validID(raw []byte) bool {
	return len(raw) > 0 && json.Valid(raw) && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
