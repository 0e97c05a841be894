package chroma

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is a request that the server, or the way to it, did not answer as asked.
type Error struct {
	Op      string // what was being done, such as "upsert into reverie_s1_b03"
	Status  int    // HTTP status, 0 if there was no answer
	Kind    string // the server's name for it, such as NotFoundError; empty if it gave none
	Message string // the server's words, cut to a line
	// Retryable says that the same request may succeed later: no answer, too many
	// requests, or a fault of the server.
	Retryable bool
	Err       error // why there was no answer, or none that can be used
}

// Error says what was being done and what came of it.
func (e *Error) Error() string {
	switch {
	case e.Status == 0:
		return fmt.Sprintf("chroma: %s: no answer: %v", e.Op, e.Err)
	case e.Err != nil:
		return fmt.Sprintf("chroma: %s: unusable answer: %v", e.Op, e.Err)
	case e.Kind != "":
		return fmt.Sprintf("chroma: %s: %s (%d %s)", e.Op, e.Message, e.Status, e.Kind)
	case e.Status == http.StatusNotFound:
		return fmt.Sprintf("chroma: %s: the server does not know this address; is it a Chroma server of version 1 or newer?", e.Op)
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fmt.Sprintf("chroma: %s: access refused (%d); check vector_db.headers", e.Op, e.Status)
	}
	return fmt.Sprintf("chroma: %s: %s (%d)", e.Op, e.Message, e.Status)
}

// Unwrap gives the reason for which there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// Gone reports that no server answered at all, or only something in front of it.
func (e *Error) Gone() bool {
	switch e.Status {
	case 0, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// IsNotFound reports that the collection, tenant or database of a request is not there.
// An unknown address, as of another kind of server, is not meant.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound && e.Kind != ""
}

// MismatchError is a collection that is not what was asked for. Making it again under
// its name would not change it: it must be deleted first.
type MismatchError struct {
	Collection Collection // as it is
	What       string     // the first difference
}

// Error names the collection and the difference.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("chroma: collection %s is another one: %s", e.Collection.Name, e.What)
}

// maxMessage bounds the server's words in an error, in runes.
const maxMessage = 200
