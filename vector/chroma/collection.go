package chroma

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"reverie/internal/cleantext"
)

// maxCollections bounds a listing: a server that always has one more must end some time.
const maxCollections = 100_000

// listPage is how many collections are listed a request.
const listPage = 200

// Collection is what a server says of a collection.
type Collection struct {
	ID        string // by which records are addressed
	Name      string
	Metadata  map[string]any // strings, numbers (float64), booleans; nil if there is none
	Dimension int            // of its vectors, 0 before the first
	Space     string         // of the index: l2, cosine, ip; empty if the server does not say
}

type collectionJSON struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Metadata      map[string]any `json:"metadata"`
	Dimension     *int           `json:"dimension"`
	Configuration struct {
		HNSW *struct {
			Space string `json:"space"`
		} `json:"hnsw"`
	} `json:"configuration_json"`
}

func (j collectionJSON) collection(op string) (Collection, error) {
	c := Collection{ID: j.ID, Name: j.Name, Metadata: j.Metadata}
	if j.Dimension != nil {
		c.Dimension = *j.Dimension
	}
	if j.Configuration.HNSW != nil {
		c.Space = j.Configuration.HNSW.Space
	}
	if c.ID == "" || c.Name == "" {
		return c, &Error{Op: op, Status: http.StatusOK, Err: fmt.Errorf("a collection without id or name")}
	}
	return c, nil
}

// Ensure returns the collection of a name, made if it is missing, with squared L2 as its
// distance. Where it is there already it must have that distance, the metadata given
// (more does not matter), and no vectors of another dimension than dim: else the error is a
// [*MismatchError], since the server itself ignores what it is asked for.
func (c *Client) Ensure(ctx context.Context, name string, metadata map[string]any, dim int) (Collection, error) {
	op := "make collection " + name
	var j collectionJSON
	err := c.post(ctx, op, c.database()+"/collections", map[string]any{
		"name": name, "metadata": metadata, "get_or_create": true,
		"configuration": map[string]any{"hnsw": map[string]any{"space": "l2"}},
	}, &j, maxSmall)
	if err != nil {
		return Collection{}, err
	}
	got, err := j.collection(op)
	if err != nil {
		return got, err
	}
	return got, got.Check(metadata, dim)
}

// Check returns a [*MismatchError] if the collection is not one for vectors of a
// dimension, compared by squared L2, with the metadata given.
func (col Collection) Check(metadata map[string]any, dim int) error {
	if col.Space != "" && col.Space != "l2" {
		return &MismatchError{col, fmt.Sprintf("its distance is %q, not l2", cleantext.OneLine(col.Space, maxMessage))}
	}
	if col.Dimension != 0 && col.Dimension != dim {
		return &MismatchError{col, fmt.Sprintf("its vectors have %d dimensions, not %d", col.Dimension, dim)}
	}
	for k, want := range metadata {
		if got := col.Metadata[k]; !same(got, want) {
			return &MismatchError{col, fmt.Sprintf("its %s is %s, not %s", k, cleantext.OneLine(fmt.Sprint(got), maxMessage), cleantext.OneLine(fmt.Sprint(want), maxMessage))}
		}
	}
	return nil
}

// same compares a value read from JSON with one of Go.
func same(got, want any) bool {
	if n, ok := got.(float64); ok {
		got = strconv.FormatFloat(n, 'f', -1, 64)
		switch w := want.(type) {
		case int, int64:
			want = fmt.Sprint(w)
		case float64:
			want = strconv.FormatFloat(w, 'f', -1, 64)
		}
	}
	return got == want
}

// List returns all collections of the database.
func (c *Client) List(ctx context.Context) ([]Collection, error) {
	const op = "list collections"
	var out []Collection
	for len(out) < maxCollections {
		var page []collectionJSON
		err := c.call(ctx, op, http.MethodGet, fmt.Sprintf("%s/collections?limit=%d&offset=%d", c.database(), listPage, len(out)), nil, &page, maxAnswer)
		if err != nil {
			return nil, err
		}
		for _, j := range page {
			col, err := j.collection(op)
			if err != nil {
				return nil, err
			}
			out = append(out, col)
		}
		if len(page) < listPage {
			return out, nil
		}
	}
	return nil, &Error{Op: op, Status: http.StatusOK, Err: fmt.Errorf("more than %d collections", maxCollections)}
}

// Collection returns the collection of a name; [IsNotFound] tells that there is none.
func (c *Client) Collection(ctx context.Context, name string) (Collection, error) {
	op := "look for collection " + name
	var j collectionJSON
	if err := c.call(ctx, op, http.MethodGet, c.database()+"/collections/"+url.PathEscape(name), nil, &j, maxSmall); err != nil {
		return Collection{}, err
	}
	return j.collection(op)
}

// DeleteCollection deletes the collection of a name. One that is not there is no error.
func (c *Client) DeleteCollection(ctx context.Context, name string) error {
	err := c.call(ctx, "delete collection "+name, http.MethodDelete, c.database()+"/collections/"+url.PathEscape(name), nil, nil, maxSmall)
	if IsNotFound(err) {
		return nil
	}
	return err
}

// Modify gives a collection a new name, unless that is empty, and a new metadata, unless
// that is nil: it replaces the old as a whole. A name that another collection has is an error.
func (c *Client) Modify(ctx context.Context, id, name string, metadata map[string]any) error {
	op := "change collection " + id
	in := map[string]any{}
	if name != "" {
		in["new_name"] = name
	}
	if metadata != nil {
		in["new_metadata"] = metadata
	}
	body, err := marshal(op, in)
	if err != nil {
		return err
	}
	return c.call(ctx, op, http.MethodPut, c.records(id, ""), body, nil, maxSmall)
}

// Count is the number of records of a collection.
func (c *Client) Count(ctx context.Context, id string) (int, error) {
	var n int
	err := c.call(ctx, "count records", http.MethodGet, c.records(id, "/count"), nil, &n, maxSmall)
	return n, err
}
