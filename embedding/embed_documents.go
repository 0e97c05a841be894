package embedding

import (
	"context"
	"slices"
	"sync/atomic"
)

// maxBatchBytes bounds a request's texts, so that slow servers answer in time.
const maxBatchBytes = 64 << 10

// EmbedDocuments returns the passages of each text, in order. A text of up to
// about 120 words or 180 Chinese characters is one passage, a longer one
// several, cut between sentences where that is possible, so that nothing is lost
// in a long average or beyond the model's input. A text without anything to
// read has none.
//
// If the server refuses some texts, the error is a [*BatchError] and the results
// of the others are good. With any other error ([*RemoteError], [ErrClosed], that
// of a cancelled context) there are no results. Each request may take Timeout and is repeated
// a few times; the context bounds the whole. Give it some hundred texts at a
// time, so that an outage does not cost more.
func (r *Remote) EmbedDocuments(ctx context.Context, texts []string) ([]Passages, error) {
	if err := ctx.Err(); err != nil || len(texts) == 0 {
		return nil, err
	}
	if !slices.ContainsFunc(texts, hasReadable) {
		return make([]Passages, len(texts)), nil
	}
	m, err := r.measured(ctx)
	if err != nil {
		return nil, err
	}
	var items []*item
	most := int(m.passage.Load())
	for i, text := range texts {
		for _, part := range passages(readable(text), most) {
			items = append(items, &item{document: i, text: part})
		}
	}
	err = r.guarded(ctx, func() error {
		for rest := items; len(rest) > 0; {
			n := batchOf(rest, int(m.batch.Load()))
			if err := r.embedItems(ctx, m, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gather(len(texts), items)
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

// item is a passage on its way.
type item struct {
	document int
	text     string
	vectors  [][]float32 // one; several if the passage had to be divided again
	err      error       // why the server does not embed it
}

// batchOf returns how many of the items go into the next request, at least one.
func batchOf(items []*item, most int) int {
	size := 0
	for n, it := range items {
		if size += len(it.text); n > 0 && (n >= most || size > maxBatchBytes) {
			return n
		}
	}
	return len(items)
}

// gather puts the passages of each document together. One of which a passage is
// bad has none: half a document would be taken for the whole.
func gather(documents int, items []*item) ([]Passages, error) {
	out := make([]Passages, documents)
	bad := map[int]error{}
	for _, it := range items {
		if it.err != nil && bad[it.document] == nil {
			bad[it.document] = it.err
		}
		out[it.document] = append(out[it.document], it.vectors...)
	}
	if len(bad) == 0 {
		return out, nil
	}
	for i := range bad {
		out[i] = nil
	}
	return out, &BatchError{Bad: bad}
}

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
	if n := len(items); n > 1 {
		if re.shape || re.Status == 413 {
			r.learn(&m.batch, int64(n/2), "texts a request")
		}
		if err := r.embedItems(ctx, m, items[:n/2]); err != nil {
			return err
		}
		return r.embedItems(ctx, m, items[n/2:])
	}
	if it := items[0]; re.tooLong {
		if parts := halves(it.text); len(parts) > 0 {
			r.learn(&m.passage, int64(max(cost(it.text)*3/5, leastPassage)), "size of passages")
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

// embedParts embeds a passage that is too long in parts.
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
	return nil
}
