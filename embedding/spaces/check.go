package spaces

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
)

const (
	// recheckEvery is how often a server's model is compared again: one may be exchanged
	// while this process runs.
	recheckEvery = 15 * time.Minute
	// checkPatience is how long the check in the background waits: a server may have to
	// load its model first.
	checkPatience = 2 * time.Minute
)

// Start checks in the background that stored vectors fit the configured embedder, and
// acts on the policy if not; then looks again from time to time. It returns at once.
func (m *Manager) Start() {
	if m.target == nil {
		return
	}
	m.work.Go(func() {
		m.startUp()
		if _, remote := m.target.(prober); !remote || m.opts.Trust {
			return
		}
		tick := time.NewTicker(recheckEvery)
		defer tick.Stop()
		for {
			select {
			case <-m.done.Done():
				return
			case <-tick.C:
				m.recheck()
			}
		}
	})
}

// Settle gives a store that is new, or holds nothing, the space of an embedder that need
// not be asked. For others, and when all is well, it does nothing but read.
func (m *Manager) Settle(ctx context.Context) error {
	if m.target == nil {
		return nil
	}
	if _, remote := m.target.(prober); remote {
		return nil
	}
	cur, err := m.Serving(ctx)
	if err != nil || cur.configured {
		return err
	}
	_, err = m.Check(ctx)
	return err
}

// startUp checks until the embedder answers, and acts once.
func (m *Manager) startUp() {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 2*time.Second, 2*time.Minute
	for {
		f, err := m.Check(m.done)
		switch {
		case m.done.Err() != nil:
			return
		case err == nil && f.Consistent:
			for _, c := range m.registered() {
				c.Wake() // what waited for the embedder
			}
			return
		case err == nil:
			m.act(f)
			return
		}
		d := wait.NextBackOff()
		m.log.Warn("the embedder cannot be checked yet: searches go by words", "error", err, "retry_in", d.Round(time.Second))
		select {
		case <-m.done.Done():
			return
		case <-time.After(d):
		}
	}
}

// recheck asks the canary again.
func (m *Manager) recheck() {
	if err := m.lock(m.done); err != nil {
		return
	}
	clear(m.sound)
	m.forget()
	m.unlock()
	f, err := m.Check(m.done)
	if err == nil && !f.Consistent {
		m.log.Warn(f.Advice())
	}
}

// Finding is what [Manager.Check] found.
type Finding struct {
	Consistent bool            // what is stored fits the configured embedder
	Stored     embedding.Space // the space that serves
	Configured embedding.Space // that of the configured embedder
	Texts      int             // that have to be embedded anew if it does not fit
	Reason     string          // why it does not fit
}

// Advice says what was found and what to do.
func (f Finding) Advice() string {
	return fmt.Sprintf("%s; %d texts are to be embedded anew with %s: run: reverie reindex", f.Reason, f.Texts, Label(f.Configured))
}

// Question asks whether to do it now.
func (f Finding) Question() string {
	return fmt.Sprintf("%s. Embed %d texts anew with %s? What is there serves meanwhile.", f.Reason, f.Texts, Label(f.Configured))
}

// SetPolicy changes the policy, before [Manager.Start]: someone was asked and said yes.
func (m *Manager) SetPolicy(p Policy) { m.opts.Policy = p }

// Check compares the stored vectors with the configured embedder, asking it. A store that
// holds nothing yet simply takes the embedder's space, and one whose canary is the same
// under another name or URL takes its name. An error is that of the embedder or the store.
func (m *Manager) Check(ctx context.Context) (Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	if m.target == nil {
		return Finding{}, fmt.Errorf("no embedder is configured")
	}
	sp, canary, err := m.measure(ctx, m.target)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Configured: sp}
	err = m.db.Exclusive(ctx, func(g *gorm.DB) error {
		f = Finding{Configured: sp} // it may run again
		sv, err := store.ReadServing(g)
		if err != nil {
			return err
		}
		if sv.Space == 0 {
			f.Consistent = true
			_, err := m.enter(g, sp, canary)
			return err
		}
		r, ok, err := rowByID(g, sv.Space)
		if err != nil {
			return err
		}
		if !ok {
			return store.NoSpace(sv.Space)
		}
		have, err := readCanary(g, r.id)
		if err != nil {
			return err
		}
		f.Stored = r.Space
		changed, err := m.compare(g, r, sp, have, canary, &f)
		if err == nil && !changed {
			return store.ErrUnchanged
		}
		return err
	})
	m.forget()
	if err != nil {
		return f, fmt.Errorf("check the embedding space: %w", err)
	}
	if !f.Consistent && f.Texts == 0 {
		return m.move(ctx, sp, canary, f)
	}
	return f, nil
}

// compare fills in the finding. It reports whether it changed the store.
func (m *Manager) compare(g *gorm.DB, r row, sp embedding.Space, have, canary Canary, f *Finding) (changed bool, err error) {
	same, least := canary.Same(have)
	switch {
	case canary == nil: // taken at its word
		f.Consistent = sameName(sp, r.Space) && sp.Dim == r.Dim
		f.Reason = fmt.Sprintf("the stored vectors are of %s", Label(r.Space))
	case sameName(sp, r.Space) && sp.Dim == r.Dim && (have == nil || same):
		f.Consistent = true
		if have == nil {
			return true, writeCanary(g, r.id, canary)
		}
	case same && sp.Dim == r.Dim:
		f.Consistent = true
		m.log.Info("the embedder has another name or address and the same vectors: nothing is to be done", "was", Label(r.Space), "is", Label(sp))
		return true, m.adopt(g, r, sp)
	case sameName(sp, r.Space):
		f.Reason = exchanged(r.Space, have, least)
	default:
		f.Reason = differ(r.Space, sp)
	}
	if f.Consistent {
		return false, nil
	}
	for _, c := range m.registered() {
		_, total, err := c.Count(g, r.id)
		if err != nil {
			return false, err
		}
		f.Texts += total
	}
	return false, nil
}

// adopt gives a space the name of an embedder that makes the same vectors.
func (m *Manager) adopt(g *gorm.DB, r row, sp embedding.Space) error {
	rows, err := readRows(g)
	if err != nil {
		return err
	}
	// Another space may have had that name before.
	sp.Version = freshVersion(rows, sp)
	return rename(g, r.id, sp)
}

// move takes a store that has no texts to the embedder's space.
func (m *Manager) move(ctx context.Context, sp embedding.Space, canary Canary, f Finding) (Finding, error) {
	err := m.db.Exclusive(ctx, func(g *gorm.DB) error {
		f.Texts, f.Consistent = 0, false // it may run again
		sv, err := store.ReadServing(g)
		if err != nil {
			return err
		}
		for _, c := range m.registered() {
			if _, total, err := c.Count(g, sv.Space); err != nil || total > 0 {
				f.Texts += total
				return err // somebody wrote the first one just now
			}
		}
		rows, err := readRows(g)
		if err != nil {
			return err
		}
		sp.Version = freshVersion(rows, sp)
		f.Consistent = true
		_, err = m.enter(g, sp, canary)
		return err
	})
	m.forget()
	return f, err
}

// act does what the policy says about vectors that do not fit.
func (m *Manager) act(f Finding) {
	if m.opts.Policy != Auto {
		m.log.Warn(f.Advice())
		return
	}
	m.log.Info("embedding everything anew in the background", "texts", f.Texts, "from", Label(f.Stored), "to", Label(f.Configured))
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 5*time.Second, 5*time.Minute
	for {
		n, err := m.Reembed(m.done, ReembedOptions{Progress: m.logProgress()})
		if m.done.Err() != nil {
			return // the next start carries on
		}
		if err == nil {
			m.log.Info("everything is embedded anew", "texts", n, "space", Label(f.Configured))
			return
		}
		d := wait.NextBackOff()
		m.log.Warn("embedding anew stopped for now; what is done stays done", "error", err, "retry_in", d.Round(time.Second))
		select {
		case <-m.done.Done():
			return
		case <-time.After(d):
		}
		// Somebody else may have finished it meanwhile.
		if f, err := m.Check(m.done); err == nil && f.Consistent {
			return
		}
	}
}

// logProgress logs a line every ten seconds.
func (m *Manager) logProgress() func(done, total int) {
	last := time.Now()
	return func(done, total int) {
		if time.Since(last) >= 10*time.Second {
			last = time.Now()
			m.log.Info("embedding anew", "done", done, "total", total)
		}
	}
}
