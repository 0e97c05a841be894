package mirror

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// State says in a word how a mirror is.
type State string

// The states of a mirror.
const (
	StateOK      State = "ok"            // the server has everything
	StateBehind  State = "catching up"   // it is being sent what is missing
	StateRefused State = "refused"       // it has everything but some partitions, which it refuses
	StateDown    State = "down"          // the server does not answer
	StateForeign State = "foreign"       // the collections belong to another home
	StateNoSpace State = "nothing to do" // the store has no vectors yet
	StateDamaged State = "damaged"       // collections are missing or not as they should be
	StateTrouble State = "trouble"       // anything else; LastError says what
)

// Status is how far the mirror is.
type Status struct {
	State       State  `json:"state"`
	Server      string `json:"server"`
	Space       int64  `json:"space"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Buckets     int    `json:"buckets,omitempty"`     // as the space was filled
	Collections int    `json:"collections,omitempty"` // of these, those that exist

	Partitions int `json:"partitions"`
	Delivered  int `json:"delivered"` // of these, those that the server has everything of
	Memories   int `json:"memories"`
	Waiting    int `json:"waiting"` // memories of the partitions that are not delivered yet

	DownSince time.Time `json:"down_since,omitzero"`
	LastError string    `json:"last_error,omitempty"`
	Refused   []Refusal `json:"refused"`
	Holder    string    `json:"holder,omitempty"` // who delivers at the moment
}

// trouble is what one process tells the others, in the table meta.
type trouble struct {
	Since     time.Time `json:"since,omitzero"`
	LastError string    `json:"last_error,omitempty"`
	Refused   []Refusal `json:"refused,omitempty"`
}

// metaName is the row of the table meta that holds the trouble.
const metaName = "mirror"

// Status asks the store and the server. What another process was refused is among it.
func (m *Mirror) Status(ctx context.Context) (Status, error) {
	o, err := m.look(ctx)
	if err != nil {
		return Status{}, err
	}
	st := Status{Server: m.chroma.Address(), Space: o.Space, Fingerprint: o.fingerprint, Partitions: o.partitions, Memories: o.memories, Delivered: o.partitions, Refused: m.aside.list()}
	if o.Space == 0 {
		st.State = StateNoSpace
		return st, nil
	}
	if o.generation != o.Generation {
		st.Delivered, st.Waiting = 0, o.memories
	} else {
		for _, d := range o.todo {
			if !d.gone {
				st.Delivered--
				st.Waiting += d.live
			}
		}
	}
	if held, err := m.db.Held(ctx, leaseName); err == nil && held != nil {
		st.Holder = held.Holder
	}
	told, err := m.told(ctx)
	if err != nil {
		return st, err
	}
	m.mu.Lock()
	st.DownSince = m.down
	m.mu.Unlock()
	if len(st.Refused) == 0 && len(told.Refused) > 0 {
		st.Refused = told.Refused
	}
	return m.judge(ctx, o, st, told), nil
}

// judge finds the state.
func (m *Mirror) judge(ctx context.Context, o outlook, st Status, told trouble) Status {
	p, err := m.survey(ctx, o)
	if err == nil {
		st.Buckets, st.Collections = p.buckets, len(p.cols)
	}
	switch {
	case errors.Is(err, ErrForeign):
		st.State, st.LastError = StateForeign, err.Error()
	case err != nil && (errors.Is(err, ErrDown) || isGone(err)):
		st.State, st.LastError = StateDown, err.Error()
		if st.DownSince.IsZero() {
			st.DownSince = told.Since
		}
	case err != nil:
		st.State, st.LastError = StateTrouble, err.Error()
	case len(p.bad) > 0 || len(p.lost) > 0:
		st.State, st.LastError = StateDamaged, fmt.Sprintf("%d collections are not as they should be, %d partitions are in none; a running server mends that", len(p.bad), len(p.lost))
	case st.Delivered < st.Partitions && st.Partitions-st.Delivered <= len(st.Refused):
		st.State, st.LastError = StateRefused, st.Refused[0].Error
	case st.Delivered < st.Partitions || len(o.todo) > 0 || o.others || len(p.others) > 0:
		st.State, st.LastError = StateBehind, told.LastError
	default:
		st.State, st.Refused = StateOK, []Refusal{}
	}
	return st
}

// publish tells other processes what is wrong, when that has changed.
func (m *Mirror) publish(ctx context.Context) {
	t := trouble{Refused: m.aside.list()}
	m.mu.Lock()
	t.Since = m.down.UTC().Truncate(time.Second)
	if m.lastErr != nil {
		t.LastError = m.lastErr.Error()
	}
	m.mu.Unlock()
	b, err := json.Marshal(t)
	if err != nil {
		return
	}
	m.mu.Lock()
	same := string(b) == m.published
	m.published = string(b)
	m.mu.Unlock()
	if same {
		return
	}
	err = m.db.Maintain(ctx, func(g *gorm.DB) error {
		return g.Exec("INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", metaName, b).Error
	})
	if err != nil && ctx.Err() == nil {
		m.log.Warn("the state of the mirror could not be noted", "error", err)
	}
}

// told reads what publish wrote, here or in another process.
func (m *Mirror) told(ctx context.Context) (trouble, error) {
	var t trouble
	var b []byte
	err := m.db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT value FROM meta WHERE name = ?", metaName).Row().Scan(&b)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("read the state of the mirror: %w", err)
	}
	if json.Unmarshal(b, &t) != nil {
		return trouble{}, nil // of another version
	}
	return t, nil
}
