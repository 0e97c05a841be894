package embedding

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"reverie/internal/cleantext"
)

// Kind says what went wrong with an embedding server, so that a caller can
// decide what to do without reading messages.
type Kind string

// The kinds of a [RemoteError].
const (
	KindUnreachable  Kind = "unreachable"   // no connection, or one that broke off
	KindTimeout      Kind = "timeout"       // no answer in time
	KindUnauthorized Kind = "unauthorized"  // the key is missing, wrong, or not enough
	KindModelMissing Kind = "model-missing" // no such model, none to choose, or one that cannot embed
	KindRateLimited  Kind = "rate-limited"  // too many requests, or a used-up quota
	KindBadAnswer    Kind = "bad-answer"    // an answer that is no set of vectors for the texts sent
	KindBadInput     Kind = "bad-input"     // the server refuses the text or the request
	KindDimension    Kind = "dimension"     // vectors of another length than measured or configured
	KindServer       Kind = "server"        // the server itself is in trouble
)

// ErrDimension is what errors.Is finds in every [RemoteError] of [KindDimension]:
// the model behind the name is another one now, or does not give the vectors
// that were configured. Stored vectors no longer fit; see [Remote.Forget].
var ErrDimension = errors.New("vectors of another length")

// ErrClosed is returned by a [Remote] after Close.
var ErrClosed = errors.New("the embedder is closed")

// RemoteError is every failure of a [Remote] that is not the caller's own
// cancellation. Its message is one line, says what to do next where that is
// known, and holds neither the key nor the texts that were sent.
type RemoteError struct {
	Kind       Kind
	Status     int           // HTTP status, 0 without an answer
	Message    string        // for people; server text in it is cut and cleaned
	RetryAfter time.Duration // how long the server asks to wait, 0 if it does not
	Retryable  bool          // the same request may succeed a little later

	cause   error
	tooLong bool // a text is beyond what the model reads
	shape   bool // the number of vectors is not that of the texts
}

// Error returns the message.
func (e *RemoteError) Error() string { return e.Message }

// Unwrap returns the error of the network, if there was one.
func (e *RemoteError) Unwrap() error { return e.cause }

// Is makes errors.Is(err, ErrDimension) true for [KindDimension].
func (e *RemoteError) Is(target error) bool { return target == ErrDimension && e.Kind == KindDimension }

// BatchError is returned by [Remote.EmbedDocuments] beside its results when the
// server works but refuses some of the texts. The results of all others are good.
type BatchError struct {
	Bad map[int]error // what is wrong, by the position of the text
}

// Error counts the bad texts and tells the first one's fault.
func (e *BatchError) Error() string {
	at := e.positions()
	if len(at) == 0 {
		return "no text was refused"
	}
	if len(at) == 1 {
		return fmt.Sprintf("text %d was not embedded: %v", at[0]+1, e.Bad[at[0]])
	}
	return fmt.Sprintf("%d texts were not embedded; the first is text %d: %v", len(at), at[0]+1, e.Bad[at[0]])
}

// Unwrap returns the errors in the order of their texts.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, 0, len(e.Bad))
	for _, i := range e.positions() {
		errs = append(errs, e.Bad[i])
	}
	return errs
}

func (e *BatchError) positions() []int {
	at := make([]int, 0, len(e.Bad))
	for i := range e.Bad {
		at = append(at, i)
	}
	sort.Ints(at)
	return at
}

// asRemote returns the RemoteError in err, or nil.
func asRemote(err error) *RemoteError {
	var re *RemoteError
	if errors.As(err, &re) {
		return re
	}
	return nil
}

// Bounds of server text in messages.
const (
	maxServerText = 200 // characters
	telltale      = 16  // characters of a sent text by which its echo is known
)

// serverText makes one harmless line of what a server wrote: without control
// characters, the key, or texts that were sent to it.
func serverText(s, key string, sent []string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 16<<10)], " ")
	if key != "" {
		s = strings.ReplaceAll(s, key, "***")
	}
	for _, text := range sent {
		if echoes(s, text) {
			return "(its text repeats the input and is not shown)"
		}
	}
	return cleantext.OneLine(s, maxServerText)
}

// echoes reports whether s repeats a piece of text. Short texts are words that
// any message may hold.
func echoes(s, text string) bool {
	runes := []rune(text[:min(len(text), 4<<10)])
	for from := 0; from+telltale <= len(runes); from += telltale {
		if strings.Contains(s, string(runes[from:from+telltale])) {
			return true
		}
	}
	return false
}
