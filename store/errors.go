package store

import (
	"errors"
	"slices"
)

// Conditions of the storage that a user can do something about. Errors that wrap one
// say in plain words what happened and what to do next.
var (
	// ErrFull means that the disk or quota is full. Nothing of the change was stored.
	ErrFull = errors.New("disk full")
	// ErrReadOnly means that the database cannot be written. Nothing of the change was stored.
	ErrReadOnly = errors.New("read-only storage")
	// ErrDamaged means that part of the database file cannot be read.
	ErrDamaged = errors.New("damaged database")
	// ErrBusy means that another process kept the database locked beyond the busy timeout.
	ErrBusy = errors.New("database busy")
	// ErrUnreachable means that the database server does not answer or does not let the
	// program in. Nothing of the change was stored.
	ErrUnreachable = errors.New("database unreachable")
	// ErrInDoubt means that the connection broke while a change was being stored and that
	// the server has not answered since: whether the change was stored is not known.
	ErrInDoubt = errors.New("outcome unknown")
	// ErrText means that PostgreSQL cannot hold a text: it has a NUL character in it or is
	// not UTF-8. Nothing of the change was stored.
	ErrText = errors.New("text that cannot be stored")
	// ErrMoved means that the database file is no longer where it was opened: what is
	// written into it now would be lost. Nothing of the change was stored.
	ErrMoved = errors.New("database moved")
	// ErrNewer means that the database was written by a newer version of the program.
	ErrNewer = errors.New("database of a newer version")
	// ErrUnchanged is returned by a function under [DB.Write] that found nothing to
	// change: the transaction is rolled back and Write returns nil.
	ErrUnchanged = errors.New("unchanged")
)

// known are the conditions that a classified error has already been given.
var known = []error{ErrFull, ErrReadOnly, ErrDamaged, ErrBusy, ErrUnreachable, ErrInDoubt, ErrText, ErrMoved, ErrNewer}

// isKnown reports whether an error says already, by a call inside the one that got it,
// which condition it is.
func isKnown(err error) bool {
	return slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) })
}
