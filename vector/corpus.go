package vector

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/embedding/spaces"
)

// dropRange is how many row ids one step of Drop covers, so that no step keeps writers
// waiting for long.
const dropRange = 5000

// corpus is the memories as what package spaces moves to another embedding space.
type corpus struct{ *Service }

var _ spaces.Corpus = corpus{}

// Missing returns live memories that have no vector in a space. Those in the trash get
// theirs when they come back.
func (c corpus) Missing(ctx context.Context, space, after int64, limit int) ([]spaces.Text, error) {
	var out []spaces.Text
	err := c.db.Read(ctx, func(g *gorm.DB) error {
		out = nil // it may run again
		rows, err := g.Raw(`SELECT m.rid, m.content, m.hash FROM memories m WHERE m.rid > ? AND m.state = 'live'
			AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = m.rid AND v.space = ?) ORDER BY m.rid LIMIT ?`, after, space, limit).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var t spaces.Text
			if err := rows.Scan(&t.ID, &t.Content, &t.Hash); err != nil {
				return err
			}
			out = append(out, t)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("look for memories without a vector: %w", err)
	}
	return out, nil
}

// Store keeps vectors in a space that does not serve yet: nothing that a cache depends on.
func (c corpus) Store(ctx context.Context, space int64, texts []spaces.Text, docs []embedding.Passages) error {
	packed := make([]embedded, len(texts))
	for i, d := range docs {
		e, err := pack(space, d)
		if err != nil {
			return fmt.Errorf("vector of a memory: %w", err)
		}
		packed[i] = e
	}
	return c.db.Maintain(ctx, func(g *gorm.DB) error {
		for i, t := range texts {
			// Unless it has changed meanwhile, or another process was quicker.
			err := g.Exec(`INSERT INTO vectors (rid, space, emb) SELECT m.rid, CAST(? AS BIGINT), ? FROM memories m
				WHERE m.rid = ? AND m.hash = ? AND m.state = 'live' ON CONFLICT (rid, space) DO NOTHING`, space, packed[i].packed, t.ID, t.Hash).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Count counts live memories.
func (c corpus) Count(g *gorm.DB, space int64) (have, total int, err error) {
	if err := g.Raw("SELECT COALESCE(SUM(live), 0) FROM partitions").Row().Scan(&total); err != nil {
		return 0, 0, err
	}
	err = g.Raw(`SELECT COUNT(*) FROM vectors v JOIN memories m ON m.rid = v.rid WHERE v.space = ? AND m.state = 'live'`, space).Row().Scan(&have)
	return have, total, err
}

// Switch lets live memories without a vector in the space wait for one.
func (c corpus) Switch(g *gorm.DB, space int64) error {
	if err := g.Exec("DELETE FROM pending").Error; err != nil {
		return err
	}
	return g.Exec(`INSERT INTO pending (rid, space) SELECT m.rid, CAST(? AS BIGINT) FROM memories m WHERE m.state = 'live'
		AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = m.rid AND v.space = ?)`, space, space).Error
}

// Drop removes the vectors of a space.
func (c corpus) Drop(ctx context.Context, space int64) error {
	var last int64
	err := c.db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT COALESCE(MAX(rid), 0) FROM vectors").Row().Scan(&last)
	})
	for from := int64(0); err == nil && from <= last; from += dropRange {
		err = c.db.Exec(ctx, "DELETE FROM vectors WHERE space = ? AND rid > ? AND rid <= ?", space, from, from+dropRange)
	}
	return errors.Join(err, c.db.Exec(ctx, "DELETE FROM pending WHERE space = ?", space))
}

// Fill fills in what waits, now.
func (c corpus) Fill(ctx context.Context) error {
	err := c.fillPending(ctx)
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// Wake fills in what waits, in the background.
func (c corpus) Wake() { c.wakeFill() }
