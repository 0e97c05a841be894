package vector

import (
	"errors"
	"fmt"
)

var (
	// ErrInvalid marks an argument that cannot be used; the message names it, the limit and what is allowed.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound means that the caller's partition has no such memory, or none that the caller may see.
	ErrNotFound = errors.New("not found")
	// ErrState means that the memory is there, but in a state in which the call makes no
	// sense; the message says in which one and what can be done.
	ErrState = errors.New("wrong state")
	// ErrAmbiguous means that an id prefix fits several memories; the message lists them.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrDenied means that the privacy settings keep the user's memories out of groups.
	ErrDenied = errors.New("kept private")
)

// LimitError refuses a write to a full partition. Nothing was stored.
type LimitError struct {
	Count, Limit int
	Candidates   []Memory // at most five that are best merged or deleted
}

// Error states the numbers; the candidates are for the caller to show.
func (e *LimitError) Error() string {
	return fmt.Sprintf("memory is full: %d of %d memories in use", e.Count, e.Limit)
}
