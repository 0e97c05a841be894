package vector

import (
	"context"
	"encoding/json"
	"fmt"

	"reverie/internal/caller"
	"reverie/journal"
)

// Revert gives a live memory the content, tags and importance that it had after the
// change numbered seq of its history. It is an update like any other: itself in the
// history, and refused where [Service.Update] would be.
func (s *Service) Revert(ctx context.Context, c caller.Caller, scope caller.Scope, id string, seq int64) (Written, error) {
	if _, _, err := s.openToRewrite(c, scope); err != nil {
		return Written{}, err
	}
	m, err := s.Get(ctx, c, scope, id)
	if err != nil {
		return Written{}, err
	}
	e, err := journal.At(ctx, s.db, m.Partition, journal.KindMemory, id, seq)
	if err != nil {
		return Written{}, fmt.Errorf("%w: memory %s has no change numbered %d; see its history for the numbers", ErrNotFound, id, seq)
	}
	var then Memory
	if err := json.Unmarshal(e.After, &then); err != nil {
		return Written{}, fmt.Errorf("change %d of memory %s: %w", seq, id, err)
	}
	return s.Update(ctx, c, scope, id, Patch{Content: &then.Content, Tags: &then.Tags, Importance: &then.Importance})
}
