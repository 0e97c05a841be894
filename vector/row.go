package vector

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/store"
)

// record is a Memory with what only the database knows.
type record struct {
	Memory
	rid int64
	rev int64
	// damagedTags says that the stored tags cannot be read. The memory is served without
	// them, and what is stored stays until new tags are given.
	damagedTags bool
}

// columns of a record, in the order of scan. The last says whether a vector is missing
// in the serving space.
const columns = `m.rid, m.rev, m.id, m.part, m.state, m.scope, m.content, m.tags, m.importance, m.private, m.said_by, m.source,
	m.conversation, m.created_at, m.updated_at, m.event_time, m.superseded_by, m.archived_at, m.deleted_at, m.used_at, m.seen,
	NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = m.rid AND v.space = (SELECT space FROM serving WHERE one = 1))`

type scanner interface{ Scan(...any) error }

func scan(s scanner) (record, error) {
	var r record
	var tags string
	var created, updated, event, archived, deleted, used int64
	err := s.Scan(&r.rid, &r.rev, &r.ID, &r.Partition, &r.State, &r.Scope, &r.Content, &tags, &r.Importance, &r.Private, &r.SaidBy, &r.Source,
		&r.Conversation, &created, &updated, &event, &r.SupersededBy, &archived, &deleted, &used, &r.Seen, &r.Pending)
	if err != nil {
		return r, err
	}
	r.CreatedAt, r.UpdatedAt, r.EventTime = fromMicro(created), fromMicro(updated), fromMicro(event)
	r.ArchivedAt, r.DeletedAt, r.LastUsedAt = fromMicro(archived), fromMicro(deleted), fromMicro(used)
	if json.Unmarshal([]byte(tags), &r.Tags) != nil || r.Tags == nil {
		r.Tags, r.damagedTags = []string{}, true
	}
	return r, nil
}

// query returns the records that "FROM memories m" followed by rest selects.
func query(g *gorm.DB, rest string, args ...any) ([]record, error) {
	rows, err := g.Raw("SELECT "+columns+" FROM memories m "+rest, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []record
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// byID returns the record of one partition, or ErrNotFound.
func byID(g *gorm.DB, part, id string) (record, error) {
	r, err := scan(g.Raw("SELECT "+columns+" FROM memories m WHERE m.part = ? AND m.id = ?", part, id).Row())
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("%w: no memory %s here", ErrNotFound, id)
	}
	return r, err
}

// twins are the live records of a partition that have one content: at most a public one
// and a private one. Their id is empty where there is none.
type twins struct{ public, private record }

func liveTwins(g *gorm.DB, part string, hash []byte) (t twins, err error) {
	rs, err := query(g, "WHERE m.part = ? AND m.hash = ? AND m.state = 'live'", part, hash)
	for _, r := range rs {
		if r.Private {
			t.private = r
		} else {
			t.public = r
		}
	}
	return t, err
}

// seen is the twin that the caller may know of, the public one first; its id is empty if
// there is none.
func (t twins) seen(c caller.Caller) record {
	if t.public.ID != "" || !visible(c, &t.private.Memory) {
		return t.public
	}
	return t.private
}

// insert stores a new live record, with its vector in the space unless that is 0. The
// caller counts it.
func insert(tx *store.Tx, m Memory, space int64, emb []byte) error {
	tags, err := json.Marshal(m.Tags)
	if err != nil {
		return err
	}
	err = tx.Exec(`INSERT INTO memories (id, part, rev, state, scope, content, hash, tags, importance, private, said_by, source,
		conversation, created_at, updated_at, event_time, used_at, seen) VALUES (?, ?, ?, 'live', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, tx.Part, tx.Version, string(m.Scope), m.Content, contentHash(m.Content), string(tags), string(m.Importance), truth(m.Private), m.SaidBy, string(m.Source),
		m.Conversation, micro(m.CreatedAt), micro(m.UpdatedAt), micro(m.EventTime), micro(m.LastUsedAt), m.Seen).Error
	if err != nil || space == 0 {
		return err
	}
	// The row id is asked for by the id: RETURNING costs SQLite a temporary table.
	if len(emb) == 0 {
		return tx.Exec("INSERT INTO pending (rid, space) SELECT rid, ? FROM memories WHERE id = ?", space, m.ID).Error
	}
	return tx.Exec("INSERT INTO vectors (rid, space, emb) SELECT rid, ?, ? FROM memories WHERE id = ?", space, emb, m.ID).Error
}

// save writes back every column of r that may change, and counts it in or out of the
// live ones if its state changed from was.
func save(tx *store.Tx, r record, was State) error {
	var tags *string // NULL keeps what stands there
	if !r.damagedTags {
		b, err := json.Marshal(r.Tags)
		if err != nil {
			return err
		}
		tags = new(string)
		*tags = string(b)
	}
	err := tx.Exec(`UPDATE memories SET rev = ?, state = ?, content = ?, hash = ?, tags = COALESCE(?, tags), importance = ?, private = ?, updated_at = ?,
		superseded_by = ?, archived_at = ?, deleted_at = ?, used_at = CASE WHEN used_at > ? THEN used_at ELSE ? END, seen = ? WHERE rid = ? AND part = ?`,
		tx.Version, string(r.State), r.Content, contentHash(r.Content), tags, string(r.Importance), truth(r.Private), micro(r.UpdatedAt),
		r.SupersededBy, micro(r.ArchivedAt), micro(r.DeletedAt), micro(r.LastUsedAt), micro(r.LastUsedAt), r.Seen, r.rid, tx.Part).Error
	if err != nil {
		return err
	}
	switch {
	case was == Live && r.State != Live:
		return addLive(tx, -1)
	case was != Live && r.State == Live:
		return addLive(tx, +1)
	}
	return nil
}

func addLive(tx *store.Tx, n int) error {
	return tx.Exec("UPDATE partitions SET live = live + ? WHERE key = ?", n, tx.Part).Error
}

func liveCount(g *gorm.DB, part string) (int, error) {
	var n int
	err := g.Raw("SELECT live FROM partitions WHERE key = ?", part).Row().Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// setVector stores or replaces the packed passages of a record in a space; with an
// empty value the record waits for its vector.
func setVector(tx *store.Tx, rid, space int64, emb []byte) error {
	if len(emb) == 0 {
		if err := tx.Exec("DELETE FROM vectors WHERE rid = ? AND space = ?", rid, space).Error; err != nil {
			return err
		}
		return tx.Exec("INSERT INTO pending (rid, space) VALUES (?, ?) ON CONFLICT DO NOTHING", rid, space).Error
	}
	err := tx.Exec(`INSERT INTO vectors (rid, space, emb) VALUES (?, ?, ?)
		ON CONFLICT (rid, space) DO UPDATE SET emb = excluded.emb`, rid, space, emb).Error
	if err != nil {
		return err
	}
	return tx.Exec("DELETE FROM pending WHERE rid = ? AND space = ?", rid, space).Error
}

// contentHash identifies a content within a partition; white space does not count, so
// that a reflowed text is the same fact.
func contentHash(content string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(content), " ")))
	return sum[:16]
}

// visible reports whether the caller may see the record at all: in a group, private
// memories do not exist.
func visible(c caller.Caller, r *Memory) bool { return !c.InGroup() || !r.Private }

func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicro(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// truth is a truth value as both engines store it.
func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
