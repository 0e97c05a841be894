package store

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Result codes of SQLite, https://www.sqlite.org/rescode.html; the low byte of an extended code.
const (
	codePerm       = 3
	codeBusy       = 5
	codeLocked     = 6
	codeReadOnly   = 8
	codeInterrupt  = 9
	codeIOErr      = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeConstraint = 19
	codeNotADB     = 26
)

// codeShmSize is an extended code of codeIOErr: there was no room for the file by which
// processes share the log's index.
const codeShmSize = 4874

// code returns the primary result code of an engine error, 0 for any other error.
func code(err error) int { return extendedCode(err) & 0xff }

func extendedCode(err error) int {
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return 0
	}
	return coded.Code()
}

func full(path string, err error) error {
	return fmt.Errorf("%w: nothing was stored; free space on the disk of %s, then call again (%w)", ErrFull, path, err)
}

// classifySQLite puts a known condition before an engine error; others pass unchanged.
func classifySQLite(path string, err error) error {
	if err == nil || isKnown(err) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) { // of a file that is copied or made beside the database
		return full(path, err)
	}
	if strings.Contains(err.Error(), "sql: Scan error") {
		// database/sql has no better name for it: a column that holds what was never
		// stored there, which SQLite itself does not mind.
		return fmt.Errorf("%w: a row in %s has values of the wrong type; stop all servers of this home and run: reverie doctor --repair (%w)", ErrDamaged, path, err)
	}
	switch code(err) {
	case codeFull:
		return full(path, err)
	case codeReadOnly, codePerm:
		return fmt.Errorf("%w: nothing was stored; make %s and its folder writable, or choose another home with --home DIR (%w)", ErrReadOnly, path, err)
	case codeCantOpen:
		return fmt.Errorf("%w: cannot open %s; check that its folder exists and is writable, or choose another home with --home DIR (%w)", ErrReadOnly, path, err)
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("%w: part of %s cannot be read; stop all servers of this home and run: reverie doctor --repair (%w)", ErrDamaged, path, err)
	case codeIOErr:
		if extendedCode(err) == codeShmSize {
			return full(path, err)
		}
		return fmt.Errorf("%w: the disk under %s returned an error; check the disk, then run: reverie doctor (%w)", ErrDamaged, path, err)
	case codeBusy, codeLocked:
		return fmt.Errorf("%w: another process is writing to %s; nothing was stored, call again (%w)", ErrBusy, path, err)
	}
	return err
}
