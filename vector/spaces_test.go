package vector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reverie/embedding"
	"reverie/embedding/spaces"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/vector"
)

// remote stands for a model on a server: what it is shows only when it is asked. Weights
// that differ give vectors that have nothing to do with one another. It knows that some
// words mean the same, so that a search by meaning can be told from one by words.
type remote struct {
	name, url string

	mu      sync.Mutex
	dim     int
	weights string
	down    bool
	refuse  string      // texts with this in them are refused
	each    func(n int) // called before every batch with the number of texts embedded so far
	texts   int         // texts embedded, those of canaries not counted
	known   atomic.Bool
}

var meaning = strings.NewReplacer("feline", "cat", "beverage", "tea", "automobile", "car")

func (r *remote) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *remote) Space() embedding.Space {
	r.mu.Lock()
	defer r.mu.Unlock()
	sp := embedding.Space{Protocol: "test", Model: r.name, BaseURL: r.url}
	if r.known.Load() {
		sp.Dim = r.dim
	}
	return sp
}

func (r *remote) Probe(context.Context) (embedding.Space, error) {
	r.mu.Lock()
	down := r.down
	r.mu.Unlock()
	if down {
		return embedding.Space{}, errDown
	}
	r.known.Store(true)
	return r.Space(), nil
}

func (r *remote) embed(text string) []float32 {
	var words []string
	for _, w := range strings.Fields(meaning.Replace(strings.ToLower(text))) {
		words = append(words, r.weights+w)
	}
	return (&hashed{dim: r.dim}).embed(strings.Join(words, " "))
}

func (r *remote) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, errDown
	}
	return r.embed(text), nil
}

func (r *remote) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Passages, error) {
	r.mu.Lock()
	each, n := r.each, r.texts
	r.mu.Unlock()
	canary := slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "northern pier") })
	if each != nil && !canary {
		each(n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down || ctx.Err() != nil {
		return nil, errors.Join(errDown, ctx.Err())
	}
	if !canary {
		r.texts += len(texts)
	}
	out := make([]embedding.Passages, len(texts))
	bad := map[int]error{}
	for i, t := range texts {
		if r.refuse != "" && strings.Contains(t, r.refuse) {
			bad[i] = errors.New("refused")
			continue
		}
		if v := r.embed(t); v != nil {
			out[i] = embedding.Passages{v}
		}
	}
	if len(bad) > 0 {
		return out, &embedding.BatchError{Bad: bad}
	}
	return out, nil
}

// process is one program on a store.
type process struct {
	*vector.Service
	spaces *spaces.Manager
	db     *store.DB
	close  func()
}

// start begins a process on the store at path, as the program does. olds are the models
// of before that can still be reached.
func start(t *testing.T, h storetest.Home, target vector.Embedder, o spaces.Options, olds ...*remote) *process {
	t.Helper()
	db, err := store.Open(t.Context(), h.Path, h.Options())
	if err != nil {
		t.Fatal(err)
	}
	o.Old = func(sp embedding.Space) (vector.Embedder, error) {
		for _, e := range olds {
			if e.name == sp.Model {
				return e, nil
			}
		}
		return nil, errors.New("not to be had")
	}
	p := &process{db: db, spaces: spaces.New(db, target, o)}
	if p.Service, err = vector.New(t.Context(), db, nil, vector.Options{Spaces: p.spaces, Limit: 100_000}); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	p.close = func() {
		once.Do(func() {
			p.spaces.Close()
			if err := p.Service.Close(); err != nil {
				t.Error(err)
			}
			db.Close()
		})
	}
	t.Cleanup(p.close)
	return p
}

func (p *process) write(t *testing.T, text string) vector.Written {
	t.Helper()
	w, err := p.Write(t.Context(), ann, vector.Draft{Content: text})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (p *process) ask(t *testing.T, text string) (vector.Result, []string) {
	t.Helper()
	r, err := p.Search(t.Context(), ann, vector.Query{Text: text, TopK: 50})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, h := range r.Hits {
		if h.Match != vector.ByWords {
			found = append(found, h.Content)
		}
	}
	return r, found
}

// byMeaning waits until a text is found by meaning: vectors are filled in in the background.
func (p *process) byMeaning(t *testing.T, query, want string) {
	t.Helper()
	var r vector.Result
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var found []string
		if r, found = p.ask(t, query); len(found) > 0 && found[0] == want {
			return
		}
	}
	t.Fatalf("%q is not found by meaning with %q: %+v", want, query, r)
}

func small(seed string) *remote {
	return &remote{name: "small", url: "http://a", dim: 64, weights: seed}
}

// A server that is away when the store is new costs nothing but time.
func TestSpaceServerAwayAtFirst(t *testing.T) { storetest.Each(t, testSpaceServerAwayAtFirst) }

func testSpaceServerAwayAtFirst(t *testing.T, engine storetest.Engine) {
	e := small("a")
	e.down = true
	p := start(t, engine.New(t), e, spaces.Options{})
	w := p.write(t, "the cat sleeps on the stove")
	if !w.Memory.Pending || len(w.Notices) != 1 || !strings.Contains(w.Notices[0], "follows later") {
		t.Errorf("pending %v, notices %q", w.Memory.Pending, w.Notices)
	}
	if all, err := p.Totals(t.Context()); err != nil || all.Pending != 1 {
		t.Errorf("in all %d pending, %v", all.Pending, err)
	}
	if own, err := p.Stats(t.Context(), ann, ""); err != nil || own.Pending != 1 {
		t.Errorf("of the partition %d pending, %v", own.Pending, err)
	}
	r, _ := p.ask(t, "cat")
	if len(r.Hits) != 1 || !strings.Contains(r.Degraded, errDown.Error()) {
		t.Errorf("by words: %d hits, degraded %q", len(r.Hits), r.Degraded)
	}
	e.set(func() { e.down = false })
	p.byMeaning(t, "feline", "the cat sleeps on the stove")
	if r, _ := p.ask(t, "feline"); r.Degraded != "" {
		t.Error(r.Degraded)
	}
}

// The same vectors under another address are the same space.
func TestSpaceMovedServer(t *testing.T) { storetest.Each(t, testSpaceMovedServer) }

func testSpaceMovedServer(t *testing.T, engine storetest.Engine) {
	path := engine.New(t)
	p := start(t, path, small("a"), spaces.Options{})
	p.write(t, "the cat sleeps")
	p.close()
	e := small("a")
	e.url = "http://b"
	p = start(t, path, e, spaces.Options{})
	f, err := p.spaces.Check(t.Context())
	if err != nil || !f.Consistent {
		t.Fatalf("%+v, %v", f, err)
	}
	p.byMeaning(t, "feline", "the cat sleeps")
	if e.texts != 0 {
		t.Errorf("%d texts were embedded again", e.texts)
	}
	st, err := p.spaces.Status(t.Context())
	if err != nil || st.State != spaces.Consistent || st.Serving.BaseURL != "http://b" || len(st.Others) != 0 || st.Serving.Fingerprint != e.Space().Fingerprint() {
		t.Errorf("%+v, %v", st, err)
	}
}

// A model that was exchanged behind its name is noticed, its vectors are never compared
// with the old ones, and nothing is lost until it is embedded anew.
func TestSpaceSwappedModel(t *testing.T) { storetest.Each(t, testSpaceSwappedModel) }

func testSpaceSwappedModel(t *testing.T, engine storetest.Engine) {
	path := engine.New(t)
	p := start(t, path, small("a"), spaces.Options{})
	p.write(t, "the cat sleeps")
	p.byMeaning(t, "feline", "the cat sleeps")
	p.close()

	e := small("other weights")
	p = start(t, path, e, spaces.Options{})
	r, found := p.ask(t, "the cat sleeps")
	if len(found) != 0 || len(r.Hits) != 1 || !strings.Contains(r.Degraded, "exchanged") || !strings.Contains(r.Degraded, "reverie reindex") {
		t.Errorf("found by meaning %q, degraded %q", found, r.Degraded)
	}
	if w := p.write(t, "tea is better than coffee"); !w.Memory.Pending {
		t.Error("a vector of the other model was stored in the space of the old one")
	}
	if f, err := p.spaces.Check(t.Context()); err != nil || f.Consistent || f.Texts != 2 || !strings.Contains(f.Advice(), "reverie reindex") {
		t.Errorf("%+v, %v", f, err)
	}
	backups := 0
	p.close()
	p = start(t, path, e, spaces.Options{Backup: func(context.Context, string) error { backups++; return nil }})
	if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	if backups != 1 {
		t.Errorf("%d backups", backups)
	}
	p.byMeaning(t, "feline", "the cat sleeps")
	p.byMeaning(t, "beverage", "tea is better than coffee")
	if f, err := p.spaces.Check(t.Context()); err != nil || !f.Consistent {
		t.Errorf("%+v, %v", f, err)
	}
	if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err != nil || n != 2 || backups != 1 {
		t.Errorf("a second time: %d, %v, %d backups", n, err, backups)
	}
}

// While the store moves from one model to another the one of before answers, in every
// process; writes are in the new space; and each process sees the switch at once.
func TestSpaceOldServesUntilSwitch(t *testing.T) { storetest.Each(t, testSpaceOldServesUntilSwitch) }

func testSpaceOldServesUntilSwitch(t *testing.T, engine storetest.Engine) {
	path := engine.New(t)
	was := small("a")
	other := start(t, path, was, spaces.Options{})
	for i := range 40 {
		other.write(t, fmt.Sprintf("number %d of the cat", i))
	}
	e := &remote{name: "large", url: "http://a", dim: 128, weights: "b"}
	p := start(t, path, e, spaces.Options{BatchSize: 8}, was)
	p.byMeaning(t, "feline number 7 of the", "number 7 of the cat")
	if r, _ := p.ask(t, "feline"); r.Degraded != "" {
		t.Errorf("degraded %q while the model of before can be asked", r.Degraded)
	}
	if f, err := p.spaces.Check(t.Context()); err != nil || f.Consistent {
		t.Errorf("%+v, %v", f, err)
	}
	wrote := 0
	e.each = func(int) {
		if wrote++; wrote > 3 {
			return
		}
		for _, q := range []*process{p, other} {
			text := fmt.Sprintf("written meanwhile %d beverage %p", wrote, q)
			q.write(t, strings.Replace(text, "beverage", "tea", 1))
			q.byMeaning(t, text, strings.Replace(text, "beverage", "tea", 1))
			q.byMeaning(t, "feline number 9 of the", "number 9 of the cat")
		}
		// A content that changes after its vector was made.
		r, _ := other.ask(t, "number 3 of the cat")
		for _, h := range r.Hits {
			if h.Content == "number 3 of the cat" {
				text := "number 3 is an automobile now"
				if _, err := other.Update(t.Context(), ann, "", h.ID, vector.Patch{Content: &text}); err != nil {
					t.Error(err)
				}
			}
		}
	}
	n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{})
	if err != nil || n != 46 {
		t.Fatalf("%d, %v", n, err)
	}
	was.set(func() { was.down = true })
	p.byMeaning(t, "feline number 7 of the", "number 7 of the cat")
	p.byMeaning(t, "number 3 is an car now", "number 3 is an automobile now")
	for i := 1; i <= 3; i++ {
		text := fmt.Sprintf("written meanwhile %d beverage %p", i, other)
		p.byMeaning(t, text, strings.Replace(text, "beverage", "tea", 1))
	}
	// The other process has only the model of before, which is of no use now: it says so.
	r, found := other.ask(t, "number 7 of the cat")
	if len(found) != 0 || len(r.Hits) == 0 || !strings.Contains(r.Degraded, "large") {
		t.Errorf("the other process found %q by meaning, degraded %q", found, r.Degraded)
	}
	st, err := p.spaces.Status(t.Context())
	if err != nil || st.Serving.Model != "large" || st.Serving.Vectors != 46 || len(st.Others) != 1 || st.Others[0].State != "old" {
		t.Errorf("%+v, %v", st, err)
	}
	// Back: what did not change has its vector still.
	was.set(func() { was.down, was.texts = false, 0 })
	if n, err := other.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err != nil || n != 46 {
		t.Fatalf("back: %d, %v", n, err)
	}
	if was.texts > 3 {
		t.Errorf("%d texts were embedded again on the way back", was.texts)
	}
	other.byMeaning(t, "feline number 7 of the", "number 7 of the cat")
	sound(t, path)
}

// A run that ends in the middle continues where it was; one at a time runs.
func TestSpaceReembedResumes(t *testing.T) { storetest.Each(t, testSpaceReembedResumes) }

func testSpaceReembedResumes(t *testing.T, engine storetest.Engine) {
	path := engine.New(t)
	p := start(t, path, small("a"), spaces.Options{})
	for i := range 50 {
		p.write(t, fmt.Sprintf("number %d of the cat", i))
	}
	p.close()
	e := &remote{name: "large", dim: 128, weights: "b"}
	p = start(t, path, e, spaces.Options{BatchSize: 5})
	ctx, cancel := context.WithCancel(t.Context())
	second := start(t, path, e, spaces.Options{BatchSize: 5})
	e.each = func(n int) {
		if n == 10 {
			_, err := second.spaces.Reembed(t.Context(), spaces.ReembedOptions{})
			if held := new(store.HeldError); !errors.As(err, &held) {
				t.Errorf("two at once: %v", err)
			}
			if st, err := second.spaces.Status(t.Context()); err != nil || st.Running == "" {
				t.Errorf("%+v, %v", st, err)
			}
		}
		if n == 20 {
			cancel()
		}
	}
	if n, err := p.spaces.Reembed(ctx, spaces.ReembedOptions{}); !errors.Is(err, context.Canceled) || n != 20 {
		t.Fatalf("interrupted: %d are done, %v", n, err)
	}
	p.close()
	e.each = nil
	var first int
	n, err := second.spaces.Reembed(t.Context(), spaces.ReembedOptions{Progress: func(done, total int) {
		if first == 0 {
			first = done
		}
		if total != 50 {
			t.Errorf("total %d", total)
		}
	}})
	if err != nil || n != 50 || e.texts != 50 || first != 20 {
		t.Errorf("%d, %v; %d texts were embedded in all, beginning at %d", n, err, e.texts, first)
	}
	second.byMeaning(t, "feline number 7 of the", "number 7 of the cat")
	sound(t, path)
}

// A model that changes its dimension or its weights during a run does not get to serve.
func TestSpaceSwappedDuringReembed(t *testing.T) { storetest.Each(t, testSpaceSwappedDuringReembed) }

func testSpaceSwappedDuringReembed(t *testing.T, engine storetest.Engine) {
	for name, change := range map[string]func(*remote){
		"dimension": func(e *remote) { e.dim = 96 },
		"weights":   func(e *remote) { e.weights = "c" },
	} {
		t.Run(name, func(t *testing.T) {
			path := engine.New(t)
			was := small("a")
			p := start(t, path, was, spaces.Options{})
			for i := range 20 {
				p.write(t, fmt.Sprintf("number %d of the cat", i))
			}
			p.close()
			e := &remote{name: "large", dim: 128, weights: "b"}
			p = start(t, path, e, spaces.Options{BatchSize: 5}, was)
			e.each = func(n int) {
				if n == 10 {
					e.set(func() { change(e) })
				}
			}
			if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err == nil || !strings.Contains(err.Error(), "run reverie reindex again") {
				t.Fatalf("%d, %v", n, err)
			}
			p.byMeaning(t, "feline number 7 of the", "number 7 of the cat")
			e.each = nil
			e.set(func() { e.texts = 0 })
			if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err != nil || n != 20 || e.texts != 20 {
				t.Fatalf("again: %d, %v, %d texts embedded: none of the mixed vectors may stay", n, err, e.texts)
			}
			p.byMeaning(t, "feline number 7 of the", "number 7 of the cat")
			sound(t, path)
		})
	}
}

// Texts that the model refuses wait for their vectors, unless they are many.
func TestSpaceRefusedTexts(t *testing.T) { storetest.Each(t, testSpaceRefusedTexts) }

func testSpaceRefusedTexts(t *testing.T, engine storetest.Engine) {
	path := engine.New(t)
	p := start(t, path, small("a"), spaces.Options{})
	for i := range 30 {
		p.write(t, fmt.Sprintf("number %d of the cat", i))
	}
	p.write(t, "poison in the cat tea")
	p.close()
	e := &remote{name: "large", dim: 128, weights: "b", refuse: "cat"}
	p = start(t, path, e, spaces.Options{BatchSize: 64})
	if _, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err == nil || !strings.Contains(err.Error(), "refuses 31 of 31") {
		t.Fatalf("many: %v", err)
	}
	e.set(func() { e.refuse = "poison" })
	if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{}); err != nil || n != 30 {
		t.Fatalf("one: %d, %v", n, err)
	}
	p.byMeaning(t, "feline number 7 of the", "number 7 of the cat")
	if r, _ := p.ask(t, "poison"); len(r.Hits) == 0 || r.Hits[0].Content != "poison in the cat tea" || !r.Hits[0].Pending {
		t.Errorf("%+v", r.Hits)
	}
	e.set(func() { e.refuse = "" })
	p.byMeaning(t, "poison in the cat beverage", "poison in the cat tea") // filled in later
	sound(t, path)
}

func TestSpacePolicies(t *testing.T) { storetest.Each(t, testSpacePolicies) }

func testSpacePolicies(t *testing.T, engine storetest.Engine) {
	for _, policy := range []spaces.Policy{spaces.Ask, spaces.Never, spaces.Auto} {
		t.Run(string(policy), func(t *testing.T) {
			path := engine.New(t)
			p := start(t, path, small("a"), spaces.Options{})
			p.write(t, "the cat sleeps")
			p.close()
			e := &remote{name: "large", dim: 128, weights: "b"}
			p = start(t, path, e, spaces.Options{Policy: policy})
			p.spaces.Start()
			if policy == spaces.Auto {
				p.byMeaning(t, "feline", "the cat sleeps")
				return
			}
			time.Sleep(300 * time.Millisecond)
			if _, found := p.ask(t, "the cat sleeps"); len(found) != 0 || e.texts != 0 {
				t.Errorf("found %q by meaning, %d texts embedded without anybody asking for it", found, e.texts)
			}
		})
	}
}

// A store that holds nothing, or only what is in the trash, takes the embedder's space.
func TestSpaceOfAnEmptyStore(t *testing.T) { storetest.Each(t, testSpaceOfAnEmptyStore) }

func testSpaceOfAnEmptyStore(t *testing.T, engine storetest.Engine) {
	path := engine.New(t)
	p := start(t, path, small("a"), spaces.Options{})
	w := p.write(t, "the cat sleeps")
	if _, err := p.Delete(t.Context(), ann, "", w.Memory.ID); err != nil {
		t.Fatal(err)
	}
	p.close()
	e := &remote{name: "large", dim: 128, weights: "b"}
	p = start(t, path, e, spaces.Options{})
	if f, err := p.spaces.Check(t.Context()); err != nil || !f.Consistent {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := p.Restore(t.Context(), ann, "", w.Memory.ID); err != nil {
		t.Fatal(err)
	}
	p.byMeaning(t, "feline", "the cat sleeps")
	sound(t, path)
}

func TestSpaceResetFingerprint(t *testing.T) { storetest.Each(t, testSpaceResetFingerprint) }

func testSpaceResetFingerprint(t *testing.T, engine storetest.Engine) {
	path := engine.New(t)
	p := start(t, path, small("a"), spaces.Options{})
	p.write(t, "the cat sleeps")
	p.close()
	large := &remote{name: "large", dim: 128, weights: "a"}
	p = start(t, path, large, spaces.Options{})
	if _, _, err := p.spaces.ResetFingerprint(t.Context()); !errors.Is(err, spaces.ErrDimensions) {
		t.Errorf("other dimension: %v", err)
	}
	p.close()
	// The weights differ a little, as those of another quantisation do.
	e := &remote{name: "same dimension", dim: 64, weights: "x"}
	p = start(t, path, e, spaces.Options{})
	if r, _ := p.ask(t, "cat"); r.Degraded == "" {
		t.Error("another model was believed")
	}
	was, is, err := p.spaces.ResetFingerprint(t.Context())
	if err != nil || was.Model != "small" || is.Model != "same dimension" {
		t.Fatalf("%+v, %+v, %v", was, is, err)
	}
	if r, _ := p.ask(t, "cat"); r.Degraded != "" || e.texts != 0 {
		t.Errorf("degraded %q, %d texts embedded", r.Degraded, e.texts)
	}
	if f, err := p.spaces.Check(t.Context()); err != nil || !f.Consistent {
		t.Errorf("%+v, %v", f, err)
	}
}

// Anew embeds everything again even if all is well.
func TestSpaceReembedAnew(t *testing.T) { storetest.Each(t, testSpaceReembedAnew) }

func testSpaceReembedAnew(t *testing.T, engine storetest.Engine) {
	for name, e := range map[string]vector.Embedder{"server": small("a"), "built in": &hashed{dim: 64}} {
		t.Run(name, func(t *testing.T) {
			path := engine.New(t)
			p := start(t, path, e, spaces.Options{})
			for i := range 20 {
				p.write(t, fmt.Sprintf("number %d of the cat", i))
			}
			before, err := p.spaces.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := p.spaces.Reembed(t.Context(), spaces.ReembedOptions{Anew: true}); err != nil || n != 20 {
				t.Fatalf("%d, %v", n, err)
			}
			after, err := p.spaces.Status(t.Context())
			if err != nil || after.Serving.ID == before.Serving.ID || after.State != spaces.Consistent || after.Serving.Vectors != 20 {
				t.Errorf("%+v, %v", after, err)
			}
			p.byMeaning(t, "number 7 of the cat", "number 7 of the cat")
			p.close()
			p = start(t, path, e, spaces.Options{})
			p.byMeaning(t, "number 7 of the cat", "number 7 of the cat")
			sound(t, path)
		})
	}
}

func sound(t *testing.T, h storetest.Home) {
	t.Helper()
	r, err := h.Open(t).Check(t.Context())
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("the store is not sound: %q, %v", r.Problems, err)
	}
}
