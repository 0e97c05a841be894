package spaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
)

// States of a [Status].
const (
	Empty        = "empty"        // nothing is embedded yet
	Consistent   = "consistent"   // what is stored fits the configured embedder
	Inconsistent = "inconsistent" // it does not, or the embedder does not work: see Advice
)

// Info is one embedding space for people.
type Info struct {
	ID          int64     `json:"id"`
	Protocol    string    `json:"protocol"`
	Model       string    `json:"model"`
	BaseURL     string    `json:"base_url,omitempty"`
	Dim         int       `json:"dim"`
	Version     string    `json:"version,omitempty"`
	Fingerprint string    `json:"fingerprint"`
	State       string    `json:"state"`   // active, building, old
	Vectors     int       `json:"vectors"` // texts that have their vector in it
	CreatedAt   time.Time `json:"created_at"`
}

// Label names the space for people.
func (i Info) Label() string {
	return Label(embedding.Space{Protocol: i.Protocol, Model: i.Model, BaseURL: i.BaseURL, Dim: i.Dim})
}

// Status is what the store knows of its spaces. No server is asked for it.
type Status struct {
	State       string `json:"state"`                 // [Empty], [Consistent] or [Inconsistent], by name alone
	Configured  string `json:"configured"`            // the configured embedder
	Fingerprint string `json:"fingerprint,omitempty"` // of the configured embedder
	Texts       int    `json:"texts"`                 // that are to have a vector
	Serving     *Info  `json:"serving,omitempty"`
	Others      []Info `json:"others,omitempty"`
	// Running says how far an embedding anew is, and who does it; empty if there is none.
	Running string `json:"running,omitempty"`
	// Advice says what to do, empty if nothing is.
	Advice string `json:"advice,omitempty"`
}

// Status reads it.
func (m *Manager) Status(ctx context.Context) (Status, error) {
	s := Status{State: Empty, Configured: "none"}
	if m.target != nil {
		sp := m.target.Space()
		s.Configured = Label(sp)
		if sp.Model != "" {
			s.Fingerprint = sp.Fingerprint()
		}
	}
	var serving row
	err := m.db.Read(ctx, func(g *gorm.DB) error {
		s.Texts, s.Serving, s.Others = 0, nil, nil // it may run again
		sv, err := store.ReadServing(g)
		if err != nil {
			return err
		}
		rows, err := readRows(g)
		if err != nil {
			return err
		}
		for _, r := range rows {
			i := Info{ID: r.id, Protocol: r.Protocol, Model: r.Model, BaseURL: r.BaseURL, Dim: r.Dim, Version: r.Version,
				Fingerprint: r.Fingerprint(), State: r.state, CreatedAt: r.created}
			for _, c := range m.registered() {
				have, total, err := c.Count(g, r.id)
				if err != nil {
					return err
				}
				i.Vectors += have
				if r.id == sv.Space {
					s.Texts += total
				}
			}
			if r.id == sv.Space {
				s.Serving, serving = &i, r
			} else {
				s.Others = append(s.Others, i)
			}
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	held, err := m.db.Held(ctx, LeaseName)
	if held != nil {
		s.Running = held.Error()
	}
	switch {
	case s.Serving == nil:
	case m.target != nil && sameName(known(m.target, serving.Space), serving.Space):
		s.State = Consistent
		// What the server answered in this process, if it was asked.
		if c := m.current.Load(); c != nil && c.Space == serving.id && c.Embedder == nil && c.Why != "" {
			s.State, s.Advice = Inconsistent, c.Why
		}
	default:
		s.State = Inconsistent
		s.Advice = "no embedder is configured"
		if m.target != nil {
			s.Advice = differ(serving.Space, m.target.Space()) + "; run: reverie reindex"
		}
	}
	return s, err
}

// ErrDimensions says that a space cannot be renamed: its vectors have another length
// than the embedder's.
var ErrDimensions = errors.New("the stored vectors have another dimension")

// ResetFingerprint gives the serving space the name of the configured embedder without
// embedding anything: for one who knows that the model is the same, or wants a warning
// gone. Searches by meaning are as good as that is true. Errors: [ErrDimensions], those
// of the embedder and the store.
func (m *Manager) ResetFingerprint(ctx context.Context) (was, is embedding.Space, err error) {
	if m.target == nil {
		return was, is, errors.New("no embedder is configured")
	}
	sp, canary, err := m.measure(ctx, m.target)
	if err != nil {
		return was, is, err
	}
	err = m.db.Exclusive(ctx, func(g *gorm.DB) error {
		sv, err := store.ReadServing(g)
		if err != nil {
			return err
		}
		is = sp
		if sv.Space == 0 {
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
		was = r.Space
		if r.Dim != sp.Dim {
			return fmt.Errorf("%w: %d numbers, the embedder's have %d; run: reverie reindex", ErrDimensions, r.Dim, sp.Dim)
		}
		if !sameName(r.Space, sp) {
			if err := m.adopt(g, r, sp); err != nil {
				return err
			}
		}
		if canary != nil {
			if err := writeCanary(g, r.id, canary); err != nil {
				return err
			}
		}
		return store.NextGeneration(g) // every process looks again who embeds
	})
	if err == nil {
		if lerr := m.lock(ctx); lerr == nil {
			clear(m.sound)
			m.unlock()
		}
		m.forget()
	}
	return was, is, err
}
