package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reverie/internal/raceflag"
	"reverie/store"
	"reverie/store/storetest"
)

// Closing any descriptor of a file drops the POSIX locks that the process has on it.
// Opening a database a second time in one process must not do so: others could then
// take its log for abandoned.
func TestSecondOpenKeepsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	first := open(t, path, store.Options{})
	works(t, first)
	open(t, path, store.Options{}).Close()
	if _, err := store.Check(t.Context(), path); err != nil {
		t.Error(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	held := fmt.Sprintf(" %d ", os.Getpid())
	inode := fmt.Sprintf(":%d ", st.Sys().(*syscall.Stat_t).Ino)
	var found bool
	for line := range strings.Lines(string(contents(t, "/proc/locks"))) {
		found = found || strings.Contains(line, "POSIX") && strings.Contains(line, held) && strings.Contains(line, inode)
	}
	if !found {
		t.Error("the open database has lost its lock")
	}
	runToEnd(t, "open", storetest.Home{Path: path})
	write(t, first, "p", 3)
	if out := runToEnd(t, "write", storetest.Home{Path: path}, "p"); out != "4" {
		t.Errorf("another process's write got version %s, want 4", out)
	}
}

// asRoot skips where a test needs to mount or to set file attributes.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: mounts a small file system or sets a file attribute")
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Skipf("cannot set up: %s %q: %v: %s", name, args, err, out)
	}
}

// smallDisk mounts a file system of its own, in MB.
func smallDisk(t *testing.T, mb int) string {
	t.Helper()
	asRoot(t)
	dir := t.TempDir()
	run(t, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", mb), "tmpfs", dir)
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestDiskFull(t *testing.T) {
	dir := smallDisk(t, 2)
	path := filepath.Join(dir, "reverie.db")
	db := open(t, path, store.Options{})
	works(t, db)
	ballast := filepath.Join(dir, "ballast")
	stored := 0
	rounds := 3
	if raceflag.Enabled {
		rounds = 1
	}
	for round := range rounds {
		// Another program fills the disk.
		if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk does not fill: %v", err)
		}
		n, err := writeUntilError(t, db, stored)
		stored += n
		wants(t, err, store.ErrFull, "nothing was stored", "free space")
		if got := count(t, db, "SELECT COUNT(*) FROM memos"); got != stored {
			t.Fatalf("round %d: %d rows are there, %d were acknowledged", round, got, stored)
		}
		if v := version(t, db, "p"); v != int64(stored) {
			t.Fatalf("round %d: version %d after %d changes", round, v, stored)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		works(t, db)
	}
	if r, err := store.Check(t.Context(), path); err != nil || len(r.Problems) != 0 {
		t.Errorf("check after a full disk: %v, %v", r.Problems, err)
	}
	// A home on a disk that is full from the start.
	db.Close()
	os.WriteFile(ballast, make([]byte, 4<<20), 0o600)
	for name, look := range map[string]func(context.Context, string) (store.Report, error){"check": store.Check, "salvage": store.Salvage} {
		r, err := look(t.Context(), path)
		if len(r.Problems) != 0 {
			t.Errorf("%s calls a sound database on a full disk damaged: %q", name, r.Problems)
		}
		wants(t, err, store.ErrFull, "free space")
	}
	for _, name := range []string{"new.db", "reverie.db"} { // even opening needs a little room
		_, err := store.Open(t.Context(), filepath.Join(dir, name), store.Options{})
		wants(t, err, store.ErrFull, "free space")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	works(t, open(t, filepath.Join(dir, "new.db"), store.Options{}))
	works(t, open(t, path, store.Options{}))
}

// A repair without room says so and leaves the database as it is.
func TestSalvageDiskFull(t *testing.T) {
	dir := smallDisk(t, 8)
	path := filepath.Join(dir, "reverie.db")
	lived(t, path, 60)
	db := open(t, path, store.Options{})
	if err := db.Exec(t.Context(), "UPDATE partitions SET live = live + 1"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	ballast := filepath.Join(dir, "ballast")
	// Room for nothing of it, for half the new database, for it but not for the copy.
	for _, room := range []int64{64 << 10, st.Size() / 2, st.Size() * 3 / 2} {
		if err := os.WriteFile(ballast, make([]byte, 8<<20-st.Size()-room), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := store.Salvage(t.Context(), path)
		wants(t, err, store.ErrFull, "free space", "two more copies", "nothing was changed")
		if r.Changed || !bytes.Equal(before, contents(t, path)) {
			t.Errorf("with %d bytes of room: the database was changed", room)
		}
		if files, _ := filepath.Glob(path + ".*"); len(files) != 0 {
			t.Errorf("with %d bytes of room: left behind: %q", room, files)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if r, err := store.Salvage(t.Context(), path); err != nil || !r.Changed {
		t.Errorf("with room: %+v, %v", r, err)
	}
}

func TestReadOnly(t *testing.T) {
	closed := func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "reverie.db")
		db := open(t, path, store.Options{})
		works(t, db)
		db.Close()
		return path
	}
	refused := func(t *testing.T, path string) {
		t.Helper()
		_, err := store.Open(t.Context(), path, store.Options{})
		wants(t, err, store.ErrReadOnly, path, "--home DIR")
	}
	t.Run("file", func(t *testing.T) {
		asRoot(t)
		path := closed(t, t.TempDir())
		run(t, "chattr", "+i", path)
		t.Cleanup(func() { exec.Command("chattr", "-i", path).Run() })
		refused(t, path)
		run(t, "chattr", "-i", path)
		works(t, open(t, path, store.Options{}))
	})
	t.Run("folder", func(t *testing.T) {
		asRoot(t)
		dir := t.TempDir()
		run(t, "chattr", "+i", dir)
		t.Cleanup(func() { exec.Command("chattr", "-i", dir).Run() })
		refused(t, filepath.Join(dir, "reverie.db"))
	})
	t.Run("folder of an existing home", func(t *testing.T) {
		asRoot(t)
		dir := t.TempDir()
		path := closed(t, dir)
		run(t, "chattr", "+i", dir)
		t.Cleanup(func() { exec.Command("chattr", "-i", dir).Run() })
		refused(t, path)
	})
	t.Run("disk", func(t *testing.T) {
		dir := smallDisk(t, 4)
		path := closed(t, dir)
		run(t, "mount", "-o", "remount,ro", dir)
		refused(t, path)
		refused(t, filepath.Join(dir, "new.db"))
	})
	t.Run("disk under an open database", func(t *testing.T) {
		dir := t.TempDir()
		db := open(t, filepath.Join(dir, "reverie.db"), store.Options{})
		works(t, db)
		if err := db.Exec(t.Context(), "PRAGMA query_only = 1"); err != nil {
			t.Fatal(err)
		}
		err := db.Write(t.Context(), "p", func(*store.Tx) error { return nil })
		wants(t, err, store.ErrReadOnly, "nothing was stored")
		if err := db.Exec(t.Context(), "PRAGMA query_only = 0"); err != nil {
			t.Fatal(err)
		}
		works(t, db)
	})
	t.Run("permission bits", func(t *testing.T) {
		path := closed(t, t.TempDir())
		if os.Getuid() == 0 {
			refusedToNobody(t, path)
			return
		}
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		refused(t, path)
	})
}

// nobody is the user without rights of Linux systems.
const nobody = 65534

// refusedToNobody opens a read-only copy of the database at path in a child that is not
// root, whom permission bits do not bind.
func refusedToNobody(t *testing.T, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "reverie-nobody-") // the folders above those of t.TempDir are closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	theirs, program := filepath.Join(dir, "reverie.db"), filepath.Join(dir, "store.test")
	for _, f := range []struct {
		from, to string
		mode     os.FileMode
	}{{path, theirs, 0o400}, {exe, program, 0o500}} {
		if err := os.WriteFile(f.to, contents(t, f.from), f.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(f.to, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "open", storetest.Home{Path: theirs})
	cmd.Path, cmd.Dir = program, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("opened by nobody: %v: %s", err, out)
	}
	for _, want := range []string{"read-only storage", theirs, "--home DIR"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("nobody is told %q, without %q", out, want)
		}
	}
}
