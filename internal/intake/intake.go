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
	KeepSecrets    bool // store keys and passwords as they come
	RefuseRecalled bool // an error for text with recalled memory in it, instead of taking that out
}

// maxRounds bounds how often the text is looked at again after something was taken out of it: the halves of a mark
// may have stood around a private block, and the other way round.
const maxRounds = 8

// Clean returns text as it may be stored, and what was changed in it, in sentences for
// the writer. The result may be empty. An error says what cannot be stored and why; it
// matches [cleantext.ErrInvalid] and does not quote the text. Cleaning what Clean
// returned changes nothing.
func (p Policy) Clean(text string) (clean string, notices []string, err error) {
	clean, invisible, err := cleantext.Accept("text", text, 0)
	if err != nil {
		var bad *cleantext.Error
		if errors.As(err, &bad) {
			return "", nil, fmt.Errorf("%w: %s", cleantext.ErrInvalid, bad.Reason)
		}
		return "", nil, err
	}
	var recalled, private bool
	for round := 0; ; round++ {
		// Recalled text first: it may quote anything, and is to go as a whole.
		left, fenced := fence.Strip(clean)
		if fenced > 0 && p.RefuseRecalled {
			return "", nil, fmt.Errorf("%w: the text has the marks of recalled memory (lines such as ⟦memo ...⟧); write the text itself, without those lines", cleantext.ErrInvalid)
		}
		left, asked := redact.StripPrivate(left)
		if fenced == 0 && !asked {
			break
		}
		if round == maxRounds {
			return "", nil, fmt.Errorf("%w: the text has marks of recalled memory and <private> tags nested in one another; write it without them", cleantext.ErrInvalid)
		}
		recalled, private = recalled || fenced > 0, private || asked
		// What is left may have lost the neighbours that justified an invisible character.
		var n int
		clean, n = cleantext.Clean(left)
		invisible += n
	}
	if invisible > 0 {
		notices = append(notices, fmt.Sprintf("removed %d invisible characters", invisible))
	}
	if recalled {
		notices = append(notices, "removed text that was recalled from memory")
	}
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
