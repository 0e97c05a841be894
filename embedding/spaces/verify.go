package spaces

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
)

// judge believes an embedder of the right name once its canary is that of the space.
func (m *Manager) judge(ctx context.Context, sv store.Serving, r row, e Embedder, configured bool) (*Current, error) {
	v, ok := m.sound[r.id]
	if !ok {
		var err error
		if v, err = m.verify(ctx, r, e); err != nil {
			if cerr := context.Cause(ctx); cerr != nil {
				return nil, cerr
			}
			if errors.Is(err, store.ErrDamaged) {
				return nil, err
			}
			return &Current{Serving: sv, Why: failing(e, err)}, nil // not kept: it is asked again
		}
		m.sound[r.id] = v
	}
	if v.why != "" {
		return m.keep(&Current{Serving: sv, Why: v.why}), nil
	}
	return m.keep(&Current{Serving: sv, Embedder: e, configured: configured, Unrelated: v.unrelated}), nil
}

// failing words the failure of a server for people.
func failing(e Embedder, err error) string {
	return fmt.Sprintf("the embedder %s failed (%v): found by words only; writes are kept and get their vectors later; check it with: reverie status", Label(e.Space()), err)
}

// verify compares canaries. One that the space does not have yet is taken.
func (m *Manager) verify(ctx context.Context, r row, e Embedder) (verdict, error) {
	if _, remote := e.(prober); !remote {
		if sp := e.Space(); sp.Dim != r.Dim || sp.Version != baseVersion(r.Version) {
			return verdict{why: fmt.Sprintf("the stored vectors are of another version of %s: found by words only until the memories are embedded anew; run: reverie reindex", Label(r.Space))}, nil
		}
		return verdict{}, nil
	}
	var have Canary
	err := m.db.Read(ctx, func(g *gorm.DB) (err error) {
		have, err = readCanary(g, r.id)
		return err
	})
	if err != nil {
		return verdict{}, err
	}
	if m.opts.Trust && have != nil {
		return verdict{unrelated: have.Unrelated()}, nil
	}
	sp, now, err := m.measure(ctx, e)
	if err != nil {
		return verdict{}, err
	}
	switch same, least := now.Same(have); {
	case !sameName(sp, r.Space):
		return verdict{why: fmt.Sprintf("the stored vectors are of %s, the server now has %s: found by words only until the memories are embedded anew; run: reverie reindex", Label(r.Space), Label(sp))}, nil
	case sp.Dim != r.Dim:
		return verdict{why: fmt.Sprintf("the model behind the name of %s was exchanged: it now makes vectors of %d numbers; found by words only until the memories are embedded anew; run: reverie reindex", Label(r.Space), sp.Dim)}, nil
	case have == nil:
		return verdict{unrelated: now.Unrelated()}, m.db.Maintain(ctx, func(g *gorm.DB) error { return writeCanary(g, r.id, now) })
	case !same:
		return verdict{why: exchanged(r.Space, have, least) + ": found by words only until the memories are embedded anew; run: reverie reindex"}, nil
	}
	return verdict{unrelated: have.Unrelated()}, nil
}

// measure returns the space of an embedder as it is now, and its canary: none for one
// that is taken at its word.
func (m *Manager) measure(ctx context.Context, e Embedder) (embedding.Space, Canary, error) {
	p, ok := e.(prober)
	if !ok {
		return e.Space(), nil, nil
	}
	if f, ok := e.(interface{ Forget() }); ok {
		f.Forget() // what it measured before may be of a model that is no longer there
	}
	sp, err := p.Probe(ctx)
	if err != nil {
		return sp, nil, err
	}
	c, err := takeCanary(ctx, e)
	if err != nil {
		return sp, nil, err
	}
	if c.Dim() != sp.Dim {
		return sp, nil, fmt.Errorf("the model %s answered %d numbers, then %d", sp.Model, sp.Dim, c.Dim())
	}
	return sp, c, nil
}
