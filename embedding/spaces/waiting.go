package spaces

import (
	"context"
	"fmt"

	"reverie/store"
)

// waiting is for the answer of a server that did not come within the patience of a call:
// the calls after it must not each wait as long.
type waiting struct {
	serving store.Serving
	cancel  context.CancelFunc
}

// waitsFor reports whether the embedder of sv is waited for in the background.
func (m *Manager) waitsFor(sv store.Serving) bool {
	w := m.waiting.Load()
	if w == nil {
		return false
	}
	if w.serving != sv {
		w.cancel() // it keeps the lock for nothing
		return false
	}
	return true
}

// waitOn goes on asking in the background, once, for as long as a check at the start does.
// What waited for the embedder is told if it answers.
func (m *Manager) waitOn(sv store.Serving) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(m.done, checkPatience)
	w := &waiting{serving: sv, cancel: cancel}
	if !m.waiting.CompareAndSwap(nil, w) {
		cancel()
		return
	}
	m.work.Go(func() {
		defer m.waiting.Store(nil)
		defer cancel()
		c, err := m.find(ctx, sv)
		if err != nil || c.Embedder == nil {
			m.log.Debug("the embedder has not answered in the background either", "error", err)
			return
		}
		for _, c := range m.registered() {
			c.Wake()
		}
	})
}

// unanswered is who embeds for sv while the server has not answered: nobody.
func (m *Manager) unanswered(sv store.Serving) *Current {
	return &Current{Serving: sv, Why: fmt.Sprintf("the embedder %s has not answered yet: found by words only; it is asked again", m.targetLabel())}
}
