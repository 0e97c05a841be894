package spaces

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
)

// LeaseName is the lease under which one process embeds anew.
const LeaseName = "reembed"

const (
	// reembedRetries and reembedPause are how often a batch is tried while the server does
	// not answer, and for how long at most it waits in between: about two minutes in all,
	// after which it is for a person, or the background, to begin again where it stopped.
	reembedRetries = 8
	reembedPause   = 30 * time.Second
	// passesBeforeSwitch bounds how often the store is looked through for what was written
	// meanwhile; the rest waits as pending after the switch.
	passesBeforeSwitch = 20
	// badAllowed is the share of texts that the model may refuse; the store is not
	// switched to a model that refuses more.
	badAllowed = 0.05
)

// ReembedOptions of [Manager.Reembed]; the zero value is the default of every field.
type ReembedOptions struct {
	// Anew embeds every text again, even if the store is in the embedder's space and its
	// canary says that nothing has changed. Default: then nothing is to be done.
	Anew bool
	// Progress is told after every batch.
	Progress func(done, total int)
}

// Reembed embeds every text with the configured embedder, in a new space beside the one
// that serves, and switches to it when all is done. Writes go on meanwhile and are
// included. It returns how many texts have a vector in the new space.
//
// One process at a time does it ([*store.HeldError]). What is done stays done: after an
// error or a kill the next call continues, unless the model has changed since. While it
// runs, and after an error, the space of before serves.
func (m *Manager) Reembed(ctx context.Context, o ReembedOptions) (int, error) {
	if m.target == nil {
		return 0, errors.New("no embedder is configured")
	}
	lease, err := m.db.Lease(ctx, LeaseName, 0)
	if err != nil {
		return 0, err
	}
	defer lease.Release()
	r := &reembedding{Manager: m, lease: lease, o: o, bad: map[int64]error{}}
	n, err := r.run(lease.Context())
	m.forget()
	if cause := context.Cause(lease.Context()); err != nil && errors.Is(cause, store.ErrLeaseLost) {
		err = cause
	}
	if err != nil {
		return n, fmt.Errorf("embed anew: %w", err)
	}
	// What was written in the moment of the switch.
	for _, c := range m.registered() {
		if err := c.Fill(ctx); err != nil {
			m.log.Warn("vectors that are still missing follow later", "error", err)
		}
	}
	have, err := m.vectors(ctx)
	return max(n, have), err
}

// reembedding is one run.
type reembedding struct {
	*Manager
	lease *store.Lease
	o     ReembedOptions

	from, to row
	bad      map[int64]error // texts that the model refuses, of the corpus at hand
	refused  int
	total    int
}

func (r *reembedding) run(ctx context.Context) (int, error) {
	sp, canary, err := r.measure(ctx, r.target)
	if err != nil {
		return 0, err
	}
	resumed, needed, err := r.plan(ctx, sp, canary)
	if err != nil || !needed {
		have, _, cerr := r.count(ctx)
		return have, errors.Join(err, cerr)
	}
	// Before the new space is registered: a run that continues one makes no other backup.
	if !resumed && r.opts.Backup != nil {
		if err := r.opts.Backup(ctx, "before re-embedding"); err != nil {
			return 0, fmt.Errorf("backup before it: %w", err)
		}
	}
	if err := r.prepare(ctx, sp, canary); err != nil || r.arrived() {
		return 0, err
	}
	if err := r.fill(ctx); err != nil {
		return r.done(ctx), err
	}
	if err := r.serve(ctx); err != nil {
		return r.done(ctx), err
	}
	have, _, err := r.count(ctx)
	if err != nil {
		return have, err
	}
	return have, r.dropOthers(ctx)
}

// plan finds out what there is to do: needed says whether anything is, resumed that a run
// of before is to be continued.
func (r *reembedding) plan(ctx context.Context, sp embedding.Space, canary Canary) (resumed, needed bool, err error) {
	err = r.db.Read(ctx, func(g *gorm.DB) error {
		_, err := r.find(g, sp, canary)
		resumed, needed = r.to.state == building, !r.arrived()
		return err
	})
	return resumed, needed, err
}

// find looks for the spaces to go from and to among those that there are; the one to go to
// may have to be registered yet. leave are those that a run of before has left unfinished
// and that are of no use.
func (r *reembedding) find(g *gorm.DB, sp embedding.Space, canary Canary) (leave []int64, err error) {
	r.from, r.to = row{}, row{}
	sv, err := store.ReadServing(g)
	if err != nil {
		return nil, err
	}
	rows, err := readRows(g)
	if err != nil {
		return nil, err
	}
	for _, have := range rows {
		same := r.same(g, have, sp, canary)
		switch {
		case have.id == sv.Space:
			r.from = have
			if same && !r.o.Anew {
				r.to = have
				return nil, nil
			}
		case have.state == building && !same:
			leave = append(leave, have.id) // of another model, or of this one before it was exchanged
		case have.state == building, have.state == old && !r.o.Anew && same:
			r.to = have
		}
	}
	if r.to.id == 0 {
		sp.Version = freshVersion(rows, sp)
		r.to = row{Space: sp}
	}
	return leave, nil
}

// arrived reports whether the space to go to is the one that serves.
func (r *reembedding) arrived() bool { return r.to.id != 0 && r.to.id == r.from.id }

// prepare registers the space to fill, and removes what a run of before has left.
func (r *reembedding) prepare(ctx context.Context, sp embedding.Space, canary Canary) error {
	var leave []int64
	err := r.db.Exclusive(ctx, func(g *gorm.DB) (err error) {
		if leave, err = r.find(g, sp, canary); err != nil {
			return err
		}
		if r.arrived() {
			return store.ErrUnchanged
		}
		if r.to.id == 0 {
			if r.to.id, err = insertRow(g, r.to.Space, building); err != nil {
				return err
			}
		}
		if canary != nil {
			if err := writeCanary(g, r.to.id, canary); err != nil {
				return err
			}
		}
		r.to.state = building
		return setState(g, r.to.id, building)
	})
	for _, id := range leave {
		err = errors.Join(err, r.drop(ctx, id))
	}
	return err
}

// same reports whether a space holds vectors of the embedder as it is now.
func (r *reembedding) same(g *gorm.DB, have row, sp embedding.Space, canary Canary) bool {
	if !sameName(have.Space, sp) || have.Dim != sp.Dim {
		return false
	}
	if canary == nil {
		return true // taken at its word
	}
	stored, err := readCanary(g, have.id)
	same, _ := canary.Same(stored)
	return err == nil && same
}

// fill embeds what has no vector in the new space, again and again until a pass finds
// nothing that was written meanwhile.
func (r *reembedding) fill(ctx context.Context) error {
	for range passesBeforeSwitch {
		have, total, err := r.count(ctx)
		if err != nil {
			return err
		}
		r.total = total
		r.progress(have)
		found := 0
		for _, c := range r.registered() {
			clear(r.bad)
			n, err := r.pass(ctx, c, have+found)
			if err != nil {
				return err
			}
			found += n
		}
		if found == 0 {
			break
		}
	}
	if r.refused > 10 && float64(r.refused) > badAllowed*float64(r.total) {
		return fmt.Errorf("the model refuses %d of %d texts; the space of before stays; the last reason: %w", r.refused, r.total, r.lastBad())
	}
	return nil
}

func (r *reembedding) lastBad() error {
	for _, err := range r.bad {
		return err
	}
	return errors.New("unknown")
}

func (r *reembedding) progress(done int) {
	r.lease.Note(fmt.Sprintf("%d of %d texts, to %s", done, r.total, Label(r.to.Space)))
	if r.o.Progress != nil {
		r.o.Progress(done, r.total)
	}
}

// pass goes once through the texts of a corpus, and returns how many it embedded.
func (r *reembedding) pass(ctx context.Context, c Corpus, before int) (int, error) {
	embedded, refused := 0, 0
	for after := int64(0); ; {
		texts, err := c.Missing(ctx, r.to.id, after, r.opts.BatchSize)
		if err != nil || len(texts) == 0 {
			r.refused = refused
			return embedded, err
		}
		after = texts[len(texts)-1].ID
		docs, good, err := r.embed(ctx, texts)
		if err != nil {
			return embedded, err
		}
		refused += len(texts) - len(good)
		if len(good) == 0 && embedded == 0 && len(texts) == r.opts.BatchSize {
			return 0, fmt.Errorf("the model refuses every text: %w", r.lastBad())
		}
		if err := c.Store(ctx, r.to.id, good, docs); err != nil {
			return embedded, err
		}
		embedded += len(good)
		r.progress(before + embedded)
	}
}

// embed embeds a batch, waiting for a server that does not answer. Texts that the model
// refuses are left out of what it returns.
func (r *reembedding) embed(ctx context.Context, texts []Text) ([]embedding.Passages, []Text, error) {
	contents := make([]string, len(texts))
	for i, t := range texts {
		contents[i] = t.Content
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 500*time.Millisecond, reembedPause
	for try := 1; ; try++ {
		docs, err := r.target.EmbedDocuments(ctx, contents)
		var some *embedding.BatchError
		switch {
		case err == nil && len(docs) != len(texts):
			return nil, nil, fmt.Errorf("embedder returned %d results for %d texts", len(docs), len(texts))
		case err == nil:
			return docs, texts, r.rightSize(docs)
		case errors.As(err, &some) && len(docs) == len(texts):
			docs, good := r.without(some, docs, texts)
			return docs, good, r.rightSize(docs)
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case errors.Is(err, embedding.ErrDimension), try == reembedRetries:
			return nil, nil, err
		}
		r.log.Debug("batch tried again", "error", err)
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// without leaves out what the model refused.
func (r *reembedding) without(some *embedding.BatchError, docs []embedding.Passages, texts []Text) ([]embedding.Passages, []Text) {
	var good []embedding.Passages
	var kept []Text
	for i := range texts {
		if err := some.Bad[i]; err != nil {
			r.bad[texts[i].ID] = err
			continue
		}
		good, kept = append(good, docs[i]), append(kept, texts[i])
	}
	return good, kept
}

// rightSize refuses vectors of another length than the space's: the model was exchanged
// in the middle of the run.
func (r *reembedding) rightSize(docs []embedding.Passages) error {
	for _, d := range docs {
		for _, v := range d {
			if len(v) != r.to.Dim {
				return fmt.Errorf("%w: %d numbers instead of %d; run reverie reindex again to begin with the model as it is now", embedding.ErrDimension, len(v), r.to.Dim)
			}
		}
	}
	return nil
}

// serve switches. Before it the model is asked once more: it may have been exchanged for
// another of the same dimension while the run went on.
func (r *reembedding) serve(ctx context.Context) error {
	sp, canary, err := r.measure(ctx, r.target)
	if err != nil {
		return err
	}
	return r.db.Exclusive(ctx, func(g *gorm.DB) error {
		mine, err := r.lease.Mine(g)
		if err != nil || !mine {
			return errors.Join(err, store.ErrLeaseLost)
		}
		now, ok, err := rowByID(g, r.to.id)
		if err != nil {
			return err
		}
		if !ok || !r.same(g, now, sp, canary) {
			return errors.New("the model behind the name was exchanged during the run; run reverie reindex again to begin with the model as it is now")
		}
		return r.switchTo(g, r.to.id)
	})
}

// dropOthers removes the spaces that are of no use any more. The one of before stays: going
// back to it is then a matter of seconds.
func (r *reembedding) dropOthers(ctx context.Context) error {
	var rows []row
	err := r.db.Read(ctx, func(g *gorm.DB) (err error) {
		rows, err = readRows(g)
		return err
	})
	for _, other := range rows {
		if other.id != r.to.id && other.id != r.from.id {
			err = errors.Join(err, r.drop(ctx, other.id))
		}
	}
	return err
}

func (r *reembedding) drop(ctx context.Context, id int64) error {
	for _, c := range r.registered() {
		if err := c.Drop(ctx, id); err != nil {
			return fmt.Errorf("remove the vectors of space %d: %w", id, err)
		}
	}
	return r.db.Exclusive(ctx, func(g *gorm.DB) error { return deleteRow(g, id) })
}

// Fill gives texts that wait for their vector in the space that serves theirs, and
// returns how many have one.
func (m *Manager) Fill(ctx context.Context) (int, error) {
	for _, c := range m.registered() {
		if err := c.Fill(ctx); err != nil {
			n, _ := m.vectors(ctx)
			return n, err
		}
	}
	return m.vectors(ctx)
}

// vectors counts the texts that have a vector in the space that serves.
func (m *Manager) vectors(ctx context.Context) (n int, err error) {
	err = m.db.Read(ctx, func(g *gorm.DB) error {
		n = 0 // it may run again
		sv, err := store.ReadServing(g)
		if err != nil {
			return err
		}
		for _, c := range m.registered() {
			have, _, err := c.Count(g, sv.Space)
			if err != nil {
				return err
			}
			n += have
		}
		return nil
	})
	return n, err
}

// done counts what was embedded before an error, which may be the end of the context.
func (r *reembedding) done(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	have, _, err := r.count(ctx)
	if err != nil {
		r.log.Debug("what was embedded is not counted", "error", err)
	}
	return have
}

// count adds up what has a vector in the new space.
func (r *reembedding) count(ctx context.Context) (have, total int, err error) {
	corpora := slices.Clone(r.registered())
	err = r.db.Read(ctx, func(g *gorm.DB) error {
		have, total = 0, 0 // it may run again
		for _, c := range corpora {
			h, t, err := c.Count(g, r.to.id)
			if err != nil {
				return err
			}
			have, total = have+h, total+t
		}
		return nil
	})
	return have, total, err
}
