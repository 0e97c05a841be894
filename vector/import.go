package vector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"reverie/journal"
	"reverie/store"
)

// importBatch bounds the memories of one transaction, so that writers of other processes
// do not wait for longer than they are ready to.
const importBatch = 5000

// idsAtOnce bounds the ids of one query.
const idsAtOnce = 500

// Conflict says what an import does with a memory whose id is in the partition already,
// with other contents.
type Conflict string

// The ways to deal with a conflict; the zero value is KeepStored.
const (
	KeepStored   Conflict = "keep"    // what is stored stays
	ReplaceAll   Conflict = "replace" // what comes in takes its place
	ReplaceOlder Conflict = "newer"   // whichever was updated last
)

// ImportOptions of [Service.Import]; the zero value is the default of every field.
type ImportOptions struct {
	OnConflict Conflict // default KeepStored
	// By is written into the journal; default a source of "import".
	By journal.Origin
	// Foreign says that the memories come from another program: contents and tags pass
	// through [Options.Clean] and are trimmed, and a memory that was never used counts as
	// used now, or it might expire before anybody saw it. Without it, texts are stored
	// byte for byte.
	Foreign bool
	// Space is the row id of the embedding space that Vectors belong to. They are stored
	// if it is the serving one.
	Space int64
	// Vectors holds the passages of each memory as index.EncodeVecs packs them, in the
	// order of the memories; an empty one is made later. Nil: all are made later.
	Vectors [][]byte
	// Whole refuses everything if one memory is refused: the error wraps [ErrInvalid] and
	// the report lists the refusals.
	Whole bool
	// DryRun reports what would happen and stores nothing.
	DryRun bool
}

// ImportReport counts what an import did.
type ImportReport struct {
	Added    int `json:"added"`
	Known    int `json:"known"`    // there already, under this id or another one
	Replaced int `json:"replaced"` // changed in place
	Kept     int `json:"kept"`     // differ from what is stored, which stayed
	// Pending counts those added or changed that wait for a vector.
	Pending int `json:"pending"`
	// Notices says what cleaning changed, and how often.
	Notices map[string]int `json:"notices,omitempty"`
	Refused []Refusal      `json:"refused,omitempty"`
	// KnownAs maps the id of a memory to the one that had its content already.
	KnownAs map[string]string `json:"known_as,omitempty"`
	Live    int               `json:"live"`  // live memories of the partition afterwards
	Limit   int               `json:"limit"` // how many a partition may hold: imports may exceed it, writes are then refused
}

// Refusal is a memory that was not imported.
type Refusal struct {
	Index  int    `json:"index"` // in the memories given
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

// Import stores memories of one partition as they are: ids, times, states, tags and
// counts. It is for the operator's commands: part is taken as given, and no role is asked.
//
// A live memory whose content is live already under another id is known, not stored
// twice; a memory that was superseded by it then points to the one that is there. Where
// one of the two is private, what is stored ends up private. An id that belongs to
// another partition is refused. Importing the same again changes nothing.
//
// Up to importBatch memories are one transaction; of more, a failure of the store
// (but no refusal under Whole) may leave the first ones, and importing again goes on. The limit of
// a partition does not refuse: see [ImportReport.Live].
func (s *Service) Import(ctx context.Context, part string, ms []Memory, o ImportOptions) (ImportReport, error) {
	r := ImportReport{Live: -1, Limit: s.opts.Limit, Notices: map[string]int{}, KnownAs: map[string]string{}}
	if o.By.Source == "" {
		o.By.Source = "import"
	}
	switch o.OnConflict {
	case "", KeepStored, ReplaceAll, ReplaceOlder:
	default:
		return r, fmt.Errorf("%w: on conflict %q; allowed: keep, replace, newer", ErrInvalid, o.OnConflict)
	}
	if part == "" || o.Vectors != nil && len(o.Vectors) != len(ms) {
		return r, fmt.Errorf("%w: import of %d memories with %d vectors into partition %q", ErrInvalid, len(ms), len(o.Vectors), part)
	}
	in, err := s.incoming(ctx, part, ms, o, &r)
	if err != nil {
		return r, fmt.Errorf("import into %s: %w", part, err)
	}
	if o.Whole && len(r.Refused) > 0 {
		return r, fmt.Errorf("%w: %d of %d memories for %s cannot be imported, so none was; the first: %s", ErrInvalid, len(r.Refused), len(ms), part, r.Refused[0].Reason)
	}
	size := importBatch
	if o.DryRun {
		size = max(1, len(in)) // later ones must see the earlier ones
	}
	own := make(map[string]*Memory, len(in))
	for i := range in {
		own[in[i].ID] = &in[i].Memory
	}
	imp := &importing{Service: s, o: o, own: own, done: map[string]bool{}, wanted: map[string]bool{}, report: r}
	for batch := range slices.Chunk(in, size) {
		var next *importing
		err := s.write(ctx, part, func(tx *store.Tx) error {
			next = imp.clone() // should the transaction have to begin again
			return next.store(tx, batch)
		})
		if err != nil {
			return r, fmt.Errorf("import into %s: %w", part, err)
		}
		imp, r = next, next.report
	}
	if r.Live < 0 { // no transaction has said it
		err = s.db.Read(ctx, func(g *gorm.DB) (err error) { r.Live, err = liveCount(g, part); return err })
	}
	if r.Pending > 0 && !o.DryRun {
		s.wakeFill()
	}
	return r, err
}

// incoming is a memory on its way in.
type incoming struct {
	Memory
	emb []byte
}

// incoming checks the memories, and cleans those of another program. The live ones come
// first: what they turn out to be known as is what the others point to.
func (s *Service) incoming(ctx context.Context, part string, ms []Memory, o ImportOptions, r *ImportReport) ([]incoming, error) {
	var live, rest []incoming
	at := map[string]int{}
	for i, m := range ms {
		refuse := func(err error) {
			r.Refused = append(r.Refused, Refusal{Index: i, ID: m.ID, Reason: strings.TrimPrefix(err.Error(), ErrInvalid.Error()+": ")})
		}
		if m.Partition != "" && m.Partition != part {
			refuse(fmt.Errorf("it belongs to %s", m.Partition))
			continue
		}
		m.Partition = part
		if o.Foreign {
			clean, err := s.fromForeign(&m)
			if err != nil {
				refuse(err)
				continue
			}
			for _, n := range clean {
				r.Notices[n]++
			}
		}
		if err := CheckMemory(m); err != nil {
			refuse(err)
			continue
		}
		if first, ok := at[m.ID]; ok {
			refuse(fmt.Errorf("id %s is given twice, first as number %d", m.ID, first+1))
			continue
		}
		at[m.ID] = i
		x := incoming{Memory: m}
		if o.Vectors != nil {
			x.emb = o.Vectors[i]
			if _, err := unpack(x.emb); err != nil {
				x.emb = nil // as good as none: it is made again
			}
		}
		if m.State == Live {
			live = append(live, x)
		} else {
			rest = append(rest, x)
		}
	}
	in := append(live, rest...)
	var elsewhere map[string]bool
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		elsewhere = map[string]bool{}
		for ids := range slices.Chunk(in, idsAtOnce) {
			var there []string
			names := make([]string, len(ids))
			for i, x := range ids {
				names[i] = x.ID
			}
			if err := g.Raw("SELECT id FROM memories WHERE id IN ? AND part <> ?", names, part).Scan(&there).Error; err != nil {
				return err
			}
			for _, id := range there {
				elsewhere[id] = true
			}
		}
		return nil
	})
	for id := range elsewhere {
		r.Refused = append(r.Refused, Refusal{Index: at[id], ID: id, Reason: "id " + id + " belongs to another partition of this store"})
	}
	slices.SortFunc(r.Refused, func(a, b Refusal) int { return a.Index - b.Index })
	return slices.DeleteFunc(in, func(x incoming) bool { return elsewhere[x.ID] }), err
}

func (s *Service) fromForeign(m *Memory) (notices []string, err error) {
	if m.Content, notices, err = s.checkContent(m.Content); err != nil {
		return nil, err
	}
	if m.Tags, err = s.checkTags(m.Tags); err != nil {
		return nil, err
	}
	if m.LastUsedAt.IsZero() {
		m.LastUsedAt = time.Now()
	}
	return notices, nil
}
