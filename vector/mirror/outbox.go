package mirror

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/vector/chroma"
	"reverie/vector/index"
)

// Versions in the outbox that are none of a partition.
const (
	// unknown: the server may have anything of the partition.
	unknown = -1
	// unsent: there is no row. The server has nothing of the partition if its collection
	// was made since, and may have anything otherwise.
	unsent = -2
)

// The row of the outbox without a partition holds the generation of the store for which
// the others are true: a restored backup or moved partitions change rows whose versions
// do not tell.
const generationRow = ""

// delivery is a partition of which something is still to be sent.
type delivery struct {
	part    string
	version int64 // up to which it will have been sent
	since   int64 // up to which it was, unknown or unsent
	live    int   // memories, for progress
	gone    bool  // the partition is no more
}

// outlook is what SQL says of the mirror.
type outlook struct {
	store.Serving
	fingerprint string
	dim         int
	generation  int64 // of the outbox, unsent if it has none
	todo        []delivery
	others      bool // there are rows of other spaces
	partitions  int
	memories    int
}

// due reports whether anything can be done now.
func (o outlook) due(a *aside) bool {
	if o.generation != o.Generation || len(o.todo) == 0 && o.others {
		return true
	}
	return slices.ContainsFunc(o.todo, func(d delivery) bool { return !a.waits(d.part) })
}

// look reads the outlook.
func (m *Mirror) look(ctx context.Context) (outlook, error) {
	var o outlook
	err := m.db.Read(ctx, func(g *gorm.DB) error {
		var err error
		o, err = readOutlook(g)
		return err
	})
	if err != nil {
		return o, fmt.Errorf("read what is to be delivered: %w", err)
	}
	return o, nil
}

func readOutlook(g *gorm.DB) (o outlook, err error) {
	if o.Serving, err = store.ReadServing(g); err != nil || o.Space == 0 {
		return o, err
	}
	if err := g.Raw("SELECT fingerprint, dim FROM spaces WHERE id = ?", o.Space).Row().Scan(&o.fingerprint, &o.dim); err != nil {
		return o, fmt.Errorf("embedding space %d: %w", o.Space, err)
	}
	o.generation = unsent
	err = g.Raw("SELECT version FROM outbox WHERE space = ? AND part = ?", o.Space, generationRow).Row().Scan(&o.generation)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return o, err
	}
	if err := g.Raw("SELECT COUNT(*), CAST(COALESCE(SUM(live), 0) AS BIGINT) FROM partitions").Row().Scan(&o.partitions, &o.memories); err != nil {
		return o, err
	}
	var others int
	if err := g.Raw("SELECT COUNT(*) FROM outbox WHERE space <> ?", o.Space).Row().Scan(&others); err != nil {
		return o, err
	}
	o.others = others > 0
	rows, err := g.Raw(`SELECT p.key, p.version, p.live, COALESCE(o.version, -2), 0 FROM partitions p LEFT JOIN outbox o ON o.space = ? AND o.part = p.key
		WHERE o.version IS NULL OR o.version <> p.version
		UNION ALL SELECT o.part, 0, 0, o.version, 1 FROM outbox o LEFT JOIN partitions p ON p.key = o.part WHERE o.space = ? AND o.part <> '' AND p.key IS NULL`, o.Space, o.Space).Rows()
	if err != nil {
		return o, err
	}
	defer rows.Close()
	for rows.Next() {
		var d delivery
		if err := rows.Scan(&d.part, &d.version, &d.live, &d.since, &d.gone); err != nil {
			return o, err
		}
		if d.since > d.version {
			d.since = unknown
		}
		o.todo = append(o.todo, d)
	}
	return o, rows.Err()
}

// place is where reading a partition's rows goes on.
type place struct{ rev, rid int64 }

// change is a memory as the mirror is to have it: without passages, not at all.
type change struct {
	id       string
	private  bool
	content  string
	passages []index.Vec
}

// pageRows is how many rows are read at once.
const pageRows = 500

// changes reads the next rows of a partition that changed after since (below 0: all live
// ones), in the order of their change, and moves at on. Fewer than pageRows are the last.
// A row that changes meanwhile comes again, later.
func (m *Mirror) changes(ctx context.Context, o outlook, part string, since int64, at *place) (out []change, more bool, err error) {
	var n int
	var next place
	err = m.db.Read(ctx, func(g *gorm.DB) error {
		out, n, next = nil, 0, *at // it may run twice
		where := "m.part = ? AND m.rev > ? AND (m.rev > ? OR m.rev = ? AND m.rid > ?)"
		if since < 0 {
			where += " AND m.state = 'live'"
		}
		rows, err := g.Raw(`SELECT m.rid, m.rev, m.id, m.state, m.private, m.content, v.emb FROM memories m LEFT JOIN vectors v ON v.rid = m.rid AND v.space = ?
			WHERE `+where+` ORDER BY m.rev, m.rid LIMIT ?`, o.Space, part, max(since, 0), at.rev, at.rev, at.rid, pageRows).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c change
			var state string
			var emb []byte
			n++
			if err := rows.Scan(&next.rid, &next.rev, &c.id, &state, &c.private, &c.content, &emb); err != nil {
				// One bad row must not keep the others back. Its number is scanned first.
				m.log.Warn("damaged memory is left out of the mirror; run: reverie doctor", "rid", next.rid, "error", err)
				continue
			}
			if state == "live" {
				c.passages = m.passages(o, next.rid, emb)
			}
			out = append(out, c)
		}
		return rows.Err()
	})
	*at = next
	return out, n == pageRows, err
}

// passages unpacks stored vectors; those that cannot be used count as none.
func (m *Mirror) passages(o outlook, rid int64, emb []byte) []index.Vec {
	if len(emb) <= 1 { // pending, or without meaning to the model
		return nil
	}
	vecs, err := index.DecodeVecs(emb)
	if err == nil && len(vecs[0].Q) != o.dim {
		err = fmt.Errorf("its dimension is %d, not %d", len(vecs[0].Q), o.dim)
	}
	if err != nil {
		m.log.Warn("damaged vector is left out of the mirror; run: reverie doctor", "rid", rid, "error", err)
		return nil
	}
	return vecs
}

// records makes the records of a memory.
func (m *Mirror) records(part string, c change) []chroma.Record {
	out := make([]chroma.Record, len(c.passages))
	for i, v := range c.passages {
		out[i] = chroma.Record{ID: recordID(c.id, i), Embedding: unit(v.Float()), Metadata: map[string]any{"part": part, "memory": c.id, "private": c.private}}
		if m.opts.Documents {
			out[i].Document = c.content
		}
	}
	return out
}
