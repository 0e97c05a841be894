package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// Secret returns 32 random bytes that belong to this store, made on first use.
func (d *DB) Secret(ctx context.Context) ([]byte, error) {
	secret, err := d.meta(ctx, "secret")
	if err != nil || secret != nil {
		return secret, err
	}
	fresh := make([]byte, 32)
	rand.Read(fresh)
	// Of several processes that start at once, the first one's bytes stay.
	if err := d.Exec(ctx, "INSERT INTO meta (name, value) VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING", fresh); err != nil {
		return nil, fmt.Errorf("make store secret: %w", err)
	}
	return d.meta(ctx, "secret")
}

// meta reads a value of the meta table, nil if it is not there.
func (d *DB) meta(ctx context.Context, name string) ([]byte, error) {
	var v []byte
	err := d.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT value FROM meta WHERE name = ?", name).Row().Scan(&v)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read store %s: %w", name, err)
	}
	return v, nil
}
