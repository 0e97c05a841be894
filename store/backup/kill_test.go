package backup_test

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/raceflag"
	"reverie/store"
	"reverie/store/backup"
)

// killed starts a child and kills it some time after it is ready. It reports whether the
// child had come to its end before.
func killed(t *testing.T, after time.Duration, role string, args ...string) (ended bool) {
	t.Helper()
	cmd := child(t, role, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child said %q", lines.Text())
	}
	kill := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer kill.Stop()
	for lines.Scan() {
		ended = ended || lines.Text() == "done"
	}
	cmd.Wait()
	return ended
}

func rounds(n int) int {
	if testing.Short() {
		return max(2, n/10)
	}
	if raceflag.Enabled {
		return max(2, n/3)
	}
	return n
}

// A process killed while it writes backups leaves whole ones only, and what it left half
// done goes with the next.
func TestKillCreate(t *testing.T) {
	h := newHome(t)
	h.live(t, 3, 15)
	halves := 0
	for range rounds(40) {
		killed(t, time.Duration(rand.IntN(60_000))*time.Microsecond, "create", h.dir)
		for _, name := range visible(h.zips(t)) {
			if strings.HasSuffix(name, ".tmp") {
				halves++
				continue
			}
			if _, err := backup.Verify(t.Context(), filepath.Join(h.dir, "backups", name), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if halves == 0 {
		t.Error("no child was ever killed in the middle")
	}
	h.create(t, backup.Options{Kind: backup.Auto, Keep: 2})
	for _, name := range visible(h.zips(t)) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("left behind: %s", name)
		}
	}
	sound(t, h)
}

// A process killed while it restores leaves everything old or, when the next one has
// opened the home, everything new.
func TestKillRestore(t *testing.T) {
	dir := t.TempDir()
	h := openHome(t, dir)
	h.live(t, 3, 15)
	oldRows, oldFiles := h.rows(t), h.files(t)
	oldBackup := h.create(t, backup.Options{})

	source := newHome(t)
	source.live(t, 5, 11)
	source.file(t, "config.toml", "# the new one\n")
	source.file(t, "memories/global/new.md", "new")
	for i := range 30 {
		source.file(t, "knowledge/KNOWLEDGE_x"+strings.Repeat("y", i)+".md", strings.Repeat("z", i))
	}
	newRows, newFiles := source.rows(t), source.files(t)
	newBackup := source.create(t, backup.Options{})
	delete(oldRows, "partitions") // versions only rise
	delete(newRows, "partitions")

	olds, news, finished := 0, 0, 0
	// How long a whole one takes here, so that the kills fall on both sides of the change.
	h.db.Close()
	began := time.Now()
	if !killed(t, time.Minute, "restore", dir, newBackup.Path) {
		t.Fatal("a restore takes more than a minute")
	}
	longest := time.Since(began)
	h = openHome(t, dir)
	h.exec(t, "DELETE FROM leases")
	h.restore(t, oldBackup.Path)
	for round := range rounds(40) {
		h.exec(t, "DELETE FROM leases") // of the killed one, which would end by itself
		h.db.Close()
		ended := killed(t, time.Duration(rand.Int64N(int64(longest))), "restore", dir, newBackup.Path)
		if ended && !testing.Short() {
			longest = longest * 9 / 10
		} else {
			longest = longest * 11 / 10
		}
		h = openHome(t, dir)
		done, err := backup.Finish(t.Context(), h.db, dir)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := backup.Finish(t.Context(), h.db, dir); again || err != nil {
			t.Fatalf("finished twice: %v, %v", again, err)
		}
		rows, files := h.rows(t), h.files(t)
		delete(rows, "partitions")
		switch {
		case cmp.Equal(rows, oldRows):
			olds++
			if d := cmp.Diff(oldFiles, files); d != "" {
				t.Fatalf("round %d: old rows, files (-old +are):\n%s", round, d)
			}
		case cmp.Equal(rows, newRows):
			news++
			if done && !ended {
				finished++
			}
			want := restored(newFiles, oldFiles)
			if d := cmp.Diff(want, files); d != "" {
				t.Fatalf("round %d: new rows, files (-new +are):\n%s", round, d)
			}
			// Back to the beginning.
			h.exec(t, "DELETE FROM leases")
			h.restore(t, oldBackup.Path)
		default:
			t.Fatalf("round %d: neither the old nor the new rows : %s", round, cmp.Diff(newRows, rows))
		}
		sound(t, h)
	}
	t.Logf("%d times old, %d times new, of which %d were completed by Finish", olds, news, finished)
	if !testing.Short() && (olds == 0 || news == 0) {
		t.Error("the kills do not fall on both sides of the change")
	}
}

// restored is what a home has after a restore: files of the backup, and those of the home
// that no backup has a say in.
func restored(files, home map[string]string) map[string]string {
	out := map[string]string{}
	for p, s := range files {
		out[p] = s
	}
	for _, p := range onlyHere {
		delete(out, p)
		if s, ok := home[p]; ok {
			out[p] = s
		}
	}
	return out
}

// The moment between the rows and the files, held still: Finish puts every file in place,
// and may itself be interrupted after any of them.
func TestFinishHalfWay(t *testing.T) {
	source := newHome(t)
	source.live(t, 1, 3)
	made := source.create(t, backup.Options{})
	for _, kept := range []int{0, 1, 4, 8} {
		h := newHome(t)
		h.file(t, "profile/old.md", "old")
		// What a killed restore leaves: the mark, the stage with the files not yet in place.
		id := "20260102T030405-00ff00ff00ff"
		h.exec(t, "INSERT INTO meta (name, value) VALUES ('restore', ?)", []byte(id))
		var put []string
		n := 0
		for name, data := range unpack(t, made.Path).data {
			p, ok := strings.CutPrefix(name, "files/")
			if !ok {
				continue
			}
			put = append(put, `"`+p+`"`)
			to := "restore-" + id + "/files/" + p
			if n++; n <= kept {
				to = p // is in place already
			}
			h.file(t, to, string(data))
		}
		h.file(t, "restore-"+id+"/swaps.json", `{"put":[`+strings.Join(put, ",")+`],"remove":["profile/old.md"]}`)
		h.file(t, "restore-20250101T000000-aa/files/state/x", "of an older one that was never stored")

		// A process that backs up completes it first.
		if kept == 4 {
			if i := h.create(t, backup.Options{}); i.Files != 8 {
				t.Errorf("the backup has %d files", i.Files)
			}
		} else if done, err := backup.Finish(t.Context(), h.db, h.dir); !done || err != nil {
			t.Fatalf("finish: %v, %v", done, err)
		}
		want := source.files(t)
		for _, p := range onlyHere {
			delete(want, p)
		}
		if d := cmp.Diff(want, h.files(t)); d != "" {
			t.Errorf("with %d files in place, files (-want +got):\n%s", kept, d)
		}
		if rows := h.rows(t)["meta"]; len(rows) != 0 {
			t.Errorf("the mark is still there: %q", rows)
		}
	}
}

// A stage that lies is not believed.
func TestFinishRefusesPaths(t *testing.T) {
	h := newHome(t)
	id := "20260102T030405-00ff00ff00ff"
	h.exec(t, "INSERT INTO meta (name, value) VALUES ('restore', ?)", []byte(id))
	h.file(t, "restore-"+id+"/files/reverie.db", "x")
	h.file(t, "restore-"+id+"/swaps.json", `{"put":["reverie.db"],"remove":["../x"]}`)
	if _, err := backup.Finish(t.Context(), h.db, h.dir); err == nil || !strings.Contains(err.Error(), "belongs in no home") {
		t.Errorf("finish: %v", err)
	}
	h.exec(t, "UPDATE meta SET value = ? WHERE name = 'restore'", []byte("../../x"))
	if _, err := backup.Finish(t.Context(), h.db, h.dir); err != nil {
		t.Errorf("finish of an id that is none: %v", err)
	}
}

func TestOneRestoreAtATime(t *testing.T) {
	h := newHome(t)
	h.live(t, 3, 10)
	made := h.create(t, backup.Options{})
	h.file(t, "state/y", "y")
	rows := h.rows(t)
	errs, n := make(chan error), 4
	for range n {
		go func() {
			_, err := backup.Restore(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{})
			errs <- err
		}()
	}
	done := 0
	for range n {
		switch err := <-errs; {
		case err == nil:
			done++
		case !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "nothing was changed"):
			t.Error(err)
		}
	}
	if done == 0 {
		t.Error("none of them restored")
	}
	got := h.rows(t)
	delete(rows, "partitions")
	delete(got, "partitions")
	if d := cmp.Diff(rows, got); d != "" {
		t.Errorf("rows (-were +are):\n%s", d)
	}
	// Somebody else with the database, who has another home: the lease says so.
	l, err := h.db.Lease(t.Context(), "restore", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, err = backup.Restore(t.Context(), h.db, h.dir, made.Path, backup.RestoreOptions{})
	var held *store.HeldError
	if !errors.As(err, &held) {
		t.Errorf("restore under another's lease: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	h.restore(t, made.Path)
	sound(t, h)
}
