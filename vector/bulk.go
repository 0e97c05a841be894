package vector

import (
	"context"
	"fmt"

	"reverie/internal/caller"
	"reverie/store"
)

// WriteAll stores many memories in one transaction, all or none, for imports and
// measurements: it is as [Service.Write] for each, in order, except that near duplicates
// are not looked for. An embedder that fails leaves the vectors to be filled in later.
func (s *Service) WriteAll(ctx context.Context, c caller.Caller, scope caller.Scope, drafts []Draft) ([]Written, error) {
	scope, part, err := s.open(c, scope)
	if err != nil {
		return nil, err
	}
	out := make([]Written, len(drafts))
	memories := make([]Memory, len(drafts))
	texts := make([]string, len(drafts))
	for i, d := range drafts {
		if d.Supersedes != "" {
			return nil, fmt.Errorf("%w: draft %d: supersedes is for single writes", ErrInvalid, i+1)
		}
		if memories[i], out[i].Notices, err = s.draft(c, scope, d); err != nil {
			return nil, fmt.Errorf("draft %d: %w", i+1, err)
		}
		texts[i] = memories[i].Content
	}
	cur, err := s.serving(ctx, part)
	if err != nil {
		return nil, fmt.Errorf("write memories: %w", err)
	}
	embs, err := s.embedAll(ctx, cur, texts)
	if err != nil {
		s.log.Warn("memories stored without their vectors for now", "error", err)
	}
	err = s.write(ctx, part, func(tx *store.Tx) error {
		if err := s.expire(tx, part); err != nil {
			return err
		}
		w, err := s.beginWriting(tx, c)
		if err != nil {
			return err
		}
		for i := range drafts {
			if err := w.store("", memories[i], embs[i], &out[i]); err != nil {
				return fmt.Errorf("draft %d: %w", i+1, err)
			}
		}
		return w.end()
	})
	if err != nil {
		return nil, fmt.Errorf("write memories: %w", s.withCandidates(ctx, c, part, err, ""))
	}
	s.wakeFill()
	return out, nil
}
