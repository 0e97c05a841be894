package backup

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"reverie/store"
)

// looksLikeJSON reports whether a file begins as an object of JSON, as P1's backups do.
func looksLikeJSON(f *os.File) bool {
	var head [64]byte
	n, _ := f.ReadAt(head[:], 0)
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("{"))
}

// source is a backup of this program, or one of P1.
type source struct {
	zip *archive
	old *oldBackup
}

func (s *source) Close() error {
	if s.zip != nil {
		return s.zip.Close()
	}
	return nil
}

// Recognize reports whether a file is a backup of this program or of P1, also a damaged
// one. It reads no more than it takes to tell.
func Recognize(path string) bool {
	s, err := open(path)
	if err == nil {
		s.Close()
	}
	return err == nil || errors.Is(err, ErrBroken) || errors.Is(err, store.ErrNewer)
}

// open opens a backup of either program.
func open(path string) (*source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() { // opening a pipe would wait for its other end
		return nil, fmt.Errorf("%w: it is no regular file", ErrForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if looksLikeJSON(f) {
		defer f.Close()
		old, err := readOld(f, st.Size())
		return &source{old: old}, err
	}
	a, err := newArchive(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &source{zip: a}, nil
}
