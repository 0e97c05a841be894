package store_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"reverie/store"
	"reverie/store/storetest"
)

// A process that is killed at any moment loses nothing that it has acknowledged, and
// leaves nothing half-stored, while another process has the file open.
func TestKill(t *testing.T) { storetest.Each(t, testKill) }

func testKill(t *testing.T, e storetest.Engine) {
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	if e.Name == store.Postgres {
		rounds /= 5 // the file has no part in it
	}
	h := e.New(t)
	var bystander *store.DB
	total := 0
	for round := range rounds {
		part := fmt.Sprintf("r%d", round)
		acked := killed(t, h, part, round%2 == 1)
		total += acked
		if bystander == nil || round%10 == 5 { // half of the rounds end with no process left: recovery from the log
			bystander = h.Open(t)
		} else if round%10 == 0 {
			bystander.Close()
		}
		db := h.Open(t)
		rows := count(t, db, "SELECT COUNT(*) FROM memos WHERE part LIKE ?", part+"-%")
		// The one after the last acknowledged may be stored: the kill came before it was said.
		if rows < acked || rows > acked+1 {
			t.Fatalf("round %d: %d writes were acknowledged, %d are there", round, acked, rows)
		}
		if v := version(t, db, part); v != int64(rows) {
			t.Fatalf("round %d: %d rows, version %d", round, rows, v)
		}
		works(t, db)
		db.Close()
	}
	if total == 0 {
		t.Fatal("no child ever wrote")
	}
	r, err := h.Open(t).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		if !strings.Contains(p, "memo") { // ackRow writes memos without a journal
			t.Error(p)
		}
	}
	t.Logf("%d kills, %d acknowledged writes", rounds, total)
}

// killed starts a writer, kills it at a random moment, of its start or of its writing,
// and returns how many writes it acknowledged.
func killed(t *testing.T, h storetest.Home, part string, atStart bool) int {
	t.Helper()
	cmd := child(t, "acks", h, part)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	moment := time.Duration(rand.IntN(100_000)) * time.Microsecond
	kill := time.AfterFunc(moment, func() { cmd.Process.Kill() })
	if !atStart {
		kill.Reset(time.Minute)
	}
	defer kill.Stop()
	acked := 0
	for lines := bufio.NewScanner(out); lines.Scan(); acked++ {
		if acked == 0 && !atStart {
			kill.Reset(moment)
		}
		if lines.Text() != ackOf(part, acked+1) {
			t.Fatalf("the child said %q after %d writes", lines.Text(), acked)
		}
	}
	cmd.Wait()
	return acked
}
