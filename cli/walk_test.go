package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/embedding/embedtest"
	"reverie/store"
)

// walked is what one test of a store's way through embedding models knows.
type walked struct {
	*testing.T
	home string

	mu   sync.Mutex
	all  []walkedMemory
	word atomic.Int64
}

type walkedMemory struct{ user, id, content string }

// stage is one configuration of the embedder.
type stage struct {
	name string
	env  []string
}

// A store goes from the built-in model to that of an Ollama server, to an OpenAI one, to
// another one under the same name, and back, with reads and writes going on through
// servers of the old and the new configuration, and a kill -9 in the middle of each
// re-embedding. No write is refused, nothing that was written is missing for a moment,
// and in the end every memory is found by meaning.
func TestWalkThroughModels(t *testing.T) {
	server := embedtest.Start(t,
		embedtest.Model{Name: "nomic-embed-text", Dim: 768, Seed: 1},
		embedtest.Model{Name: "text-embedding-3-small", Dim: 1536, Seed: 2})
	remote := func(protocol, url, model string) []string {
		return []string{"EMBEDDING_PROTOCOL=" + protocol, "EMBEDDING_MODEL_URL=" + url, "EMBEDDING_MODEL_NAME=" + model, "EMBEDDING_MODEL_API_KEY=sk-walk"}
	}
	builtin := []string{"EMBEDDING_PROTOCOL=builtin", "EMBEDDING_MODEL_NAME=auto"}
	stages := []stage{
		{"ollama", remote("ollama-embed", server.URL(), "nomic-embed-text")},
		{"openai", remote("openai", server.URL()+"/v1", "text-embedding-3-small")},
		{"swapped", remote("openai", server.URL()+"/v1", "text-embedding-3-small")},
		{"back", builtin},
	}
	w := &walked{T: t, home: bigHome(t)}
	before := w.start(builtin)
	w.fill(before, 60)
	for _, s := range stages {
		if s.name == "swapped" {
			server.Put(embedtest.Model{Name: "text-embedding-3-small", Dim: 1536, Seed: 3})
		}
		// Slow enough to be killed in the middle.
		server.Fail(func(r embedtest.Request) *embedtest.Fault {
			if len(r.Texts) < 8 {
				return nil
			}
			return &embedtest.Fault{Delay: 30 * time.Millisecond}
		})
		after := w.start(s.env)
		stop := w.load(before, after)
		kills := w.reembedWithKills(s, 2)
		time.Sleep(200 * time.Millisecond) // of reads and writes after the switch
		stop()
		t.Logf("%s: killed %d times, %d memories so far", s.name, kills, len(w.all))
		if kills == 0 {
			t.Errorf("%s: no run was killed in its middle", s.name)
		}
		w.end(before)
		// On the way every few, as the servers of this test are slow with -race; in the end all.
		step := 5
		if s.name == "back" {
			step = 1
		}
		w.foundByMeaning(after, step)
		before = after
		if t.Failed() {
			break
		}
	}
	w.end(before)
	checkStore(t, w.home)
}

func (w *walked) environ(env []string) []string {
	return append([]string{"REVERIE_HOME=" + w.home, "REVERIE_USER=local", "EMBED_MISMATCH_POLICY=never", "REEMBED_BATCH_SIZE=8"}, env...)
}

func (w *walked) start(env []string) *peer {
	w.Helper()
	p, err := startPeer(w.Context(), binary(w), []string{"serve"}, w.environ(env), io.Discard)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *walked) end(p *peer) {
	w.Helper()
	if err := p.close(); err != nil {
		w.Error(err)
	}
}

// write stores one memory and looks for it at once, through another server.
func (w *walked) write(p, q *peer, user string) bool {
	n := w.word.Add(1)
	word := fmt.Sprintf("zq%dx", n)
	content := fact(int(n)) + " " + word
	r, err := p.call(w.Context(), "write_memory", map[string]any{"content": content}, metaOf(user))
	if err != nil || r.IsError {
		w.Errorf("a write was refused: %v %s", err, said(r))
		return false
	}
	m, err := into[demoWritten](r)
	if err != nil {
		w.Error(err)
		return false
	}
	w.mu.Lock()
	w.all = append(w.all, walkedMemory{user, m.ID, content})
	w.mu.Unlock()
	return w.has(q, walkedMemory{user, m.ID, word}, false)
}

// has looks for a memory by its content, in any way or by meaning.
func (w *walked) has(p *peer, m walkedMemory, byMeaning bool) bool {
	r, err := p.call(w.Context(), "read_memory", map[string]any{"query": m.content, "top_k": 5}, metaOf(m.user))
	if err != nil || r.IsError {
		w.Errorf("a read failed: %v %s", err, said(r))
		return false
	}
	f, err := into[demoFound](r)
	if err != nil {
		w.Error(err)
		return false
	}
	for _, x := range f.Items {
		if x.ID == m.id && (!byMeaning || x.Dist != nil && x.Match != "words") {
			return true
		}
	}
	if !byMeaning {
		w.Errorf("%q is missing: %+v", m.content, f.Items)
	}
	return false
}

func (w *walked) fill(p *peer, n int) {
	for i := range n {
		if !w.write(p, p, fmt.Sprintf("user%d", i%6)) {
			w.FailNow()
		}
	}
}

// load reads and writes through both servers until the function it returns is called.
func (w *walked) load(a, b *peer) (stop func()) {
	done := make(chan struct{})
	var work sync.WaitGroup
	for i := range 2 {
		work.Go(func() {
			p, q := a, b
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if !w.write(p, q, fmt.Sprintf("user%d", i)) {
					return
				}
				p, q = q, p
				w.mu.Lock()
				m := w.all[(n*37)%len(w.all)]
				w.mu.Unlock()
				w.has(p, m, false)
				time.Sleep(150 * time.Millisecond) // the machine is for the others, too
			}
		})
	}
	return func() { close(done); work.Wait() }
}

// reembedWithKills runs reindex, kills it in its middle some times, then lets it finish.
func (w *walked) reembedWithKills(s stage, most int) (kills int) {
	w.Helper()
	run := func() *exec.Cmd {
		cmd := exec.Command(binary(w), "reindex", "--yes")
		cmd.Env = append(cmd.Environ(), w.environ(s.env)...)
		return cmd
	}
	last := 0
	for range most {
		cmd := run()
		if err := cmd.Start(); err != nil {
			w.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if done, ok := w.building(last, ended); ok {
			cmd.Process.Kill()
			<-ended
			last, kills = done, kills+1
		}
	}
	cmd := run()
	deadline := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer deadline.Stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%s: reindex: %v\n%s", s.name, err, out)
	}
	return kills
}

// building waits until a run has embedded more texts than last, and says how many.
func (w *walked) building(last int, ended <-chan error) (done int, ok bool) {
	db, err := store.Open(w.Context(), filepath.Join(w.home, databaseName), store.Options{})
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	for {
		select {
		case err := <-ended:
			w.Logf("a run ended before it could be killed: %v", err)
			return 0, false
		case <-time.After(5 * time.Millisecond):
		}
		err := db.Read(w.Context(), func(g *gorm.DB) error {
			return g.Raw("SELECT COUNT(*) FROM vectors v JOIN spaces s ON s.id = v.space WHERE s.state = 'building'").Row().Scan(&done)
		})
		if err != nil {
			w.Fatal(err)
		}
		if done > last+16 {
			return done, true
		}
	}
}

// foundByMeaning waits until no vector is pending, then looks for every step-th memory.
func (w *walked) foundByMeaning(p *peer, step int) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		cmd := exec.Command(binary(w), "status", "--json")
		cmd.Env = append(cmd.Environ(), w.environ(nil)...)
		out, err := cmd.Output()
		if err != nil {
			w.Fatal(err)
		}
		var st struct {
			Totals struct{ Live, Pending int }
		}
		if err := json.Unmarshal(out, &st); err != nil {
			w.Fatal(err)
		}
		if st.Totals.Live != len(w.all) {
			w.Fatalf("%d memories in the store, %d were written", st.Totals.Live, len(w.all))
		}
		if st.Totals.Pending == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.Fatalf("%d vectors are still pending", st.Totals.Pending)
		}
	}
	missing := 0
	for i, m := range w.all {
		if i%step == 0 && !w.has(p, m, true) {
			missing++
		}
	}
	if missing > 0 {
		w.Errorf("%d of %d memories are not found by meaning", missing, len(w.all))
	}
}
