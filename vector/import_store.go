package vector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reverie/journal"
	"reverie/store"
)

// importing is one transaction of an import.
type importing struct {
	*Service
	o      ImportOptions
	own    map[string]*Memory // what this import brings, by id
	done   map[string]bool    // of these, those that were looked at
	wanted map[string]bool    // ids that something of this import is known as
	report ImportReport
	tx     *store.Tx
	space  int64             // the serving one
	stored map[string]record // of the ids of this batch
	live   int               // change of the live count
	later  []incoming        // what has to wait for others of this import
}

// clone is a copy that a transaction may change.
func (p *importing) clone() *importing {
	c := *p
	c.done, c.wanted, c.report.KnownAs = maps.Clone(p.done), maps.Clone(p.wanted), maps.Clone(p.report.KnownAs)
	return &c
}

func (p *importing) store(tx *store.Tx, batch []incoming) error {
	p.tx, p.live, p.later = tx, 0, nil
	serving, err := store.ReadServing(tx.DB)
	if err != nil {
		return err
	}
	p.space = serving.Space
	if err := p.load(batch); err != nil {
		return err
	}
	before := p.report.Added + p.report.Replaced
	// What waits for others is tried again as long as that helps; two that wait for each
	// other are then dealt with as they stand.
	for wait := true; len(batch) > 0; wait, batch = len(p.later) < len(batch), p.later {
		p.later = nil
		for _, x := range batch {
			if as := p.report.KnownAs[x.SupersededBy]; as != "" {
				x.SupersededBy = as
			}
			if err := p.one(x, wait); err != nil {
				return fmt.Errorf("memory %s: %w", x.ID, err)
			}
		}
	}
	n, err := liveCount(tx.DB, tx.Part)
	if err != nil {
		return err
	}
	p.report.Live = n + p.live
	if p.live != 0 {
		if err := addLive(tx, p.live); err != nil {
			return err
		}
	}
	if p.o.DryRun || p.report.Added+p.report.Replaced == before {
		return store.ErrUnchanged
	}
	return nil
}

// load reads what is stored under the ids of a batch: one query for many.
func (p *importing) load(batch []incoming) error {
	p.stored = make(map[string]record)
	for some := range slices.Chunk(batch, idsAtOnce) {
		ids := make([]string, len(some))
		for i, x := range some {
			ids[i] = x.ID
		}
		rs, err := query(p.tx.DB, "WHERE m.part = ? AND m.id IN ?", p.tx.Part, ids)
		if err != nil {
			return err
		}
		for _, r := range rs {
			p.stored[r.ID] = r
		}
	}
	return nil
}

// one imports a memory, or puts it off if it may wait: under another policy than
// KeepStored, the memory that has its content now may be about to change.
func (p *importing) one(x incoming, mayWait bool) error {
	old, stored := p.stored[x.ID]
	p.done[x.ID] = true
	if stored {
		switch replace := p.o.OnConflict == ReplaceAll || p.o.OnConflict == ReplaceOlder && x.UpdatedAt.After(old.UpdatedAt); {
		case alike(old, x.Memory):
			p.report.Known++
			return nil
		case !replace, p.wanted[x.ID] && (x.State != Live || !bytes.Equal(contentHash(x.Content), contentHash(old.Content))):
			p.report.Kept++
			return nil
		}
	}
	if x.State == Live {
		twin, wait, err := p.twin(x.Memory, mayWait)
		if err != nil {
			return err
		}
		if wait {
			delete(p.done, x.ID)
			p.later = append(p.later, x)
			return nil
		}
		if twin != "" {
			p.wanted[twin] = true
			p.report.Known++
			p.report.KnownAs[x.ID] = twin
			return nil
		}
	}
	change := journal.Change{Kind: journal.KindMemory, Object: x.ID, Action: journal.Create, After: x.Memory}
	var err error
	if stored {
		change.Action, change.Before = journal.Update, old.Memory
		err = p.replace(old, x)
		p.report.Replaced++
	} else {
		err = p.insert(x)
		p.report.Added++
	}
	if err != nil {
		return err
	}
	return journal.Append(p.tx, p.o.By, change)
}

// twin is the id of another live memory with the content of m, empty if there is none
// that stands in its way. The two of one content that differ in privacy may stand
// beside each other only if they come together: else the private one is the known one.
// wait says that this cannot be told yet.
func (p *importing) twin(m Memory, mayWait bool) (id string, wait bool, err error) {
	have, err := liveTwins(p.tx.DB, p.tx.Part, contentHash(m.Content))
	if err != nil {
		return "", false, err
	}
	same, other := have.public, have.private
	if m.Private {
		same, other = other, same
	}
	// One that is about to change may be out of the way soon.
	leaves := func(id string) bool {
		return mayWait && p.o.OnConflict != "" && p.o.OnConflict != KeepStored && p.own[id] != nil && !p.done[id]
	}
	switch {
	case same.ID != "" && same.ID != m.ID:
		return same.ID, leaves(same.ID), nil
	case other.ID == "" || other.ID == m.ID || same.ID == m.ID || p.together(m, other.Memory):
		return "", false, nil // also if the two stand beside each other already
	case !m.Private || leaves(other.ID):
		return other.ID, leaves(other.ID), nil
	}
	// Something public is to be private from now on.
	next := other
	next.Private = true
	p.report.Replaced++
	if _, ok := p.stored[other.ID]; ok {
		p.stored[other.ID] = next
	}
	return other.ID, false, p.change(p.tx, p.o.By, journal.Repeat, other, next)
}

// together reports whether m and its twin, which is stored, are a pair in this import.
func (p *importing) together(m, twin Memory) bool {
	own := p.own[twin.ID]
	return own != nil && own.State == Live && own.Private == twin.Private && bytes.Equal(contentHash(own.Content), contentHash(m.Content))
}

const importColumns = `rev = ?, state = ?, content = ?, hash = ?, tags = ?, importance = ?, private = ?, said_by = ?, source = ?,
	conversation = ?, created_at = ?, updated_at = ?, event_time = ?, superseded_by = ?, archived_at = ?, deleted_at = ?, seen = ?`

func (p *importing) values(m Memory) ([]any, error) {
	if m.Tags == nil {
		m.Tags = []string{}
	}
	tags, err := json.Marshal(m.Tags)
	return []any{p.tx.Version, string(m.State), m.Content, contentHash(m.Content), string(tags), string(m.Importance), truth(m.Private), m.SaidBy, string(m.Source),
		m.Conversation, micro(m.CreatedAt), micro(m.UpdatedAt), micro(m.EventTime), m.SupersededBy, micro(m.ArchivedAt), micro(m.DeletedAt), m.Seen}, err
}

func (p *importing) insert(x incoming) error {
	values, err := p.values(x.Memory)
	if err != nil {
		return err
	}
	names := strings.ReplaceAll(importColumns, " = ?", "")
	err = p.tx.Exec("INSERT INTO memories ("+names+", id, part, scope, used_at) VALUES (?"+strings.Repeat(", ?", len(values)+3)+")",
		append(values, x.ID, p.tx.Part, string(x.Scope), micro(x.LastUsedAt))...).Error
	if err != nil {
		return err
	}
	if x.State == Live {
		p.live++
	}
	var rid int64
	if err := p.tx.Raw("SELECT rid FROM memories WHERE id = ?", x.ID).Row().Scan(&rid); err != nil {
		return err
	}
	return p.vector(rid, x)
}

func (p *importing) replace(old record, x incoming) error {
	values, err := p.values(x.Memory)
	if err != nil {
		return err
	}
	if err := p.tx.Exec("UPDATE memories SET "+importColumns+" WHERE rid = ? AND part = ?", append(values, old.rid, p.tx.Part)...).Error; err != nil {
		return err
	}
	if old.State == Live {
		p.live--
	}
	if x.State == Live {
		p.live++
	}
	if old.Content != x.Content {
		// The vectors of what it said before, in every space.
		if err := p.tx.Exec("DELETE FROM vectors WHERE rid = ?", old.rid).Error; err != nil {
			return err
		}
	} else if !old.Pending {
		return nil
	}
	return p.vector(old.rid, x)
}

// vector stores what came along for the serving space, or lets a live memory wait.
func (p *importing) vector(rid int64, x incoming) error {
	switch {
	case p.space == 0:
		return nil
	case len(x.emb) > 0 && p.o.Space == p.space:
		return setVector(p.tx, rid, p.space, x.emb)
	case x.State == Live:
		p.report.Pending++
		return setVector(p.tx, rid, p.space, nil)
	}
	return nil
}

// alike reports whether an import would change nothing. When a memory was last used is
// bookkeeping: a search must not turn every import after it into a conflict.
func alike(old record, m Memory) bool {
	a, b := old.Memory, m
	for _, x := range []*Memory{&a, &b} {
		x.LastUsedAt, x.Pending = time.Time{}, false
		for _, t := range []*time.Time{&x.CreatedAt, &x.UpdatedAt, &x.EventTime, &x.ArchivedAt, &x.DeletedAt} {
			*t = fromMicro(micro(*t))
		}
		if x.Tags == nil {
			x.Tags = []string{}
		}
	}
	ja, erra := json.Marshal(a)
	jb, errb := json.Marshal(b)
	return erra == nil && errb == nil && bytes.Equal(ja, jb) && !old.damagedTags
}
