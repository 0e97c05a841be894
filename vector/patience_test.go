package vector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reverie/embedding"
	"reverie/embedding/spaces"
	"reverie/store/storetest"
	"reverie/vector"
)

// silent is a server that takes questions and does not answer them until it is woken.
type silent struct {
	*remote
	awake  chan struct{}
	probes atomic.Int64
}

func (s *silent) Probe(ctx context.Context) (embedding.Space, error) {
	s.probes.Add(1)
	select {
	case <-s.awake:
		return s.remote.Probe(ctx)
	case <-ctx.Done():
		return embedding.Space{}, ctx.Err()
	}
}

// A server that says nothing is waited for by one search, not by each of them; when it
// answers at last it is used.
func TestSpaceSilentServer(t *testing.T) {
	e := &silent{remote: small("a"), awake: make(chan struct{})}
	p := start(t, storetest.Engines(t)[0].New(t), e, spaces.Options{Patience: 20 * time.Millisecond})
	p.write(t, "the cat sleeps on the stove")
	for range 20 {
		if r, _ := p.ask(t, "cat"); len(r.Hits) != 1 || r.Degraded == "" {
			t.Fatalf("%d hits, degraded %q", len(r.Hits), r.Degraded)
		}
	}
	if n := e.probes.Load(); n > 3 { // of the write, and of the wait in the background
		t.Errorf("the server was asked %d times while it had not answered", n)
	}
	close(e.awake)
	p.byMeaning(t, "feline", "the cat sleeps on the stove")
}

// hurried notes how long the first call for documents may take that has no canary.
type hurried struct {
	*remote
	patience chan time.Duration
}

func (h *hurried) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Passages, error) {
	if len(texts) == 1 {
		left := time.Duration(-1)
		if until, ok := ctx.Deadline(); ok {
			left = time.Until(until)
		}
		select {
		case h.patience <- left:
		default:
		}
	}
	return h.remote.EmbedDocuments(ctx, texts)
}

// A write does not wait for its vector as long as a server may take, with all its retries:
// the client would give up, and not know that the memory is stored.
func TestWriteDoesNotWaitLong(t *testing.T) {
	e := &hurried{remote: small("a"), patience: make(chan time.Duration, 1)}
	p := start(t, storetest.Engines(t)[0].New(t), e, spaces.Options{})
	check := func(what string) {
		t.Helper()
		if left := <-e.patience; left <= 0 || left > 6*time.Second {
			t.Errorf("%s waits %v for the embedder", what, left)
		}
	}
	w := p.write(t, "the cat sleeps on the stove")
	check("a write")
	content := "the cat sleeps in the garden"
	if _, err := p.Update(t.Context(), ann, "", w.Memory.ID, vector.Patch{Content: &content}); err != nil {
		t.Fatal(err)
	}
	check("an update")
}

// A canary that cannot be read costs the meaning until everything is embedded anew, not
// the memories: reading, writing and the way out work.
func TestSpaceDamagedCanary(t *testing.T) {
	path := storetest.Engines(t)[0].New(t)
	p := start(t, path, small("a"), spaces.Options{})
	p.write(t, "the cat sleeps on the stove")
	p.byMeaning(t, "feline", "the cat sleeps on the stove")
	if err := p.db.Exec(t.Context(), "UPDATE canaries SET emb = ?", []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	p.close()
	p = start(t, path, small("a"), spaces.Options{})
	if r, _ := p.ask(t, "cat"); len(r.Hits) != 1 || !strings.Contains(r.Degraded, "damaged") || !strings.Contains(r.Degraded, "reverie reindex") {
		t.Errorf("%d hits, degraded %q", len(r.Hits), r.Degraded)
	}
	p.write(t, "the tea is in the kitchen")
	f, err := p.spaces.Check(t.Context())
	if err != nil || f.Consistent || !strings.Contains(f.Reason, "damaged") {
		t.Fatalf("%+v, %v", f, err)
	}
	if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	p.byMeaning(t, "beverage", "the tea is in the kitchen")
}

// A write to a database that does not answer is over with the first question to it: each
// further one would wait as long.
func TestWriteDatabaseGone(t *testing.T) {
	p := start(t, storetest.Engines(t)[0].New(t), small("a"), spaces.Options{})
	p.write(t, "the cat sleeps on the stove")
	p.db.Close()
	if _, err := p.Write(t.Context(), ann, vector.Draft{Content: "the tea is hot"}); err == nil || !strings.HasPrefix(err.Error(), "write memory: ") {
		t.Errorf("error %v", err)
	}
}

// Without its backup nothing is embedded anew, however often it is tried; a run that
// continues one makes no second backup.
func TestSpaceReembedNeedsItsBackup(t *testing.T) {
	path := storetest.Engines(t)[0].New(t)
	p := start(t, path, small("a"), spaces.Options{})
	for i := range 20 {
		p.write(t, fmt.Sprintf("number %d of the cat", i))
	}
	p.close()
	e := &remote{name: "large", dim: 128, weights: "b"}
	var backups int
	full := errors.New("disk full")
	p = start(t, path, e, spaces.Options{BatchSize: 5, Backup: func(context.Context, string) error {
		backups++
		return full
	}})
	for try := range 3 {
		if _, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); !errors.Is(err, full) || backups != try+1 {
			t.Fatalf("try %d: %v after %d backups", try, err, backups)
		}
	}
	full, backups = nil, 0
	ctx, cancel := context.WithCancel(t.Context())
	e.each = func(n int) {
		if n == 10 {
			cancel()
		}
	}
	if _, err := p.spaces.Reembed(ctx, spaces.ReembedOptions{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	e.each = nil
	if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err != nil || n != 20 || backups != 1 {
		t.Errorf("%d, %v, %d backups", n, err, backups)
	}
	sound(t, path)
}
