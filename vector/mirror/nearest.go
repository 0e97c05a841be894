package mirror

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"reverie/vector/chroma"
)

// MaxNearest bounds what [Mirror.Nearest] is asked for.
const MaxNearest = 1000

// maxAsk bounds the passages looked at for one search.
const maxAsk = 50_000

// Nearest asks the server for the n memories of a partition that are nearest to a vector
// of the serving space, and returns their squared distances as unit vectors (0 to 4), by
// memory id. A memory with several passages has the distance of its best one. Private ones
// are among them: the caller joins the ids with the rows, which are the truth.
//
// Errors that say that the local index is to answer: [ErrBehind], [ErrDown], [ErrForeign],
// [*chroma.Error].
func (m *Mirror) Nearest(ctx context.Context, part string, vec []float32, n int) (map[string]float64, error) {
	if n < 1 || n > MaxNearest {
		return nil, fmt.Errorf("nearest %d memories; allowed: 1 to %d", n, MaxNearest)
	}
	o, sent, err := m.current(ctx, part)
	if err != nil || !sent {
		return nil, err
	}
	if len(vec) != o.dim {
		return nil, fmt.Errorf("a vector of %d dimensions; those of the serving space have %d", len(vec), o.dim)
	}
	vec = unit(slices.Clone(vec))
	for range 2 { // once more if the collections were made anew
		var col chroma.Collection
		if col, err = m.collection(ctx, o, part); err != nil {
			return nil, err
		}
		var found map[string]float64
		err = m.call(func() (err error) { found, err = m.query(ctx, col, part, vec, n); return err })
		if err == nil {
			return found, nil
		}
		if !chroma.IsNotFound(err) {
			return nil, err
		}
		m.forget()
	}
	m.Wake()
	return nil, fmt.Errorf("%w: a collection was lost and is being filled again (%w)", ErrBehind, err)
}

// current is the outlook, without its list, if everything of a partition was delivered;
// sent is false if there was never anything to deliver.
func (m *Mirror) current(ctx context.Context, part string) (o outlook, sent bool, err error) {
	var version, delivered, generation sql.NullInt64
	err = m.db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw(`SELECT s.space, s.generation, COALESCE(p.fingerprint, ''), COALESCE(p.dim, 0), (SELECT version FROM partitions WHERE key = ?),
			(SELECT version FROM outbox WHERE space = s.space AND part = ?), (SELECT version FROM outbox WHERE space = s.space AND part = '')
			FROM serving s LEFT JOIN spaces p ON p.id = s.space WHERE s.one = 1`, part, part).Row().
			Scan(&o.Space, &o.Generation, &o.fingerprint, &o.dim, &version, &delivered, &generation)
	})
	if err != nil {
		return o, false, fmt.Errorf("read what was delivered: %w", err)
	}
	o.generation = generation.Int64
	if o.Space == 0 || !generation.Valid || o.generation != o.Generation || version.Valid && (!delivered.Valid || delivered.Int64 != version.Int64) {
		return o, false, ErrBehind
	}
	return o, version.Valid, nil
}

// collection is where the records are of a partition that was delivered.
func (m *Mirror) collection(ctx context.Context, o outlook, part string) (chroma.Collection, error) {
	m.mu.Lock()
	l := m.layout
	m.mu.Unlock()
	if l != nil && l.space == o.Space {
		if c, ok := l.cols[bucketOf(part, l.buckets)]; ok {
			return c, nil
		}
	}
	p, err := m.survey(ctx, o) // another process may have made it
	if err != nil {
		return chroma.Collection{}, err
	}
	c, ok := p.cols[bucketOf(part, p.buckets)]
	if !ok || slices.Contains(p.lost, part) {
		m.forget()
		m.Wake()
		return c, fmt.Errorf("%w: its collection was lost and is being filled again", ErrBehind)
	}
	return c, nil
}

// query asks for enough passages to have n memories.
func (m *Mirror) query(ctx context.Context, col chroma.Collection, part string, vec []float32, n int) (map[string]float64, error) {
	for ask := n + n/2 + 4; ; ask *= 4 {
		near, err := m.chroma.Query(ctx, col.ID, vec, ask, chroma.Equal("part", part))
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(near, func(a, b chroma.Near) int { return cmp.Compare(a.Distance, b.Distance) })
		found := make(map[string]float64, n)
		for _, r := range near {
			id, _, _ := strings.Cut(r.ID, "#")
			if r.Metadata["part"] != part {
				continue // nothing crosses partitions, whatever a server says
			}
			if _, ok := found[id]; !ok { // the best passage comes first
				if len(found) == n {
					break
				}
				found[id] = min(max(r.Distance, 0), 4)
			}
		}
		if len(found) >= n || len(near) < ask || ask > maxAsk {
			return found, nil
		}
	}
}
