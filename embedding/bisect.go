package embedding

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
)

// embedItems fills in vectors or errors of the items. A request that the server
// refuses is halved until the text at fault stands alone. The returned error is
// that of a server which does not work.
func (r *Remote) embedItems(ctx context.Context, m *measured, items []*item) error {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = m.document + it.text
	}
	vectors, err := r.vectors(ctx, m, r.document, texts, false)
	if err == nil {
		return r.accept(ctx, m, items, vectors)
	}
	re := asRemote(err)
	if re == nil || !re.aboutTexts() {
		return err
	}
	if len(items) > 1 {
		return r.embedHalves(ctx, m, items, re)
	}
	if it := items[0]; re.tooLong {
		if parts := halves(it.text); len(parts) > 0 {
			return r.embedParts(ctx, m, it, parts)
		}
	}
	if re.shape {
		return err // a single text without its vector: nothing will have one
	}
	return r.blame(ctx, m, items[0], err)
}

// aboutTexts reports whether the fault may be that of some of the texts.
func (e *RemoteError) aboutTexts() bool {
	return e.shape || e.tooLong || e.Kind == KindBadInput || e.Kind == KindServer && e.Status == 500
}

// accept takes the vectors of a good answer. Texts whose vector is bad are tried
// once more alone, since some servers spoil vectors only in batches.
func (r *Remote) accept(ctx context.Context, m *measured, items []*item, vectors []numbers) error {
	for i, it := range items {
		switch fault := vectors[i].fault; {
		case fault == nil:
			it.vectors = [][]float32{vectors[i].v}
		case len(items) > 1:
			if err := r.embedItems(ctx, m, items[i:i+1]); err != nil {
				return err
			}
		default:
			return r.blame(ctx, m, it, r.conn.fail(KindBadInput, "model %q makes no usable vector of it: %v", m.space.Model, fault))
		}
	}
	return nil
}

// blame records the error with the text if the server still embeds another one.
// If it does not, the server is at fault and the error is returned.
func (r *Remote) blame(ctx context.Context, m *measured, it *item, fault error) error {
	vectors, err := r.vectors(ctx, m, r.document, []string{m.document + probeText}, true)
	if err == nil && vectors[0].fault == nil {
		it.err = fault
		return nil
	}
	if asRemote(err) != nil || err == nil {
		return fault
	}
	return err
}

// embedHalves embeds in two requests what one was refused for. If that was all
// it needed, requests are no larger from now on.
func (r *Remote) embedHalves(ctx context.Context, m *measured, items []*item, refusal *RemoteError) error {
	n := len(items)
	for _, half := range [][]*item{items[:n/2], items[n/2:]} {
		if err := r.embedItems(ctx, m, half); err != nil {
			return err
		}
	}
	size := refusal.shape || refusal.Status == http.StatusRequestEntityTooLarge
	if size && !slices.ContainsFunc(items, func(it *item) bool { return it.err != nil }) {
		r.learn(&m.batch, int64(n/2), "texts a request")
	}
	return nil
}

// embedParts embeds a passage that is too long in parts, and makes passages no
// larger from now on.
func (r *Remote) embedParts(ctx context.Context, m *measured, it *item, parts []string) error {
	for _, text := range parts {
		part := &item{document: it.document, text: text}
		if err := r.embedItems(ctx, m, []*item{part}); err != nil {
			return err
		}
		if part.err != nil {
			it.err = part.err
			return nil
		}
		it.vectors = append(it.vectors, part.vectors...)
	}
	r.learn(&m.passage, int64(max(cost(it.text)*3/5, leastPassage)), "size of passages")
	return nil
}

// learn lowers a bound that the server turned out to have.
func (r *Remote) learn(bound *atomic.Int64, to int64, what string) {
	for {
		old := bound.Load()
		if to >= old || to < 1 {
			return
		}
		if bound.CompareAndSwap(old, to) {
			r.log.Debug("embedding server takes less", "what", what, "from", old, "to", to)
			return
		}
	}
}
