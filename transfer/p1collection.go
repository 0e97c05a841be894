package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/embedding/spaces"
	"reverie/store"
	"reverie/vector"
	"reverie/vector/chroma"
	"reverie/vector/index"
)

// p1Batch is what goes into one partition.
type p1Batch struct {
	ms   []vector.Memory
	vecs [][]byte // packed, as long as ms; nil where there is none
}

// collection reads P1's collection and stores its memories.
func (p *p1Import) collection(ctx context.Context) error {
	col, err := p.o.Chroma.Collection(ctx, p.o.Collection)
	if chroma.IsNotFound(err) {
		return fmt.Errorf("%w: the server has no such collection", ErrNoCollection)
	}
	if err != nil {
		return err
	}
	space, err := p.vectorSpace(ctx, col)
	if err != nil {
		return err
	}
	by := map[string]*p1Batch{}
	include := chroma.Include{Metadata: true, Documents: true, Embeddings: space.id != 0}
	for page, err := range p.o.Chroma.Pages(ctx, col.ID, chroma.GetQuery{Include: include}) {
		if err != nil {
			return err
		}
		for _, r := range page {
			p.r.Records++
			m, part, err := p.memory(r)
			if err != nil {
				p.refuse(r.ID, "%v", err)
				continue
			}
			b := by[part]
			if b == nil {
				b = &p1Batch{}
				by[part] = b
			}
			b.ms, b.vecs = append(b.ms, m), append(b.vecs, p.packed(r, space))
		}
		if p.o.Progress != nil {
			p.o.Progress(p.r.Records)
		}
	}
	if space.id != 0 {
		if err := p.sample(ctx, &space, by); err != nil {
			return err
		}
	}
	for _, part := range slices.Sorted(maps.Keys(by)) {
		if err := p.importPart(ctx, part, by[part], space.id); err != nil {
			return err
		}
		p.r.Partitions[part] = len(by[part].ms)
		if !placed(part) {
			p.left(part).Memories = len(by[part].ms)
		}
	}
	return nil
}

// p1Space is the space whose vectors are taken over; the zero value is none.
type p1Space struct {
	id  int64
	dim int
}

// vectorSpace is the serving space if P1's vectors are of it, as far as its fingerprint
// tells: P1 writes it beside the vectors, as it was configured.
func (p *p1Import) vectorSpace(ctx context.Context, col chroma.Collection) (p1Space, error) {
	sp, ok, err := spaces.Serving(ctx, p.db)
	if err != nil {
		return p1Space{}, err
	}
	text := func(key string) string { s, _ := col.Metadata[key].(string); return s }
	theirs := embedding.Space{Protocol: text("embed_protocol"), Model: text("embed_model"), BaseURL: text("embed_base_url")}
	switch {
	case theirs.Protocol == "" && theirs.Model == "":
		p.r.VectorsNot = "the collection does not say which model its vectors are of"
	case !ok:
		p.r.VectorsNot = "this store has no embedding space yet"
	case theirs.Fingerprint() != sp.Fingerprint():
		p.r.VectorsNot = fmt.Sprintf("they are of %s %s, and this store is embedded with %s %s", clip(theirs.Protocol), clip(theirs.Model), sp.Protocol, sp.Model)
	case col.Dimension != sp.Dim:
		p.r.VectorsNot = fmt.Sprintf("they have %d dimensions, and those of this store %d", col.Dimension, sp.Dim)
	default:
		var serving store.Serving
		err := p.db.Read(ctx, func(g *gorm.DB) (err error) {
			serving, err = store.ReadServing(g)
			return err
		})
		return p1Space{serving.Space, sp.Dim}, err
	}
	return p1Space{}, nil
}

// sampleSize is how many texts are embedded again, and sampleCosine how close their
// vectors must come: the same model gives about 1, a prefix before the text less.
const (
	sampleSize   = 3
	sampleCosine = 0.98
	sampleRunes  = 200 // longer texts may be passages here and one vector there
)

// sample compares a few vectors with those of the embedder: a fingerprint knows nothing
// of prefixes, nor of a model that was exchanged behind its name.
func (p *p1Import) sample(ctx context.Context, space *p1Space, by map[string]*p1Batch) error {
	if p.o.Embed == nil {
		return nil
	}
	var texts []string
	var vecs [][]byte
	for _, part := range slices.Sorted(maps.Keys(by)) {
		for i, m := range by[part].ms {
			if len(texts) < sampleSize && len(by[part].vecs[i]) > 0 && utf8.RuneCountInString(m.Content) <= sampleRunes {
				texts, vecs = append(texts, m.Content), append(vecs, by[part].vecs[i])
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	docs, err := p.o.Embed(ctx, texts)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	same := err == nil && len(docs) == len(texts)
	for i := 0; same && i < len(docs); i++ {
		v, err := index.DecodeVecs(vecs[i])
		same = err == nil && len(v) == 1 && len(docs[i]) == 1 && cosine(v[0].Float(), docs[i][0]) >= sampleCosine
	}
	switch {
	case err != nil:
		p.r.VectorsNot = fmt.Sprintf("the embedder failed, so they could not be compared: %v", err)
	case !same:
		p.r.VectorsNot = "the model of the same name gives others now, or they were made with another prefix"
	default:
		return nil
	}
	*space = p1Space{}
	return nil
}

// cosine of two vectors of about length 1.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return dot
}

// packed is the vector of a record as it is stored, nil if it cannot be used: then it is
// made again.
func (p *p1Import) packed(r chroma.Record, space p1Space) []byte {
	if space.id == 0 || len(r.Embedding) != space.dim {
		return nil
	}
	if clean, _, err := p.o.Clean(r.Document); err != nil || clean != strings.TrimSpace(r.Document) {
		return nil // it is of another text than will be stored
	}
	q, err := index.Quantize(r.Embedding)
	if err != nil {
		return nil
	}
	b, err := index.EncodeVecs([]index.Vec{q})
	if err != nil {
		return nil
	}
	return b
}

// memory makes a memory of a record.
func (p *p1Import) memory(r chroma.Record) (m vector.Memory, part string, err error) {
	if strings.TrimSpace(r.Document) == "" {
		return m, "", fmt.Errorf("it has no text")
	}
	scope, _ := r.Metadata["scope"].(string)
	old := p1Text(r.Metadata["user_id"])
	if old == "" {
		return m, "", fmt.Errorf("it has no user_id, so nobody knows whose it is")
	}
	if part, m.Scope, err = p.place(old, scope); err != nil {
		return m, "", err
	}
	m.ID = p.id(r.ID)
	m.Content, m.Source, m.State, m.Seen = r.Document, vector.FromImport, vector.Live, 1
	m.Importance = vector.Importance(strings.ToLower(strings.TrimSpace(p1Text(r.Metadata["importance"]))))
	if m.Importance != vector.Low && m.Importance != vector.Medium && m.Importance != vector.High {
		p.remark(m.ID, "importance %q is none of low, medium, high; imported as medium", clip(string(m.Importance)))
		m.Importance = vector.Medium
	}
	m.Tags = p.tags(m.ID, p1Text(r.Metadata["tags"]))
	created, ok := p1Time(p1Text(r.Metadata["created_at"]))
	if !ok {
		created = time.Now().UTC().Truncate(time.Microsecond)
		p.remark(m.ID, "created_at %q is not a time; imported as of now", clip(p1Text(r.Metadata["created_at"])))
	}
	m.CreatedAt, m.UpdatedAt = created, created
	return m, part, nil
}
