// Package intake is the one way by which text from outside becomes text that is stored:
// it puts the rules of cleantext, fence and redact in their order, so that memories,
// memos, and whatever is written later are treated alike.
//
// The rules themselves live in those packages; limits of length belong to whoever
// stores the text.
package intake

import (
	"errors"
	"fmt"
	"strings"

	"reverie/internal/cleantext"
	"reverie/internal/fence"
	"reverie/internal/redact"
)

// Policy says what the operator wants of the rules; the zero value is the safe default.
type Policy struct {
	KeepSecrets bool // store keys and passwords as they come
}

// Clean returns text as it may be stored, and what was changed in it, in sentences for
// the writer. The result may be empty. An error says what cannot be stored and why; it
// matches [cleantext.ErrInvalid].
func (p Policy) Clean(text string) (clean string, notices []string, err error) {
	clean, invisible, err := cleantext.Accept("text", text, 0)
	if err != nil {
		var bad *cleantext.Error
		if errors.As(err, &bad) {
			return "", nil, fmt.Errorf("%w: %s", cleantext.ErrInvalid, bad.Reason)
		}
		return "", nil, err
	}
	if invisible > 0 {
		notices = append(notices, fmt.Sprintf("removed %d invisible characters", invisible))
	}
	// Recalled text first: it may quote anything, and is to go as a whole.
	clean, fenced := fence.Strip(clean)
	if fenced > 0 {
		notices = append(notices, "removed text that was recalled from memory")
	}
	clean, private := redact.StripPrivate(clean)
	if private {
		notices = append(notices, "removed <private> text, as asked")
	}
	if !p.KeepSecrets {
		var kinds []string
		if clean, kinds = redact.Secrets(clean); len(kinds) > 0 {
			notices = append(notices, "redacted secrets: "+strings.Join(kinds, ", "))
		}
	}
	return strings.TrimSpace(clean), notices, nil
}
