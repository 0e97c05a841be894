package chroma

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// Record is a vector with what belongs to it.
type Record struct {
	ID        string
	Embedding []float32      // nil where it was not asked for
	Metadata  map[string]any // strings, numbers (float64 when read), booleans
	Document  string         // empty for none
}

// Where is a filter on metadata. The zero value, nil, lets everything pass.
type Where map[string]any

// Equal lets records pass whose key has the value.
func Equal(key string, value any) Where { return Where{key: map[string]any{"$eq": value}} }

// In lets records pass whose key has one of the values, at least one.
func In(key string, values []string) Where { return Where{key: map[string]any{"$in": values}} }

// All lets records pass that every filter lets pass, at least two.
func All(w ...Where) Where { return Where{"$and": w} }

// Include says what of records is read besides their ids.
type Include struct{ Embeddings, Metadata, Documents bool }

func (i Include) list() []string {
	out := []string{}
	if i.Embeddings {
		out = append(out, "embeddings")
	}
	if i.Metadata {
		out = append(out, "metadatas")
	}
	if i.Documents {
		out = append(out, "documents")
	}
	return out
}

// GetQuery asks for records.
type GetQuery struct {
	IDs    []string // only these, if any
	Where  Where
	Limit  int // 0: all, which only a filter makes few
	Offset int
	Include
}

// records is the path of something about a collection.
func (c *Client) records(id, what string) string {
	return c.database() + "/collections/" + url.PathEscape(id) + what
}

func marshal(op string, in any) ([]byte, error) {
	b, err := json.Marshal(in)
	if err == nil && len(b) > MaxBody {
		err = fmt.Errorf("a request of %d bytes; the limit is %d", len(b), MaxBody)
	}
	if err != nil {
		return nil, fmt.Errorf("chroma: %s: %w", op, err)
	}
	return b, nil
}

// Get reads records, in the order in which they were made.
func (c *Client) Get(ctx context.Context, id string, q GetQuery) ([]Record, error) {
	const op = "get records"
	in := map[string]any{"include": q.list()}
	if q.IDs != nil {
		in["ids"] = q.IDs
	}
	if len(q.Where) > 0 {
		in["where"] = q.Where
	}
	if q.Limit > 0 {
		in["limit"] = q.Limit
	}
	if q.Offset > 0 {
		in["offset"] = q.Offset
	}
	body, err := marshal(op, in)
	if err != nil {
		return nil, err
	}
	var a struct {
		IDs        []string         `json:"ids"`
		Embeddings [][]float32      `json:"embeddings"`
		Metadatas  []map[string]any `json:"metadatas"`
		Documents  []*string        `json:"documents"`
	}
	if err := c.call(ctx, op, http.MethodPost, c.records(id, "/get"), body, &a, maxAnswer); err != nil {
		return nil, err
	}
	n := len(a.IDs)
	if q.Embeddings && len(a.Embeddings) != n || q.Metadata && len(a.Metadatas) != n || q.Documents && len(a.Documents) != n {
		return nil, &Error{Op: op, Status: http.StatusOK, Err: fmt.Errorf("%d ids with %d vectors, %d metadata and %d documents", n, len(a.Embeddings), len(a.Metadatas), len(a.Documents))}
	}
	out := make([]Record, n)
	for i := range out {
		out[i].ID = a.IDs[i]
		if q.Embeddings {
			out[i].Embedding = a.Embeddings[i]
		}
		if q.Metadata {
			out[i].Metadata = a.Metadatas[i]
		}
		if q.Documents && a.Documents[i] != nil {
			out[i].Document = *a.Documents[i]
		}
	}
	return out, nil
}

// Pages reads the records of a collection, limit at a time (0: [MaxBatch]). What is
// written meanwhile may be missing or come twice.
func (c *Client) Pages(ctx context.Context, id string, q GetQuery) iter.Seq2[[]Record, error] {
	if q.Limit <= 0 {
		q.Limit = MaxBatch
	}
	return func(yield func([]Record, error) bool) {
		for {
			page, err := c.Get(ctx, id, q)
			if err == nil && len(page) > q.Limit {
				err = &Error{Op: "get records", Status: http.StatusOK, Err: fmt.Errorf("%d records where at most %d were asked for", len(page), q.Limit)}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page) > 0 && !yield(page, nil) || len(page) < q.Limit {
				return
			}
			q.Offset += len(page)
		}
	}
}

// Near is a record found by a query.
type Near struct {
	ID       string
	Distance float64 // squared L2
	Metadata map[string]any
}

// Query returns the n records nearest to a vector of those that pass the filter, nearest
// first. Fewer are no error.
func (c *Client) Query(ctx context.Context, id string, vec []float32, n int, where Where) ([]Near, error) {
	const op = "query"
	in := map[string]any{"query_embeddings": [][]float32{vec}, "n_results": n, "include": []string{"distances", "metadatas"}}
	if len(where) > 0 {
		in["where"] = where
	}
	body, err := marshal(op, in)
	if err != nil {
		return nil, err
	}
	var a struct {
		IDs       [][]string         `json:"ids"`
		Distances [][]*float64       `json:"distances"`
		Metadatas [][]map[string]any `json:"metadatas"`
	}
	if err := c.call(ctx, op, http.MethodPost, c.records(id, "/query"), body, &a, maxAnswer); err != nil {
		return nil, err
	}
	if len(a.IDs) != 1 || len(a.IDs[0]) == 0 {
		if len(a.IDs) > 1 {
			return nil, &Error{Op: op, Status: http.StatusOK, Err: fmt.Errorf("%d answers to one query", len(a.IDs))}
		}
		return nil, nil
	}
	ids := a.IDs[0]
	if len(a.Distances) != 1 || len(a.Distances[0]) != len(ids) || len(a.Metadatas) != 1 || len(a.Metadatas[0]) != len(ids) {
		return nil, &Error{Op: op, Status: http.StatusOK, Err: fmt.Errorf("%d ids without as many distances and metadata", len(ids))}
	}
	out := make([]Near, len(ids))
	for i := range out {
		if a.Distances[0][i] == nil {
			return nil, &Error{Op: op, Status: http.StatusOK, Err: fmt.Errorf("a hit without a distance")}
		}
		out[i] = Near{ID: ids[i], Distance: *a.Distances[0][i], Metadata: a.Metadatas[0][i]}
	}
	return out, nil
}

// Delete deletes records by id. Unknown ids are no error.
func (c *Client) Delete(ctx context.Context, id string, ids []string) error {
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		if err := c.post(ctx, "delete records", c.records(id, "/delete"), map[string]any{"ids": ids[:n]}, nil, maxSmall); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// DeleteWhere deletes the records that pass a filter, which must not be empty.
func (c *Client) DeleteWhere(ctx context.Context, id string, where Where) error {
	if len(where) == 0 {
		return fmt.Errorf("chroma: delete without a filter; delete the collection instead")
	}
	return c.post(ctx, "delete records", c.records(id, "/delete"), map[string]any{"where": where}, nil, maxSmall)
}
