package vector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reverie/embedding"
	"reverie/embedding/spaces"
	"reverie/store"
	"reverie/vector/index"
)

// embedded is the vectors of a content in one space; the zero value is none.
type embedded struct {
	space  int64
	packed []byte // as stored; nil: none, the memory waits for its vector
	vecs   []index.Vec
}

// pack quantises the passages of one memory into the stored form. A text in which the
// model finds nothing has a stored form, too, and no vectors.
func pack(space int64, p embedding.Passages) (embedded, error) {
	e := embedded{space: space}
	if len(p) == 0 {
		e.packed = noMeaning
		return e, nil
	}
	vecs := make([]index.Vec, len(p))
	for i, v := range p {
		q, err := index.Quantize(v)
		if err != nil {
			return embedded{}, err
		}
		vecs[i] = q
	}
	b, err := index.EncodeVecs(vecs)
	if err != nil {
		return embedded{}, err
	}
	e.packed, e.vecs = b, vecs
	return e, nil
}

// noMeaning is stored for a text in which the model finds nothing to embed (only
// punctuation, say), so that it is not taken for pending for ever.
var noMeaning = []byte{0}

// unpack reads what pack stored.
func unpack(b []byte) ([]index.Vec, error) {
	if bytes.Equal(b, noMeaning) {
		return nil, nil
	}
	return index.DecodeVecs(b)
}

// errNoEmbedder says that nobody can embed for the serving space now.
type errNoEmbedder struct{ why string }

func (e errNoEmbedder) Error() string { return e.why }

// serving returns who embeds for the space that serves a partition now.
func (s *Service) serving(ctx context.Context, part string) (*spaces.Current, error) {
	mark, err := s.db.Mark(ctx, part)
	if err != nil {
		return nil, err
	}
	return s.spaces.For(ctx, mark.Serving)
}

// embedOne embeds a content for the serving space.
func (s *Service) embedOne(ctx context.Context, cur *spaces.Current, content string) (embedded, error) {
	es, err := s.embedAll(ctx, cur, []string{content})
	if err != nil {
		return embedded{}, err
	}
	return es[0], nil
}

// writePatience is how long a write waits for its vector. A client gives up on a tool that
// answers late, and does not know then that the memory is stored; the vector can follow.
const writePatience = 5 * time.Second

// embedSoon embeds a content for a write, unless that takes too long.
func (s *Service) embedSoon(ctx context.Context, cur *spaces.Current, content string) (embedded, error) {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	return s.embedOne(ctx, cur, content)
}

// embedAll embeds contents for the serving space. With the error of some of them, the
// others' results are good, and those of these are zero.
func (s *Service) embedAll(ctx context.Context, cur *spaces.Current, contents []string) ([]embedded, error) {
	out := make([]embedded, len(contents))
	if len(contents) == 0 {
		return out, nil
	}
	if cur.Embedder == nil {
		return out, errNoEmbedder{cur.Why}
	}
	docs, err := cur.Embedder.EmbedDocuments(ctx, contents)
	var some *embedding.BatchError
	if err != nil && !errors.As(err, &some) {
		return out, err
	}
	if len(docs) != len(contents) {
		return out, fmt.Errorf("embedder returned %d results for %d texts", len(docs), len(contents))
	}
	for i, d := range docs {
		if some != nil && some.Bad[i] != nil {
			continue
		}
		e, perr := pack(cur.Space, d)
		if perr != nil {
			err = errors.Join(err, fmt.Errorf("text %d: %w", i+1, perr))
			continue
		}
		out[i] = e
	}
	return out, err
}

// keep stores the vectors of a live record in the serving space, or lets it wait for
// them (pending): also when another space serves by now than they were made for.
func keep(tx *store.Tx, rid int64, e embedded) (pending bool, err error) {
	e, space, err := e.fit(tx)
	if err != nil || space == 0 {
		return true, err // the first space that serves takes in all that is there
	}
	return e.packed == nil, setVector(tx, rid, space, e.packed)
}

// fit returns what can be stored of e in the space that serves, which is 0 if none does.
func (e embedded) fit(tx *store.Tx) (embedded, int64, error) {
	sv, err := store.ReadServing(tx.DB)
	if err == nil && e.space != sv.Space {
		e = embedded{}
	}
	return e, sv.Space, err
}

// withoutVector words, for the answer to a write, that the vector follows later.
func (s *Service) withoutVector(err error, done string) []string {
	s.log.Debug("memory "+done+" without its vector for now", "error", err) // the answer says so, and the filling warns
	if s.opts.WordsOnly {
		return nil // nobody expects one
	}
	var none errNoEmbedder
	if errors.As(err, &none) && !strings.Contains(none.why, "failed") {
		return []string{"the memory is " + done + " and found by its words, its vector follows later: " + none.why}
	}
	return []string{"the embedder failed; the memory is " + done + " and found by its words, its vector follows later"}
}

// forgetVectors removes the vectors of a content that is no more, in every space.
func forgetVectors(tx *store.Tx, rid int64) error {
	return tx.Exec("DELETE FROM vectors WHERE rid = ?", rid).Error
}
