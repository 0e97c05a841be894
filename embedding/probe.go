package embedding

import (
	"context"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"
)

// probeText is embedded to measure a model, and to tell a text that the server
// refuses from a server that refuses everything.
const probeText = "The lighthouse keeper writes a letter to her sister every Sunday."

// Probe finds out about the model once: it chooses one if that is left to it,
// checks that the server has it and that it can embed, and measures the length
// of its vectors by embedding a sentence. What it finds is remembered until
// [Remote.Forget]; a failure is not. Callers at the same time share one
// question, which goes on for the others when one of them stops waiting.
func (r *Remote) Probe(ctx context.Context) (Space, error) {
	m, err := r.measured(ctx)
	if err != nil {
		return r.Space(), err
	}
	return m.space, nil
}

// measured returns what Probe finds.
func (r *Remote) measured(ctx context.Context) (*measured, error) {
	if r.base.Err() != nil {
		return nil, ErrClosed
	}
	if m := r.known.Load(); m != nil {
		return m, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case answer := <-r.flight.DoChan("", func() (any, error) { return r.ask() }):
		if answer.Err != nil {
			return nil, answer.Err
		}
		m, _ := answer.Val.(*measured)
		return m, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		e := r.conn.fail(KindTimeout, "no answer from %s yet (it may be loading the model)", r.conn.base)
		e.cause = ctx.Err()
		return nil, e
	}
}

// ask does what Probe promises. It does not end with the caller that began it,
// but with Close.
func (r *Remote) ask() (*measured, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.work.Add(1) // before Close waits
	forgets := r.forgets
	r.mu.Unlock()
	defer r.work.Done()
	ctx, cancel := context.WithTimeout(r.base, 3*r.options.Timeout)
	defer cancel()
	var m *measured
	err := r.guarded(ctx, func() (err error) {
		m, err = r.measure(ctx)
		return err
	})
	switch {
	case r.base.Err() != nil:
		return nil, ErrClosed
	case err != nil:
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgets == forgets {
		r.known.Store(m)
		r.log.Debug("embedding model measured", "protocol", m.space.Protocol, "model", m.space.Model, "dimension", m.space.Dim)
	}
	return m, nil
}

func (r *Remote) measure(ctx context.Context) (*measured, error) {
	o := r.options
	var is chosen
	err := r.document.repeat(ctx, func() (err error) {
		is, err = r.asker.choose(ctx, r.conn, o.Timeout, o.Model, o.Prefer)
		return err
	})
	if err != nil {
		return nil, err
	}
	m := &measured{}
	m.query, m.document = o.prefixes(is.model)
	m.space = Space{Protocol: r.protocol, Model: is.model, BaseURL: r.conn.base, Version: spaceVersion(m.query, m.document, o.Dimensions)}
	m.passage.Store(int64(passageCost(is.context, max(cost(m.query), cost(m.document)))))
	m.batch.Store(int64(o.BatchSize))
	if o.QueryCache > 0 {
		m.cache, _ = lru.New[string, []float32](o.QueryCache) // fails only on sizes below 1
	}
	vectors, err := r.vectors(ctx, m, r.document, []string{m.document + probeText}, true)
	if err != nil {
		return nil, err
	}
	if fault := vectors[0].fault; fault != nil {
		return nil, r.conn.fail(KindBadAnswer, "model %q gives no usable vectors: %v", is.model, fault)
	}
	m.space.Dim = len(vectors[0].v)
	return m, nil
}

// vectors embeds texts in one request, repeated as far as the pace allows. There
// is a result for each text: a unit vector of the space's length, or the
// fault of this one. The error is about the whole request.
func (r *Remote) vectors(ctx context.Context, m *measured, p pace, texts []string, truncate bool) ([]numbers, error) {
	var vectors []numbers
	err := p.repeat(ctx, func() (err error) {
		vectors, err = r.asker.embed(ctx, r.conn, r.options.Timeout, embedRequest{
			model: m.space.Model, texts: texts, dimensions: r.options.Dimensions, truncate: truncate,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		e := r.conn.fail(KindBadAnswer, "%d vectors for %d texts", len(vectors), len(texts))
		e.shape = true
		return nil, e
	}
	empty := 0
	for i := range vectors {
		n := &vectors[i]
		if n.fault == nil && n.v == nil {
			n.fault = errEmpty // the field was missing
		}
		if n.fault == nil {
			if err := r.fits(m, len(n.v)); err != nil {
				return nil, err
			}
			n.fault = unit(n.v)
		}
		if errors.Is(n.fault, errEmpty) || errors.Is(n.fault, errNotNumbers) {
			empty++
		}
	}
	if empty > 0 {
		e := r.conn.fail(KindBadAnswer, "no vector for %d of %d texts", empty, len(texts))
		e.shape = true
		return nil, e
	}
	return vectors, nil
}

// fits checks the length of a vector. Another one than measured means that all
// stored vectors are of another model, so nothing of the answer may be used.
func (r *Remote) fits(m *measured, length int) error {
	switch want := r.options.Dimensions; {
	case want > 0 && length != want:
		return r.conn.fail(KindDimension, "model %q answers with %d numbers a vector, EMBEDDING_DIMENSIONS asks for %d (set it to 0 for the model's own, or choose another model)",
			m.space.Model, length, want)
	case length > maxDimensions:
		return r.conn.fail(KindDimension, "model %q answers with %d numbers a vector, at most %d are supported", m.space.Model, length, maxDimensions)
	case m.space.Dim > 0 && length != m.space.Dim:
		return r.conn.fail(KindDimension, "the model behind %q changed: %d numbers a vector, before it were %d (stored vectors no longer fit; run: reverie reindex)",
			m.space.Model, length, m.space.Dim)
	}
	return nil
}
