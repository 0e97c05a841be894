package vector

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
)

// ensureSpace returns the row id of a space, registering it on first sight. Vectors of
// other spaces stay where they are and are not compared with.
func ensureSpace(ctx context.Context, db *store.DB, sp embedding.Space) (int64, error) {
	id, err := findSpace(ctx, db, sp)
	if err != nil || id != 0 {
		return id, err
	}
	// Of several processes that start at once, the first registers it for all.
	err = db.Exec(ctx, `INSERT INTO spaces (fingerprint, protocol, model, base_url, dim, version, state, created_at)
		VALUES (?, ?, ?, ?, ?, ?, 'active', ?) ON CONFLICT (fingerprint, dim, version) DO NOTHING`,
		sp.Fingerprint(), sp.Protocol, sp.Model, sp.BaseURL, sp.Dim, sp.Version, time.Now().UnixMicro())
	if err != nil {
		return 0, err
	}
	return findSpace(ctx, db, sp)
}

// enterSpace notes in which space (0: none) the store is now written. If it was another
// one before, live memories that have no vector in this one wait for it from now on:
// those from before it was there, and those written by a program that did not use it.
func enterSpace(ctx context.Context, db *store.DB, space int64) error {
	var last store.Serving
	err := db.Read(ctx, func(g *gorm.DB) (err error) {
		last, err = store.ReadServing(g)
		return err
	})
	if err != nil || last.Space == space {
		return err
	}
	if space != 0 {
		err = db.Exec(ctx, `INSERT INTO pending (rid, space) SELECT m.rid, ? FROM memories m WHERE m.state = 'live'
			AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = m.rid AND v.space = ?) ON CONFLICT DO NOTHING`, space, space)
		if err != nil {
			return err
		}
	}
	return db.Exclusive(ctx, func(g *gorm.DB) error { return store.Serve(g, space) })
}

func findSpace(ctx context.Context, db *store.DB, sp embedding.Space) (int64, error) {
	var id int64
	err := db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT id FROM spaces WHERE fingerprint = ? AND dim = ? AND version = ?", sp.Fingerprint(), sp.Dim, sp.Version).Row().Scan(&id)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}
