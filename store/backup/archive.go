package backup

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// most is how many times its packed size a member can have: no honest deflate does more.
// A file that claims more is a bomb.
const most = 1100

// archive is a backup opened for reading. The file stays the same one until Close,
// whatever happens to its name.
type archive struct {
	f       *os.File
	m       *Manifest
	members map[string]*zip.File
}

func (a *archive) Close() error { return a.f.Close() }

// openArchive opens a backup and reads its manifest, and holds its list of members to it.
func openArchive(path string) (*archive, error) {
	// Opening a pipe would wait for its other end.
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", ErrForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := newArchive(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return a, nil
}

func newArchive(f *os.File) (*archive, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", ErrForeign)
	}
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if n < 4 || string(head[:]) != "PK\x03\x04" {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrForeign)
	}
	z, err := zip.NewReader(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%w: its list of contents cannot be read, perhaps the file was cut short (%w)", ErrBroken, err)
	}
	a := &archive{f: f, members: map[string]*zip.File{}}
	for _, m := range z.File {
		if a.members[m.Name] != nil {
			return nil, fmt.Errorf("%w: it holds %s twice", ErrBroken, clip(m.Name))
		}
		a.members[m.Name] = m
	}
	if a.members[manifestName] == nil {
		return nil, fmt.Errorf("%w: it has no manifest", ErrForeign)
	}
	doc, err := a.small(manifestName, maxManifest)
	if err != nil {
		return nil, err
	}
	sum, err := a.small(sumName, 1024)
	if err != nil {
		return nil, err
	}
	if a.m, err = parseManifest(doc, sum); err != nil {
		return nil, err
	}
	return a, a.compare()
}

// compare holds the list of contents to the manifest.
func (a *archive) compare() error {
	known := map[string]bool{manifestName: true, sumName: true}
	for _, x := range a.m.Members {
		f := a.members[x.Name]
		known[x.Name] = true
		switch {
		case f == nil:
			return fmt.Errorf("%w: %s is missing", ErrBroken, clip(x.Name))
		case f.UncompressedSize64 != uint64(x.Bytes):
			return fmt.Errorf("%w: %s has %d bytes and should have %d", ErrBroken, clip(x.Name), f.UncompressedSize64, x.Bytes)
		case f.Method != zip.Deflate && f.Method != zip.Store:
			return fmt.Errorf("%w: %s is packed in a way that this program does not use", ErrBroken, clip(x.Name))
		case f.UncompressedSize64/most > f.CompressedSize64:
			return fmt.Errorf("%w: %s claims to unpack to %d bytes from %d, which cannot be", ErrBroken, clip(x.Name), f.UncompressedSize64, f.CompressedSize64)
		}
	}
	for name := range a.members {
		if !known[name] {
			return fmt.Errorf("%w: it holds %s, of which its manifest says nothing", ErrBroken, clip(name))
		}
	}
	return nil
}

// small reads a member of at most limit bytes.
func (a *archive) small(name string, limit int64) ([]byte, error) {
	f := a.members[name]
	if f == nil {
		return nil, fmt.Errorf("%w: %s is missing", ErrBroken, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, broken(name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, broken(name, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrBroken, name, limit)
	}
	return b, nil
}

func broken(name string, err error) error {
	return fmt.Errorf("%w: %s cannot be read (%w)", ErrBroken, clip(name), err)
}

// read gives fn the content of a member, and holds it to its size and checksum. What fn
// did is to be undone if read returns an error.
func (a *archive) read(m Member, fn func(io.Reader) error) error {
	r, err := a.members[m.Name].Open()
	if err != nil {
		return broken(m.Name, err)
	}
	defer r.Close()
	h := sha256.New()
	in := &faulty{r: io.TeeReader(io.LimitReader(r, m.Bytes+1), h)}
	ferr := fn(in)
	if ferr == nil {
		_, ferr = io.Copy(io.Discard, in)
	}
	switch {
	case in.err != nil: // of the file, not of what fn does with it
		return broken(m.Name, in.err)
	case ferr != nil:
		return ferr
	case in.n != m.Bytes:
		return fmt.Errorf("%w: %s has not the %d bytes that its manifest says", ErrBroken, clip(m.Name), m.Bytes)
	case hex.EncodeToString(h.Sum(nil)) != m.SHA256:
		return fmt.Errorf("%w: %s does not fit its checksum; it was changed or damaged after it was written", ErrBroken, clip(m.Name))
	}
	return nil
}

// faulty remembers the error and counts.
type faulty struct {
	r   io.Reader
	n   int64
	err error
}

func (f *faulty) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	f.n += int64(n)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
