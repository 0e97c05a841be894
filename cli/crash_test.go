package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/mark3labs/mcp-go/mcp"

	"reverie/internal/caller"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/vector"
)

// builtOnce says that built was called, so that there is something to remove.
var builtOnce bool

// built is the program as it is shipped, built once for all tests of this package.
var built = sync.OnceValues(func() (string, error) {
	builtOnce = true
	dir, err := os.MkdirTemp("", "reverie-test-")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "reverie")
	if runtime.GOOS == "windows" {
		exe += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", exe, "reverie")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return exe, nil
})

func binary(t testing.TB) string {
	t.Helper()
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// bigHome is a home whose partitions hold many memories.
func bigHome(t testing.TB) string {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("per_session_memory_limit = 100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func startServer(t testing.TB, home string, env ...string) *peer {
	t.Helper()
	env = append([]string{"REVERIE_HOME=" + home, "REVERIE_TOOLSETS=all", "REVERIE_USER=local"}, env...)
	p, err := startPeer(t.Context(), binary(t), []string{"serve"}, env, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func metaOf(user string) map[string]any { return map[string]any{"reverie/user": user} }

// Two servers on one home with eight clients between them and 2,000 mixed writes:
// whatever one server answered, the other one sees in the next call.
func TestTwoServersSeeEachOther(t *testing.T) {
	home := bigHome(t)
	seeEachOther(t, []*peer{startServer(t, home), startServer(t, home)})
	checkStore(t, home)
}

// The same with three servers of three homes, as on three machines, that share one
// PostgreSQL database.
func TestServersOnPostgresSeeEachOther(t *testing.T) {
	dsn := storetest.Postgres(t).New(t).DSN
	var servers []*peer
	for range 3 {
		servers = append(servers, startServer(t, bigHome(t), "REVERIE_DSN="+dsn))
	}
	seeEachOther(t, servers)
	cmd := exec.Command(binary(t), "doctor")
	cmd.Env = append(cmd.Environ(), "REVERIE_HOME="+t.TempDir(), "REVERIE_DSN="+dsn)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "is sound") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// seeEachOther loads the servers and ends them.
func seeEachOther(t *testing.T, servers []*peer) {
	t.Helper()
	const clients, rounds = 8, 100 // of two or three writes each
	var wg sync.WaitGroup
	var mu sync.Mutex
	writes := 0
	for n := range clients {
		wg.Go(func() {
			c := &mixedClient{t: t, meta: metaOf(fmt.Sprintf("user%d", n/2)), write: servers[n%len(servers)], read: servers[(n+1)%len(servers)]}
			for i := range rounds {
				if !c.round(n, i) {
					return
				}
			}
			mu.Lock()
			writes += c.writes
			mu.Unlock()
		})
	}
	wg.Wait()
	for _, p := range servers {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
	if writes < 2000 && !t.Failed() {
		t.Errorf("only %d writes were made", writes)
	}
	t.Logf("%d writes by %d clients through %d servers", writes, clients, len(servers))
}

// mixedClient writes through one server and reads through the other.
type mixedClient struct {
	t           *testing.T
	meta        map[string]any
	write, read *peer
	writes      int
}

// do makes a change that must be accepted.
func (c *mixedClient) do(tool string, args map[string]any) (demoWritten, bool) {
	r, err := c.write.call(c.t.Context(), tool, args, c.meta)
	if err != nil || r.IsError {
		c.t.Errorf("%s: %v %s", tool, err, said(r))
		return demoWritten{}, false
	}
	c.writes++
	w, err := into[demoWritten](r)
	if err != nil {
		c.t.Error(err)
	}
	return w, err == nil
}

// sees checks what the other server finds first for a word that only one memory has.
func (c *mixedClient) sees(word, id string) bool {
	r, err := c.read.call(c.t.Context(), "read_memory", map[string]any{"query": word, "top_k": 1}, c.meta)
	if err != nil || r.IsError {
		c.t.Errorf("read: %v %s", err, said(r))
		return false
	}
	f, err := into[demoFound](r)
	if err != nil {
		c.t.Error(err)
		return false
	}
	got := ""
	if len(f.Items) > 0 && strings.Contains(f.Items[0].Content, word) {
		got = f.Items[0].ID
	}
	if got != id {
		c.t.Errorf("the other server finds %q for %s, want %q", got, word, id)
	}
	return got == id
}

// round writes, then updates, supersedes or deletes, and looks after each step.
func (c *mixedClient) round(n, i int) bool {
	word, next := fmt.Sprintf("zq%dn%dx", n, i), fmt.Sprintf("wk%dn%dx", n, i)
	w, ok := c.do("write_memory", map[string]any{"content": fact(n*1000+i) + " " + word})
	if !ok || !c.sees(word, w.ID) {
		return false
	}
	switch i % 3 {
	case 0:
		_, ok = c.do("update_memory", map[string]any{"id": w.ID, "content": fact(n*1000+i) + " " + next})
		ok = ok && c.sees(next, w.ID) && c.sees(word, "")
	case 1:
		var s demoWritten
		s, ok = c.do("write_memory", map[string]any{"content": "Instead: " + next, "supersedes": w.ID})
		ok = ok && c.sees(next, s.ID) && c.sees(word, "")
	case 2:
		if _, ok = c.do("delete_memory", map[string]any{"id": w.ID}); ok && c.sees(word, "") {
			_, ok = c.do("restore", map[string]any{"id": w.ID})
			ok = ok && c.sees(word, w.ID)
		}
	}
	if ok && i%2 == 0 {
		_, ok = c.do("update_memo", map[string]any{"content": fmt.Sprintf("memo %d of client %d", i, n)})
	}
	return ok
}

// said is what a result says, if there is one.
func said(r *sdk.CallToolResult) string {
	if r == nil {
		return ""
	}
	return text(r)
}

// kills is how many times TestKill ends a server in the middle of its work.
const kills = 200

// Kill -9 at random moments under load: no acknowledged change is missing, the store
// opens, journal and rows agree.
func TestKill(t *testing.T) {
	home := bigHome(t)
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	acks := &ledger{state: map[string]acked{}}
	for round := range kills {
		p := startServer(t, home)
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() { acks.load(t.Context(), p, round, n) })
		}
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond)
		p.cmd.Process.Kill()
		wg.Wait()
		p.kill()
	}
	t.Logf("%d kills, %d acknowledged changes of %d memories", kills, acks.changes, len(acks.state))
	if acks.changes < kills {
		t.Errorf("only %d changes were acknowledged: the test does not load the server", acks.changes)
	}
	acks.verify(t, home)
	checkStore(t, home)
}

// acked is the last state of a memory that the server acknowledged, and the one that was
// asked for when it was killed, if any.
type acked struct {
	user             string
	content, pending string
	state, next      vector.State
}

type ledger struct {
	mu      sync.Mutex
	state   map[string]acked // by id
	changes int
}

func (l *ledger) ack(id string, a acked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state[id] = a
	l.changes++
}

// try notes that a change was asked for.
func (l *ledger) try(id string, content string, state vector.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.state[id]
	a.pending, a.next = content, state
	l.state[id] = a
}

// load writes until the server is gone.
func (l *ledger) load(ctx context.Context, p *peer, round, n int) {
	user := fmt.Sprintf("user%d", (round*4+n)%20)
	for i := 0; ; i++ {
		content := fmt.Sprintf("round %d of writer %d, fact %d", round, n, i)
		r, err := p.call(ctx, "write_memory", map[string]any{"content": content}, metaOf(user))
		if err != nil || r.IsError {
			return
		}
		w, err := into[demoWritten](r)
		if err != nil || w.ID == "" {
			return
		}
		l.ack(w.ID, acked{user: user, content: content, state: vector.Live})
		switch i % 3 {
		case 1:
			l.try(w.ID, content+", revised", vector.Live)
			r, err = p.call(ctx, "update_memory", map[string]any{"id": w.ID, "content": content + ", revised"}, metaOf(user))
			if err != nil || r.IsError {
				return
			}
			l.ack(w.ID, acked{user: user, content: content + ", revised", state: vector.Live})
		case 2:
			l.try(w.ID, content, vector.Deleted)
			r, err = p.call(ctx, "delete_memory", map[string]any{"id": w.ID}, metaOf(user))
			if err != nil || r.IsError {
				return
			}
			l.ack(w.ID, acked{user: user, content: content, state: vector.Deleted})
		}
	}
}

func (l *ledger) verify(t *testing.T, home string) {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(home, databaseName), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := vector.New(t.Context(), db, nil, vector.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id, want := range l.state {
		m, err := s.Get(t.Context(), caller.Caller{User: want.user, Platform: caller.DefaultPlatform}, "", id)
		if err != nil {
			t.Errorf("an acknowledged memory is missing: %v", err)
			continue
		}
		asAcked := m.Content == want.content && m.State == want.state
		asAsked := want.next != "" && m.Content == want.pending && m.State == want.next
		if !asAcked && !asAsked {
			t.Errorf("memory %s is %s %q, acknowledged as %s %q", id, m.State, m.Content, want.state, want.content)
		}
	}
}

// checkStore holds journal, rows and counters to one another, as reverie doctor does.
func checkStore(t *testing.T, home string) {
	t.Helper()
	r, err := store.Check(t.Context(), filepath.Join(home, databaseName))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("doctor: %s", p)
	}
}
