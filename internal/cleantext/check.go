package cleantext

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrInvalid is matched, by errors.Is, by every error of this package: the text is at fault, not the server.
var ErrInvalid = errors.New("invalid text")

// Error says what is wrong with a text and what to do about it. It never quotes the text.
type Error struct {
	Field  string // name of the argument or key, as the caller knows it
	Reason string // what was found and the next step, without the field
	Pos    int    // 1-based index of the offending character, 0 if the text as a whole is at fault
	Actual int    // length found, in characters; set when the limit was exceeded
	Limit  int    // length allowed, in characters; set when the limit was exceeded
}

// Error returns "field: reason".
func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// Is makes every Error match [ErrInvalid].
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// Check reports the first thing in s that cannot be accepted: invalid UTF-8, NUL, any other C0 control character
// except tab, line feed and carriage return, or more than maxRunes characters (code points; no limit if maxRunes is
// below 1). The error is an [*Error] that names field.
func Check(field, s string, maxRunes int) error {
	if err := checkRunes(field, s); err != nil {
		return err
	}
	return checkLength(field, s, maxRunes)
}

// Accept is Check and Clean in the right order: the characters are checked as they came, so that a position in an
// error is one in the caller's own text; the limit of maxRunes characters holds for what is left after cleaning.
// It returns the cleaned text and how many characters were removed from it. An empty result is not an error.
func Accept(field, s string, maxRunes int) (clean string, removed int, err error) {
	if err := checkRunes(field, s); err != nil {
		return "", 0, err
	}
	clean, removed = Clean(s)
	if err := checkLength(field, clean, maxRunes); err != nil {
		return "", 0, err
	}
	return clean, removed, nil
}

func checkRunes(field, s string) error {
	pos := 0
	for i := 0; i < len(s); {
		pos++
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return &Error{Field: field, Pos: pos, Reason: fmt.Sprintf(
					"invalid UTF-8 (byte 0x%02x) at character %d; send the text encoded as UTF-8", c, pos)}
			}
			i += size
			continue
		}
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			name := "control character"
			if c == 0 {
				name = "NUL character"
			}
			return &Error{Field: field, Pos: pos, Reason: fmt.Sprintf(
				"%s U+%04X at character %d; remove it (of the control characters only line breaks and tabs are allowed)",
				name, c, pos)}
		}
		i++
	}
	return nil
}

func checkLength(field, s string, limit int) error {
	if limit < 1 || len(s) <= limit {
		return nil
	}
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return nil
	}
	return &Error{Field: field, Actual: n, Limit: limit, Reason: fmt.Sprintf(
		"%d characters, at most %d are allowed; shorten it by %d or split it into several", n, limit, n-limit)}
}
