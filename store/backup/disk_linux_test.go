package backup_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/store"
	"reverie/store/backup"
)

// smallDisk mounts a file system of its own, in MB.
func smallDisk(t *testing.T, mb int) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: mounts a small file system")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", mb), "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// On a full disk there is no half backup, nothing is restored without a backup of what is
// there, and a restore that runs out of room changes nothing.
func TestDiskFull(t *testing.T) {
	h := openHome(t, smallDisk(t, 24))
	h.live(t, 2, 10)
	big := newHome(t)
	big.live(t, 2, 400)
	big.file(t, "knowledge/big.md", strings.Repeat("no two lines are the same, ", 1000))
	made := big.create(t, backup.Options{})
	rows, files := h.rows(t), h.files(t)
	ballast := filepath.Join(h.dir, "ballast")
	seen := map[string]bool{}
	for _, room := range []int64{0, 4 << 10, 60 << 10, 100 << 10, 200 << 10, 400 << 10, 800 << 10, 1200 << 10} {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(h.dir, &fs); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ballast, make([]byte, max(0, int64(fs.Bavail)*fs.Bsize-room)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, cerr := backup.Create(t.Context(), h.db, h.dir, backup.Options{})
		_, rerr := backup.Restore(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{})
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for call, err := range map[string]error{"create": cerr, "restore": rerr} {
			if err != nil && (!errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "free space")) {
				t.Errorf("%s with %d bytes of room: %v", call, room, err)
			}
		}
		seen["create "+fmt.Sprint(cerr == nil)], seen["restore "+fmt.Sprint(rerr == nil)] = true, true
		for _, name := range visible(h.zips(t)) {
			path := filepath.Join(h.dir, "backups", name)
			if _, err := backup.Verify(t.Context(), path, nil); err != nil {
				t.Errorf("with %d bytes of room there is a bad backup: %v", room, err)
			}
			os.Remove(path)
		}
		if rerr == nil {
			break
		}
		if d := cmp.Diff(rows, h.rows(t)); d != "" {
			t.Fatalf("with %d bytes of room, rows (-were +are):\n%s", room, d)
		}
		if d := cmp.Diff(files, h.files(t)); d != "" {
			t.Fatalf("with %d bytes of room, files (-were +are):\n%s", room, d)
		}
		sound(t, h)
	}
	if !seen["create false"] || !seen["create true"] || !seen["restore false"] {
		t.Errorf("the rounds did not see all: %v", seen)
	}
	h.restore(t, made.Path)
	sound(t, h)
}
