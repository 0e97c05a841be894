package mirror_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/store"
	"reverie/vector/chroma"
	"reverie/vector/chroma/chromatest"
	"reverie/vector/mirror"
)

// The environment that makes the test binary a process with a mirror: the database and the
// server's address.
const (
	childEnv = "REVERIE_MIRROR_TEST_CHILD"
	childURL = "REVERIE_MIRROR_TEST_URL"
)

// child mirrors until it is killed.
func child(path, url string) {
	ctx := context.Background()
	db, err := store.Open(ctx, path, store.Options{Synchronous: "normal"})
	if err != nil {
		panic(err)
	}
	c, err := chroma.New(chroma.Options{URL: url})
	if err != nil {
		panic(err)
	}
	mirror.New(db, c, mirror.Options{
		Name: "test", Buckets: 4, Poll: 10 * time.Millisecond, Linger: 10 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}).Run(ctx)
	os.Exit(1)
}

// Processes that are killed while they deliver leave nothing behind that the next one
// does not put right: no record is missing, none is left over.
func TestProcessKilled(t *testing.T) {
	srv := chromatest.Start(t)
	g := newGate(t, srv)
	w := newWorld(t, sqlite(), g.URL)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	before := map[string][]string{}
	for round := range rounds {
		for i := range 6 {
			name := fmt.Sprint("p", i)
			for j, id := range before[name] {
				if j%6 == 0 { // some of the records are to go, too
					if _, err := w.memories.Delete(t.Context(), person(name), caller.ScopeUser, id); err != nil {
						t.Fatal(err)
					}
				}
			}
			before[name] = w.write(name, texts(fmt.Sprintf("round %d\nof", round), 60)...)
		}
		cmd := exec.Command(exe, "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"="+w.home.Path, childURL+"="+g.URL)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(200+rand.IntN(600)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		// The lease runs out when the server is done with the last request of the dead.
		g.idle()
		if err := w.db.Exec(t.Context(), "DELETE FROM leases"); err != nil {
			t.Fatal(err)
		}
	}
	m := w.run()
	if v, want := w.await(m), 2*6*(60*rounds-10*(rounds-1)); v.Records != want {
		t.Errorf("%+v, want %d records", v, want)
	}
}

// A process that was stopped in the middle of a request and lost its lease meanwhile may
// have sent old records after the new ones of another process. What it sent is sent
// once more.
func TestLateAfterALostLease(t *testing.T) {
	srv := chromatest.Start(t)
	g := newGate(t, srv)
	w := newWorld(t, sqlite(), g.URL)
	stuck, goOn := make(chan struct{}), make(chan struct{})
	g.set(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/upsert") {
			g.set(nil)
			close(stuck)
			<-goOn
		}
		return 0
	})
	w.write("ana", "old")
	m := w.mirror()
	ended := make(chan struct{})
	go func() {
		m.Run(t.Context())
		close(ended)
	}()
	<-stuck
	// Another process takes over, delivers, and has the lease.
	err := w.db.Maintain(t.Context(), func(g *gorm.DB) error {
		if err := g.Exec("UPDATE leases SET holder = 'another', expires_at = ? WHERE name = 'mirror'", time.Now().Add(time.Minute).UnixMicro()).Error; err != nil {
			return err
		}
		return g.Exec("INSERT INTO outbox (space, part, version) VALUES (1, ?, 1)", part("ana")).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	close(goOn)
	var version int64
	for end := time.Now().Add(20 * time.Second); version != -1; time.Sleep(10 * time.Millisecond) {
		err := w.db.Read(t.Context(), func(g *gorm.DB) error {
			return g.Raw("SELECT version FROM outbox WHERE part = ?", part("ana")).Row().Scan(&version)
		})
		if err != nil || time.Now().After(end) {
			t.Fatalf("delivered up to %d, %v", version, err)
		}
	}
	if st, err := m.Status(t.Context()); err != nil || st.State != mirror.StateBehind || st.Holder != "another" {
		t.Errorf("%+v, %v", st, err)
	}
	if err := w.db.Exec(t.Context(), "DELETE FROM leases"); err != nil {
		t.Fatal(err)
	}
	w.await(m)
	m.Close()
	<-ended
}
