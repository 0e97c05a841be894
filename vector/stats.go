package vector

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"reverie/embedding/spaces"
	"reverie/internal/caller"
	"reverie/store"
)

// Stats counts the memories of one partition that the caller may see.
type Stats struct {
	Scope        caller.Scope       `json:"scope"`
	Partition    string             `json:"partition"`
	ByState      map[State]int      `json:"by_state"`
	ByImportance map[Importance]int `json:"by_importance"` // of the live ones
	Pending      int                `json:"pending"`       // live ones that wait for a vector
	Limit        int                `json:"limit"`
	Oldest       time.Time          `json:"oldest,omitzero"` // of the live ones, when created
	Newest       time.Time          `json:"newest,omitzero"`
}

// Stats counts the memories of a scope.
func (s *Service) Stats(ctx context.Context, c caller.Caller, scope caller.Scope) (Stats, error) {
	scope, part, err := s.open(c, scope)
	if err != nil {
		return Stats{}, err
	}
	var st Stats
	err = s.db.Read(ctx, func(g *gorm.DB) error {
		st = Stats{Scope: scope, Partition: part, ByState: map[State]int{}, ByImportance: map[Importance]int{}, Limit: s.opts.Limit}
		none, err := s.noSpaceYet(g)
		if err != nil {
			return err
		}
		rows, err := g.Raw(`SELECT m.state, m.importance, COUNT(*), COUNT(p.rid), MIN(m.created_at), MAX(m.created_at)
			FROM memories m LEFT JOIN pending p ON p.rid = m.rid AND p.space = (SELECT space FROM serving WHERE one = 1) AND m.state = 'live'
			WHERE m.part = ? AND (m.private = 0 OR ?) GROUP BY m.state, m.importance`, part, !c.InGroup()).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var state State
			var imp Importance
			var n, pending int
			var first, last int64
			if err := rows.Scan(&state, &imp, &n, &pending, &first, &last); err != nil {
				return err
			}
			st.ByState[state] += n
			if state != Live {
				continue
			}
			st.ByImportance[imp] += n
			if none {
				pending = n
			}
			st.Pending += pending
			if t := fromMicro(first); st.Oldest.IsZero() || t.Before(st.Oldest) {
				st.Oldest = t
			}
			if t := fromMicro(last); t.After(st.Newest) {
				st.Newest = t
			}
		}
		return rows.Err()
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count memories: %w", err)
	}
	return st, nil
}

// noSpaceYet reports whether no space serves yet because the embedder has never answered:
// then everything waits for its vector, and the table of what waits has nothing.
func (s *Service) noSpaceYet(g *gorm.DB) (bool, error) {
	if s.opts.WordsOnly {
		return false, nil
	}
	sv, err := store.ReadServing(g)
	return sv.Space == 0, err
}

// PartitionCount is how many live memories a partition holds.
type PartitionCount struct {
	Partition string `json:"partition"`
	Live      int    `json:"live"`
}

// Totals counts the whole store, over all partitions: for the operator, never for a caller.
type Totals struct {
	Partitions int              `json:"partitions"`
	Live       int              `json:"live"`
	Pending    int              `json:"pending"`
	Largest    []PartitionCount `json:"largest"` // at most ten, most first
	Space      string           `json:"space"`   // protocol and model of the vectors, empty before there are any
	Dim        int              `json:"dim,omitempty"`
	Print      string           `json:"fingerprint,omitempty"`
}

// Totals counts the whole store.
func (s *Service) Totals(ctx context.Context) (Totals, error) {
	var t Totals
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		if err := g.Raw("SELECT COUNT(*), COALESCE(SUM(live), 0) FROM partitions").Row().Scan(&t.Partitions, &t.Live); err != nil {
			return err
		}
		if err := g.Raw("SELECT COUNT(*) FROM pending WHERE space = (SELECT space FROM serving WHERE one = 1)").Row().Scan(&t.Pending); err != nil {
			return err
		}
		if none, err := s.noSpaceYet(g); err != nil {
			return err
		} else if none {
			t.Pending = t.Live
		}
		rows, err := g.Raw("SELECT key, live FROM partitions ORDER BY live DESC, key LIMIT 10").Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		t.Largest = nil
		for rows.Next() {
			var p PartitionCount
			if err := rows.Scan(&p.Partition, &p.Live); err != nil {
				return err
			}
			t.Largest = append(t.Largest, p)
		}
		return rows.Err()
	})
	if err != nil {
		return Totals{}, fmt.Errorf("count the store: %w", err)
	}
	sp, ok, err := spaces.Serving(ctx, s.db)
	if err != nil {
		return Totals{}, fmt.Errorf("count the store: %w", err)
	}
	if ok {
		t.Space, t.Dim, t.Print = sp.Protocol+" "+sp.Model, sp.Dim, sp.Fingerprint()
	}
	return t, nil
}
