package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"reverie/vector/chroma"
)

// schema is the version of what records and collections look like.
const schema = 1

// layout is which collections a space has on the server.
type layout struct {
	space   int64
	buckets int
	cols    map[int]chroma.Collection // by bucket
}

// plan compares the collections of a server with what they should be.
type plan struct {
	layout
	bad    []chroma.Collection // of the serving space, unusable
	others []string            // of other spaces, by name
	lost   []string            // partitions that were delivered into a collection that is not there, or bad
	reset  bool                // the outbox is of another generation, or there is none
}

// sound reports that there is nothing to repair.
func (p plan) sound() bool { return len(p.bad) == 0 && len(p.lost) == 0 && !p.reset }

// bucketOf is the bucket of a partition. It must never change: other processes and later
// versions look there.
func bucketOf(part string, buckets int) int {
	h := fnv.New64a()
	h.Write([]byte(part))
	return int(h.Sum64() % uint64(buckets))
}

// name is the name of a collection.
func (m *Mirror) name(space int64, bucket int) string {
	return fmt.Sprintf("%s_s%d_b%02d", m.opts.Name, space, bucket)
}

// parseName takes apart what name made.
func (m *Mirror) parseName(s string) (space int64, bucket int, ok bool) {
	rest, ok := strings.CutPrefix(s, m.opts.Name+"_s")
	if !ok {
		return 0, 0, false
	}
	sp, b, ok := strings.Cut(rest, "_b")
	if !ok {
		return 0, 0, false
	}
	space, err1 := strconv.ParseInt(sp, 10, 64)
	bucket, err2 := strconv.Atoi(b)
	return space, bucket, err1 == nil && err2 == nil && bucket >= 0 && m.name(space, bucket) == s
}

// metadata is what the collection of a bucket carries.
func (m *Mirror) metadata(o outlook, owner string, bucket, buckets int) map[string]any {
	return map[string]any{
		"fingerprint": o.fingerprint, "dim": o.dim, "space": o.Space, "bucket": bucket, "buckets": buckets,
		"schema": schema, "owner": owner, "documents": m.opts.Documents,
	}
}

// owner names this home on the server, without telling its secret.
func (m *Mirror) owner(ctx context.Context) (string, error) {
	secret, err := m.db.Secret(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte("mirror|"), secret...))
	return hex.EncodeToString(sum[:8]), nil
}

// list returns the collections that have names of this mirror.
func (m *Mirror) list(ctx context.Context) ([]chroma.Collection, error) {
	var all []chroma.Collection
	err := m.call(func() (err error) { all, err = m.chroma.List(ctx); return err })
	return slices.DeleteFunc(all, func(c chroma.Collection) bool {
		_, _, ok := m.parseName(c.Name)
		return !ok
	}), err
}

// foreign is an [ErrForeign] if one of the collections is of another home.
func foreign(cols []chroma.Collection, owner string) error {
	for _, c := range cols {
		if o, ok := c.Metadata["owner"].(string); ok && o != owner {
			return fmt.Errorf("%w: %s on the server is not of this home; set another vector_db.collection, or, if nothing else uses it, run: reverie mirror rebuild --take-over", ErrForeign, c.Name)
		}
	}
	return nil
}

// survey compares the collections on the server with what they should be.
func (m *Mirror) survey(ctx context.Context, o outlook) (plan, error) {
	owner, err := m.owner(ctx)
	if err != nil {
		return plan{}, err
	}
	cols, err := m.list(ctx)
	if err != nil {
		return plan{}, err
	}
	if err := foreign(cols, owner); err != nil {
		return plan{}, err
	}
	p := plan{layout: layout{space: o.Space, buckets: m.opts.Buckets, cols: map[int]chroma.Collection{}}, reset: o.generation != o.Generation}
	slices.SortFunc(cols, func(a, b chroma.Collection) int { return strings.Compare(a.Name, b.Name) })
	// The number of buckets is what it was when the space was filled.
	for _, c := range cols {
		n, ok := c.Metadata["buckets"].(float64)
		if space, bucket, _ := m.parseName(c.Name); ok && space == o.Space && n == math.Trunc(n) && n > 0 && n < 1<<20 && c.Check(m.metadata(o, owner, bucket, int(n)), o.dim) == nil {
			p.buckets = int(n)
			break
		}
	}
	for _, c := range cols {
		space, bucket, _ := m.parseName(c.Name)
		switch {
		case space != o.Space:
			p.others = append(p.others, c.Name)
		case bucket >= p.buckets || c.Check(m.metadata(o, owner, bucket, p.buckets), o.dim) != nil:
			p.bad = append(p.bad, c)
		default:
			p.cols[bucket] = c
		}
	}
	if p.lost, err = m.lost(ctx, p.layout); err != nil {
		return p, err
	}
	m.saw(&p.layout)
	return p, nil
}

// lost lists the delivered partitions whose collection is not there.
func (m *Mirror) lost(ctx context.Context, l layout) ([]string, error) {
	var out []string
	err := m.db.Read(ctx, func(g *gorm.DB) error {
		var parts []string
		out = nil
		if err := g.Raw("SELECT part FROM outbox WHERE space = ? AND part <> ''", l.space).Scan(&parts).Error; err != nil {
			return err
		}
		for _, part := range parts {
			if _, ok := l.cols[bucketOf(part, l.buckets)]; !ok {
				out = append(out, part)
			}
		}
		return nil
	})
	return out, err
}

// saw keeps a layout for searches.
func (m *Mirror) saw(l *layout) {
	kept := *l
	kept.cols = make(map[int]chroma.Collection, len(l.cols))
	for b, c := range l.cols {
		kept.cols[b] = c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.layout, m.checked = &kept, time.Now()
}

// forget makes the next search and the next turn look at the server again.
func (m *Mirror) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.layout, m.checked = nil, time.Time{}
}

// recordID is the id of a passage of a memory.
func recordID(memory string, passage int) string {
	if passage == 0 {
		return memory
	}
	return memory + "#" + strconv.Itoa(passage)
}

// unit scales a vector to length 1, in place.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	norm := 1 / math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) * norm)
	}
	return v
}

// isMismatch reports a collection that is not what was asked for.
func isMismatch(err error) bool {
	var e *chroma.MismatchError
	return errors.As(err, &e)
}
