package backup_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/store"
	"reverie/store/backup"
	"reverie/store/migrations"
)

// pack is a backup taken apart, for tests that change it.
type pack struct {
	names []string
	data  map[string][]byte
}

func unpack(tb testing.TB, path string) *pack {
	tb.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	p := &pack{data: map[string][]byte{}}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			tb.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		r.Close()
		p.names = append(p.names, f.Name)
		p.data[f.Name] = b
	}
	return p
}

func (p *pack) set(name string, data []byte) {
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
	p.data[name] = data
}

func (p *pack) drop(name string) {
	p.names = slices.DeleteFunc(p.names, func(n string) bool { return n == name })
}

func (p *pack) manifest(tb testing.TB) *backup.Manifest {
	tb.Helper()
	var m backup.Manifest
	if err := json.Unmarshal(p.data["manifest.json"], &m); err != nil {
		tb.Fatal(err)
	}
	return &m
}

// sign stores a manifest with its checksum.
func (p *pack) sign(tb testing.TB, m *backup.Manifest) {
	tb.Helper()
	doc, err := json.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(doc)
	p.set("manifest.json", doc)
	p.set("manifest.sha256", []byte(hex.EncodeToString(sum[:])))
}

// resign makes the manifest fit the members as they are, as somebody would who means it.
func (p *pack) resign(tb testing.TB, edit func(*backup.Manifest)) {
	tb.Helper()
	m := p.manifest(tb)
	old := m.Members
	m.Members = nil
	for _, name := range p.names {
		if strings.HasPrefix(name, "manifest.") {
			continue
		}
		sum := sha256.Sum256(p.data[name])
		x := backup.Member{Name: name, Bytes: int64(len(p.data[name])), SHA256: hex.EncodeToString(sum[:])}
		for _, o := range old {
			if o.Name == name {
				x.Rows = o.Rows
			}
		}
		m.Members = append(m.Members, x)
	}
	if edit != nil {
		edit(m)
	}
	p.sign(tb, m)
}

// write packs it again and returns the path.
func (p *pack) write(tb testing.TB) string {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range p.names {
		w, err := z.Create(name)
		if err != nil {
			tb.Fatal(err)
		}
		w.Write(p.data[name])
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return save(tb, b.Bytes())
}

func save(tb testing.TB, b []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "b.zip")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func small(t testing.TB) (*home, string) {
	t.Helper()
	h := newHome(t)
	h.live(t, 1, 4)
	return h, h.create(t, backup.Options{}).Path
}

// Everything that is wrong with a file is said, with what it is, and nothing is changed.
func TestRefused(t *testing.T) {
	h, path := small(t)
	row := func(m *backup.Manifest, name string, n int64) {
		for i, x := range m.Members {
			if x.Name == name {
				m.Members[i].Rows = &n
			}
		}
	}
	for name, tt := range map[string]struct {
		edit func(testing.TB, *pack)
		want error
		says string
	}{
		"a newer schema": {func(t testing.TB, p *pack) {
			p.resign(t, func(m *backup.Manifest) { m.Schema = 99 })
		}, store.ErrNewer, `schema 99 and this program knows up to ` + string(rune('0'+migrations.Version())) + `; install the newer reverie`},
		"a newer format": {func(t testing.TB, p *pack) {
			p.resign(t, func(m *backup.Manifest) { m.Format = 2 })
		}, store.ErrNewer, "format 2 and this program knows up to 1"},
		"another program": {func(t testing.TB, p *pack) {
			p.resign(t, func(m *backup.Manifest) { m.Program = "other" })
		}, backup.ErrForeign, "of another program"},
		"another program with another manifest": {func(_ testing.TB, p *pack) {
			p.set("manifest.json", []byte("[1]"))
		}, backup.ErrForeign, "of another program"},
		"no manifest":  {func(_ testing.TB, p *pack) { p.drop("manifest.json") }, backup.ErrForeign, "no manifest"},
		"no checksum":  {func(_ testing.TB, p *pack) { p.drop("manifest.sha256") }, backup.ErrBroken, "manifest.sha256 is missing"},
		"a file gone":  {func(_ testing.TB, p *pack) { p.drop("files/config.toml") }, backup.ErrBroken, "files/config.toml\" is missing"},
		"a table gone": {func(t testing.TB, p *pack) { p.drop("tables/memories.jsonl"); p.resign(t, nil) }, backup.ErrBroken, "table memories is missing"},
		"a file more":  {func(_ testing.TB, p *pack) { p.set("files/state/y", []byte("y")) }, backup.ErrBroken, "of which its manifest says nothing"},
		"a file twice": {func(_ testing.TB, p *pack) { p.names = append(p.names, "files/config.toml") }, backup.ErrBroken, "twice"},
		"listed twice": {func(t testing.TB, p *pack) {
			p.resign(t, func(m *backup.Manifest) { m.Members = append(m.Members, m.Members[0]) })
		}, backup.ErrBroken, "twice"},
		"a longer file": {func(_ testing.TB, p *pack) { p.data["files/config.toml"] = append(p.data["files/config.toml"], 'x') }, backup.ErrBroken, "bytes and should have"},
		"a row less": {func(t testing.TB, p *pack) {
			b := p.data["tables/journal.jsonl"]
			p.set("tables/journal.jsonl", b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1])
			p.resign(t, nil)
		}, backup.ErrBroken, "rows and should have"},
		"a row count": {func(t testing.TB, p *pack) {
			p.resign(t, func(m *backup.Manifest) { row(m, "tables/memos.jsonl", 7) })
		}, backup.ErrBroken, "table memos has 1 rows and should have 7"},
		"a negative count": {func(t testing.TB, p *pack) {
			p.resign(t, func(m *backup.Manifest) { row(m, "tables/memos.jsonl", -1) })
		}, backup.ErrBroken, "negative"},
		"a row of another shape": {func(t testing.TB, p *pack) {
			p.set("tables/pending.jsonl", []byte("[\"rid\",\"space\"]\n[1]\n"))
			p.resign(t, func(m *backup.Manifest) { row(m, "tables/pending.jsonl", 1) })
		}, backup.ErrBroken, "table pending, row 1: 1 values for 2 columns"},
		"an unknown column": {func(t testing.TB, p *pack) {
			p.set("tables/pending.jsonl", []byte("[\"rid\",\"space\",\"x\"]\n"))
			p.resign(t, func(m *backup.Manifest) { row(m, "tables/pending.jsonl", 0) })
		}, backup.ErrBroken, `column "x"`},
		"a column gone": {func(t testing.TB, p *pack) {
			p.set("tables/pending.jsonl", []byte("[\"rid\"]\n"))
			p.resign(t, func(m *backup.Manifest) { row(m, "tables/pending.jsonl", 0) })
		}, backup.ErrBroken, `lacks the column "space"`},
		"an unknown table": {func(t testing.TB, p *pack) {
			p.set("tables/x.jsonl", []byte("[]\n"))
			p.resign(t, func(m *backup.Manifest) { row(m, "tables/x.jsonl", 0) })
		}, backup.ErrBroken, "which this program does not know"},
		"a file and a folder": {func(tb testing.TB, p *pack) {
			p.set("files/memories/a", []byte("x"))
			p.set("files/memories/a/b", []byte("x"))
			p.resign(tb, nil)
		}, backup.ErrBroken, "as a folder"},
		"a path that climbs": {func(t testing.TB, p *pack) {
			p.set("files/prompt/../../x", []byte("x"))
			p.resign(t, nil)
		}, backup.ErrBroken, "belongs in no home"},
		"an absolute path": {func(t testing.TB, p *pack) {
			p.set("files//etc/x", []byte("x"))
			p.resign(t, nil)
		}, backup.ErrBroken, "belongs in no home"},
		"the database as a file": {func(t testing.TB, p *pack) {
			p.set("files/reverie.db", []byte("x"))
			p.resign(t, nil)
		}, backup.ErrBroken, "belongs in no home"},
		"keys": {func(t testing.TB, p *pack) {
			p.set("files/.env", []byte("x"))
			p.resign(t, nil)
		}, backup.ErrBroken, "belongs in no home"},
		"a name without a folder": {func(t testing.TB, p *pack) {
			p.set("x", []byte("x"))
			p.resign(t, nil)
		}, backup.ErrBroken, "belongs in no home"},
	} {
		t.Run(name, func(t *testing.T) {
			p := unpack(t, path)
			tt.edit(t, p)
			refused(t, h, p.write(t), tt.want, tt.says)
		})
	}
	t.Run("another zip", func(t *testing.T) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, _ := z.Create("hello.txt")
		w.Write([]byte("hello"))
		z.Close()
		refused(t, h, save(t, b.Bytes()), backup.ErrForeign, "no manifest")
	})
	t.Run("nothing", func(t *testing.T) { refused(t, h, save(t, nil), backup.ErrForeign, "does not begin as one") })
	t.Run("a picture", func(t *testing.T) {
		refused(t, h, save(t, []byte("\x89PNG\r\n\x1a\n....")), backup.ErrForeign, "does not begin as one")
	})
	t.Run("a folder", func(t *testing.T) { refused(t, h, t.TempDir(), backup.ErrForeign, "no regular file") })
	t.Run("not there", func(t *testing.T) { refused(t, h, filepath.Join(t.TempDir(), "x"), os.ErrNotExist, "no such file") })
}

// refused fails unless neither of the calls that read a backup takes it, and the home
// stays as it is.
func refused(t *testing.T, h *home, path string, want error, says string) {
	t.Helper()
	rows, files, zips := h.rows(t), h.files(t), h.zips(t)
	_, verr := backup.Verify(t.Context(), path, nil)
	_, rerr := backup.Restore(t.Context(), h.db, h.dir, path, backup.RestoreOptions{})
	_, perr := backup.Plan(t.Context(), h.db, h.dir, path, backup.RestoreOptions{})
	for call, err := range map[string]error{"verify": verr, "restore": rerr, "plan": perr} {
		if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q with %q", call, err, want, says)
		}
	}
	if d := cmp.Diff(rows, h.rows(t)); d != "" {
		t.Errorf("rows changed:\n%s", d)
	}
	if d := cmp.Diff(files, h.files(t)); d != "" {
		t.Errorf("files changed:\n%s", d)
	}
	if d := cmp.Diff(zips, h.zips(t)); d != "" {
		t.Errorf("backups changed:\n%s", d)
	}
}

// Every member that is edited, with the checksums of the zip made right, is noticed.
func TestEditedMembers(t *testing.T) {
	h, path := small(t)
	for _, name := range unpack(t, path).names {
		t.Run(name, func(t *testing.T) {
			p := unpack(t, path)
			b := bytes.Clone(p.data[name])
			switch {
			case len(b) == 0:
				p.data[name] = []byte("x")
			default:
				b[len(b)/2] ^= 1
				p.data[name] = b
			}
			_, err := backup.Verify(t.Context(), p.write(t), nil)
			if !errors.Is(err, backup.ErrBroken) && !errors.Is(err, backup.ErrForeign) {
				t.Errorf("verify: %v", err)
			}
		})
	}
	sound(t, h)
}

// Cut short anywhere, or with any byte changed, a backup is refused or still whole.
func TestDamagedAnywhere(t *testing.T) {
	_, path := small(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := max(1, len(whole)/400)
	if testing.Short() {
		step *= 10
	}
	dir := t.TempDir()
	verify := func(b []byte) error {
		p := filepath.Join(dir, "x.zip")
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := backup.Verify(t.Context(), p, nil)
		return err
	}
	for n := 0; n < len(whole); n += step {
		if err := verify(whole[:n]); !errors.Is(err, backup.ErrBroken) && !errors.Is(err, backup.ErrForeign) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
	noticed := 0
	for i := 0; i < len(whole); i += step {
		b := bytes.Clone(whole)
		b[i] ^= 0x55
		switch err := verify(b); {
		case err == nil: // a time or the like in the zip's own lists
		case errors.Is(err, backup.ErrBroken), errors.Is(err, backup.ErrForeign):
			noticed++
		default:
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	if noticed < len(whole)/step/2 {
		t.Errorf("%d of %d changed bytes were noticed", noticed, len(whole)/step)
	}
}

// bomb is a file whose manifest says that a member of zeros is larger than any deflate
// could make it, or smaller than it is.
func TestBombs(t *testing.T) {
	_, path := small(t)
	zeros := make([]byte, 8<<20)
	t.Run("larger than it says", func(t *testing.T) {
		p := unpack(t, path)
		p.set("files/state/bomb", zeros)
		p.resign(t, func(m *backup.Manifest) { m.Members[len(m.Members)-1].Bytes = 10 })
		_, err := backup.Verify(t.Context(), p.write(t), nil)
		if !errors.Is(err, backup.ErrBroken) {
			t.Errorf("verify: %v", err)
		}
	})
	t.Run("the list of the zip lies too", func(t *testing.T) {
		p := unpack(t, path)
		p.set("files/state/bomb", zeros)
		p.resign(t, func(m *backup.Manifest) { m.Members[len(m.Members)-1].Bytes = 10 })
		file := p.write(t)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The uncompressed size in the central directory, 24 bytes into the last entry of that name.
		at := bytes.LastIndex(b, []byte("files/state/bomb")) - 46 + 24
		copy(b[at:], []byte{10, 0, 0, 0})
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = backup.Verify(t.Context(), file, nil)
		if !errors.Is(err, backup.ErrBroken) {
			t.Errorf("verify: %v", err)
		}
	})
	t.Run("more than a deflate can be", func(t *testing.T) {
		p := unpack(t, path)
		p.set("files/state/bomb", zeros)
		p.resign(t, func(m *backup.Manifest) { m.Members[len(m.Members)-1].Bytes = 4_000_000_000 })
		file := p.write(t)
		b, _ := os.ReadFile(file)
		at := bytes.LastIndex(b, []byte("files/state/bomb")) - 46 + 24
		copy(b[at:], []byte{0x00, 0x28, 0x6b, 0xee}) // 4,000,000,000
		os.WriteFile(file, b, 0o600)
		_, err := backup.Verify(t.Context(), file, nil)
		if !errors.Is(err, backup.ErrBroken) || !strings.Contains(err.Error(), "which cannot be") {
			t.Errorf("verify: %v", err)
		}
	})
}

// A backup of the first schema, in which the serving space was a row of meta and some
// columns and tables did not exist.
func TestEarlierSchema(t *testing.T) {
	h, path := small(t)
	rows := h.rows(t)
	p := unpack(t, path)
	p.drop("tables/serving.jsonl")
	p.drop("tables/canaries.jsonl")
	meta := append(p.data["tables/meta.jsonl"], []byte("[\"space\",{\"text\":\"1\"}]\n")...)
	p.set("tables/meta.jsonl", meta)
	// memories without the last column
	var out []byte
	for i, line := range bytes.SplitAfter(p.data["tables/memories.jsonl"], []byte("\n")) {
		if len(line) > 0 {
			cut := regexp.MustCompile(`,[^,\]]*\]\n$`)
			if !cut.Match(line) {
				t.Fatalf("line %d: %s", i, line)
			}
			out = append(out, cut.ReplaceAll(line, []byte("]\n"))...)
		}
	}
	p.set("tables/memories.jsonl", out)
	p.resign(t, func(m *backup.Manifest) {
		m.Schema = 1
		for i, x := range m.Members {
			if x.Name == "tables/meta.jsonl" {
				n := *x.Rows + 1
				m.Members[i].Rows = &n
			}
		}
	})
	other := newHome(t)
	other.restore(t, p.write(t))
	got := other.rows(t)
	if len(got["canaries"]) != 0 || len(got["serving"]) != 1 || !strings.Contains(got["serving"][0], "space=1 ") {
		t.Errorf("canaries %q, serving %q", got["canaries"], got["serving"])
	}
	if d := cmp.Diff(rows["meta"], got["meta"]); d != "" {
		t.Errorf("meta (-was +is):\n%s", d)
	}
	seen := regexp.MustCompile(`seen=\d+ `)
	for i, r := range rows["memories"] {
		rows["memories"][i] = seen.ReplaceAllString(r, "seen=1 ")
	}
	if d := cmp.Diff(rows["memories"], got["memories"]); d != "" {
		t.Errorf("memories (-were +are):\n%s", d)
	}
}

func FuzzVerify(f *testing.F) {
	_, path := small(f)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"collection":"c","created_at":"2026-01-02T03:04:05+00:00","ids":["a"],"documents":["d"],"metadatas":[{"scope":"user"}]}`))
	f.Add([]byte("PK\x03\x04"))
	file := filepath.Join(f.TempDir(), "fuzz")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := backup.Verify(context.Background(), file, nil)
		for _, ok := range []error{nil, backup.ErrBroken, backup.ErrForeign, store.ErrNewer} {
			if errors.Is(err, ok) {
				return
			}
		}
		t.Error(err)
	})
}
