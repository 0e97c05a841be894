package memo

import (
	"errors"
	"fmt"
	"time"
)

// Memo is the one short text of a partition that is always in view.
type Memo struct {
	Content   string    `json:"content"`
	Version   int64     `json:"version"` // 0 when nothing was ever written, +1 per change
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	UpdatedBy string    `json:"updated_by,omitempty"`
}

// ErrInvalid marks text that cannot be stored; the message says why and what to do.
var ErrInvalid = errors.New("invalid memo")

// TooLongError refuses a memo over the limit. Nothing was changed.
type TooLongError struct{ Chars, Limit int } // code points

func (e *TooLongError) Error() string {
	return fmt.Sprintf("memo has %d characters; the limit is %d", e.Chars, e.Limit)
}

// ConflictError refuses a write that was based on an older version. Nothing was changed.
type ConflictError struct {
	Expected int64
	Current  Memo
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("memo is at version %d, not %d: it was changed since you read it", e.Current.Version, e.Expected)
}
