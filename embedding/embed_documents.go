package embedding

import (
	"context"
	"slices"
)

// maxBatchBytes bounds a request's texts, so that slow servers answer in time.
const maxBatchBytes = 24 << 10

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
