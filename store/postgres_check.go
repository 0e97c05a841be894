package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"
)

// check reads every value of every table, which finds pages that cannot be read, and then
// looks for contradictions on one snapshot.
func (e *postgresEngine) check(ctx context.Context) (Report, error) {
	r := Report{Problems: []string{}}
	var tables []string
	err := e.read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT format('%I', tablename) FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1").Scan(&tables).Error
	})
	if err != nil {
		return r, fmt.Errorf("check database: %w", err)
	}
	for _, table := range tables {
		err := e.read(ctx, func(g *gorm.DB) error {
			return g.Raw("SELECT COUNT(md5(t::text)) FROM " + table + " t").Row().Scan(new(int64))
		})
		switch {
		case isDamage(err):
			r.problem("the table %s cannot be read: %v", table, err)
		case err != nil:
			return r, fmt.Errorf("check database: read the table %s: %w", table, err)
		}
	}
	if len(r.Problems) > 0 {
		return r, nil
	}
	found := make([]int, len(checks))
	err = e.read(ctx, func(g *gorm.DB) error {
		for i, c := range checks {
			query := c.query
			if c.postgres != "" {
				query = c.postgres
			}
			if err := g.Raw(query).Row().Scan(&found[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("check database: %w", err)
	}
	for i, n := range found {
		if n > 0 {
			r.problem(checks[i].sentence, n)
		}
	}
	return r, nil
}

func isDamage(err error) bool {
	switch sqlstate(err) {
	case "XX001", "XX002", "58030":
		return true
	}
	return false
}
