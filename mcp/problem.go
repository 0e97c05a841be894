package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie/internal/caller"
	"reverie/internal/cleantext"
	"reverie/memo"
	"reverie/store"
	"reverie/vector"
)

// internalError is all that a client learns of a fault of ours; the log has the rest.
const internalError = "internal error; nothing is known to be lost, try once more, and if it stays run: reverie doctor"

// problem puts err into words for the model that called the tool: what was wrong, the
// limit, and the next call to make. Faults of ours are logged and not explained.
func (s *Server) problem(name string, err error) string {
	var (
		argument *argumentError
		full     *vector.LimitError
		long     *memo.TooLongError
		conflict *memo.ConflictError
	)
	again := fmt.Sprintf("; correct it and call %s again", name)
	if strings.Contains(name, "://") {
		again = ""
	}
	switch {
	case errors.As(err, &argument):
		return name + ": " + err.Error() + again
	case errors.As(err, &full):
		return s.fullPartition(name, full)
	case errors.As(err, &long):
		return fmt.Sprintf("%v; nothing was changed; shorten it by %d characters, keep details with write_memory, and call %s again", long, long.Chars-long.Limit, name)
	case errors.As(err, &conflict):
		return fmt.Sprintf("%v; nothing was changed; merge your change into the current text and call %s again with expected_version %d\n%s",
			conflict, name, conflict.Current.Version, s.fenced("memo", conflict.Current.Content))
	case errors.Is(err, vector.ErrNotFound):
		return plain(err, vector.ErrNotFound) + "; call read_memory or list_memory to find the id (in a group, with the scope it was found in)"
	case errors.Is(err, vector.ErrState):
		return plain(err, vector.ErrState)
	case errors.Is(err, vector.ErrAmbiguous):
		return plain(err, vector.ErrAmbiguous) + "; give the whole id"
	case errors.Is(err, vector.ErrInvalid):
		return plain(err, vector.ErrInvalid) + again
	case errors.Is(err, memo.ErrInvalid):
		return plain(err, memo.ErrInvalid) + again
	case errors.Is(err, cleantext.ErrInvalid):
		return plain(err, cleantext.ErrInvalid) + again
	case errors.Is(err, store.ErrText):
		return plain(err, store.ErrText) + again
	case errors.Is(err, store.ErrUnreachable):
		// Where the database is, and why it is away, is for the operator.
		s.log.Error("database unreachable", "in", name, "err", err)
		return store.ErrUnreachable.Error() + ": nothing was changed; try once more in a moment; if it stays, the operator finds the reason with: reverie doctor"
	case errors.Is(err, store.ErrInDoubt):
		s.log.Error("outcome unknown", "in", name, "err", err)
		return store.ErrInDoubt.Error() + ": the database went away in the middle of this change, which may have been stored or not; look with read_memory, list_memory or read_memo before you call " + name + " again"
	case known(err):
		return err.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "the call was cancelled before it was done"
	}
	s.log.Error("internal error", "in", name, "err", err)
	return internalError
}

// known reports whether err is a condition that its own text explains to the end.
func known(err error) bool {
	for _, k := range []error{
		caller.ErrInvalid, caller.ErrNoGroup, caller.ErrForbidden, vector.ErrDenied,
		store.ErrFull, store.ErrReadOnly, store.ErrDamaged, store.ErrBusy, store.ErrMoved, store.ErrNewer,
	} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

// plain is err's text without the name of its kind, which only programs need.
func plain(err error, kind error) string {
	return strings.Replace(err.Error(), kind.Error()+": ", "", 1)
}

func (s *Server) fullPartition(name string, full *vector.LimitError) string {
	if len(full.Candidates) == 0 {
		return fmt.Sprintf("%v; nothing was stored; delete or merge old ones with delete_memory or update_memory, then call %s again", full, name)
	}
	var body strings.Builder
	for _, m := range full.Candidates {
		body.WriteString(s.line(m) + ": " + preview(m.Content) + "\n")
	}
	return fmt.Sprintf("%v; nothing was stored; merge some of these with update_memory or drop them with delete_memory, then call %s again:\n%s",
		full, name, s.fenced("memories", body.String()))
}
