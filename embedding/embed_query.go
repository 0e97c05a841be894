package embedding

import (
	"context"
	"strings"
)

// maxQueryCost is where a query is cut, see cost: about 300 words. What is searched is
// said in less, and the longer a text the less of it is in its vector.
const maxQueryCost = 450_00

// EmbedQuery returns the unit vector of a text that is searched for, nil for a
// text without anything to read: then nothing is asked. It takes no longer than
// QueryTimeout, with one quick second try, since a search can do without. The
// vector may be shared with other callers: do not change it.
//
// Errors are [*RemoteError], [ErrClosed], or that of a cancelled context.
func (r *Remote) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text = readable(text[:cutAt(text, maxQueryBytes)])
	if text == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.QueryTimeout)
	defer cancel()
	m, err := r.measured(ctx)
	if err != nil {
		return nil, err
	}
	if m.cache != nil {
		if v, ok := m.cache.Get(text); ok {
			return v, nil
		}
	}
	var v []float32
	err = r.guarded(ctx, func() (err error) {
		v, err = r.queryVector(ctx, m, text)
		return err
	})
	if err != nil {
		if re := asRemote(err); re != nil && re.Kind == KindTimeout {
			r.wake(m)
		}
		return nil, err
	}
	if m.cache != nil && len(text) <= maxCachedBytes {
		m.cache.Add(strings.Clone(text), v)
	}
	return v, nil
}

// queryVector asks, with less of the text as long as the server finds it too long.
func (r *Remote) queryVector(ctx context.Context, m *measured, text string) ([]float32, error) {
	for most := min(maxQueryCost, int(m.passage.Load())*4/3); ; most /= 2 {
		vectors, err := r.vectors(ctx, m, r.query, []string{m.query + headOf(text, most)}, true)
		switch re := asRemote(err); {
		case re != nil && re.tooLong && most > leastPassage:
			continue
		case err != nil:
			return nil, err
		}
		if fault := vectors[0].fault; fault != nil {
			return nil, r.conn.fail(KindBadAnswer, "no usable vector for the query: %v", fault)
		}
		return vectors[0].v, nil
	}
}

// wake makes the server embed a sentence in the background, with the time for
// documents. Ollama stops loading a model when the client that wanted it goes
// away: a model that loads longer than a query waits would never be there.
func (r *Remote) wake(m *measured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waking || r.closed {
		return
	}
	r.waking = true
	r.work.Go(func() {
		_, err := r.vectors(r.base, m, r.query, []string{m.document + probeText}, true)
		if err == nil {
			if _, resumed := r.breaker.leave(false, serverUp, nil); resumed {
				r.log.Info("embedding server works again", "url", r.conn.base)
			}
		}
		r.mu.Lock()
		r.waking = false
		r.mu.Unlock()
	})
}
