package chroma

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// Upsert stores records, each as a whole in place of one that has its id; keys of an old
// metadata that the new one lacks stay. It sends as many requests as the limits of the
// server and [MaxBody] ask for, in order; after an error the first of them may be stored.
// Ids must not repeat. A vector with a number that is none is an error.
func (c *Client) Upsert(ctx context.Context, id string, recs []Record) error {
	if len(recs) == 0 {
		return nil
	}
	limits, err := c.Limits(ctx)
	if err != nil {
		return err
	}
	for len(recs) > 0 {
		body, n, err := encodeUpsert(recs, limits, MaxBody)
		if err != nil {
			return fmt.Errorf("chroma: upsert: %w", err)
		}
		if err := c.call(ctx, "upsert", http.MethodPost, c.records(id, "/upsert"), body, nil, maxSmall); err != nil {
			return err
		}
		recs = recs[n:]
	}
	return nil
}

// encodeUpsert writes the body of an upsert of the first n of recs, as many as the
// limits allow, at least one.
func encodeUpsert(recs []Record, l Limits, maxBody int) (body []byte, n int, err error) {
	var ids, vecs, metas, docs []byte
	documents := false
	for _, r := range recs[:min(len(recs), max(l.MaxBatch, 1))] {
		was := [4]int{len(ids), len(vecs), len(metas), len(docs)}
		if n > 0 {
			ids, vecs, metas, docs = append(ids, ','), append(vecs, ','), append(metas, ','), append(docs, ',')
		}
		if ids, err = appendJSON(ids, r.ID); err != nil {
			return nil, 0, err
		}
		if vecs, err = appendVector(vecs, r.Embedding, l.Base64); err != nil {
			return nil, 0, fmt.Errorf("record %s: %w", r.ID, err)
		}
		var meta any
		if len(r.Metadata) > 0 {
			meta = r.Metadata
		}
		if metas, err = appendJSON(metas, meta); err != nil {
			return nil, 0, fmt.Errorf("record %s: metadata: %w", r.ID, err)
		}
		var doc any
		if r.Document != "" {
			doc, documents = r.Document, true
		}
		if docs, err = appendJSON(docs, doc); err != nil {
			return nil, 0, err
		}
		const around = 80 // the names of the four lists
		if len(ids)+len(vecs)+len(metas)+len(docs)+around > maxBody {
			if n == 0 {
				return nil, 0, fmt.Errorf("record %s alone is larger than the %d bytes of a request", r.ID, maxBody)
			}
			ids, vecs, metas, docs = ids[:was[0]], vecs[:was[1]], metas[:was[2]], docs[:was[3]]
			break
		}
		n++
	}
	body = make([]byte, 0, len(ids)+len(vecs)+len(metas)+len(docs)+100)
	body = append(append(body, `{"ids":[`...), ids...)
	body = append(append(body, `],"embeddings":[`...), vecs...)
	body = append(append(body, `],"metadatas":[`...), metas...)
	if documents {
		body = append(append(body, `],"documents":[`...), docs...)
	}
	return append(body, `]}`...), n, nil
}

func appendJSON(b []byte, v any) ([]byte, error) {
	j, err := json.Marshal(v)
	return append(b, j...), err
}

// appendVector writes a vector as numbers, each with as few digits as give the same
// float32 again, or as base64.
func appendVector(b []byte, v []float32, asBase64 bool) ([]byte, error) {
	if len(v) == 0 {
		return b, fmt.Errorf("an empty vector")
	}
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return b, fmt.Errorf("component %d of the vector is %v", i, x)
		}
	}
	if asBase64 {
		raw := make([]byte, 0, 4*len(v))
		for _, x := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"'), nil
	}
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, ']'), nil
}
