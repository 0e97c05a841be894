package transfer

import (
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/memo"
	"reverie/store"
	"reverie/vector"
)

// merge moves everything of one partition into another one, which may exist. left says
// why the memo stayed, if it did.
//
// Nobody who has read either partition may take what he holds for the present: the new
// one gets a version above both, the old one stays as an empty partition with one more
// version, and so can never count up to a number that somebody remembers.
func merge(g *gorm.DB, from string, key caller.Key, by journal.Origin) (move Move, left string, err error) {
	to := key.String()
	move = Move{From: from, To: to}
	have, err := version(g, from)
	if err != nil {
		return move, "", err
	}
	target, err := version(g, to)
	if err != nil {
		return move, "", err
	}
	move.Joined = target > 0
	tx := &store.Tx{DB: g, Part: to, Version: max(have, target) + 1, Now: time.Now().UTC().Truncate(time.Microsecond)}
	if target == 0 {
		err = g.Exec("INSERT INTO partitions (key, version) VALUES (?, ?)", to, tx.Version).Error
	} else {
		err = g.Exec("UPDATE partitions SET version = ? WHERE key = ?", tx.Version, to).Error
	}
	if err != nil {
		return move, "", err
	}
	// The history first, so that what is said of the move is the newest of it.
	if err := g.Exec("UPDATE journal SET part = ? WHERE part = ? AND kind <> ?", to, from, string(journal.KindMemo)).Error; err != nil {
		return move, "", err
	}
	m := &merger{tx: tx, from: from, scope: key.Scope(), by: by, moved: map[string]bool{}}
	if err := m.memories(); err != nil {
		return move, "", err
	}
	move.Memories, move.Known = len(m.moved), m.known
	if move.Memo, left, err = m.memo(); err != nil {
		return move, "", err
	}
	for _, k := range []string{from, to} {
		if err := g.Exec("UPDATE partitions SET live = (SELECT COUNT(*) FROM memories WHERE part = ? AND state = 'live') WHERE key = ?", k, k).Error; err != nil {
			return move, "", err
		}
	}
	return move, left, g.Exec("UPDATE partitions SET version = version + 1 WHERE key = ?", from).Error
}

// version is that of a partition, 0 if there is none.
func version(g *gorm.DB, key string) (int64, error) {
	var v int64
	err := g.Raw("SELECT version FROM partitions WHERE key = ?", key).Row().Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return v, err
}

// merger moves into the partition of tx.
type merger struct {
	tx    *store.Tx
	from  string
	scope caller.Scope
	by    journal.Origin
	moved map[string]bool
	known int
}

func (m *merger) memories() error {
	var rows []row // all of them before the first change: a statement at a time
	err := eachRow(m.tx.DB, func(r row, err error) error {
		rows = append(rows, r)
		return err
	}, m.from, "")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := m.memory(r); err != nil {
			return err
		}
	}
	return nil
}

// memory moves one. A live one whose content is live over there is superseded by that.
func (m *merger) memory(r row) error {
	next, action := r.Memory, journal.Update
	next.Partition, next.Scope = m.tx.Part, m.scope
	if r.State == vector.Live {
		twin, err := m.twin(r)
		if err != nil {
			return err
		}
		if twin != "" {
			m.known++
			next.State, next.SupersededBy, action = vector.Superseded, twin, journal.Supersede
		}
	}
	err := m.tx.Exec("UPDATE memories SET part = ?, rev = ?, scope = ?, state = ?, superseded_by = ? WHERE rid = ? AND part = ?",
		m.tx.Part, m.tx.Version, string(next.Scope), string(next.State), next.SupersededBy, r.rid, m.from).Error
	if err != nil {
		return err
	}
	m.moved[r.ID] = true
	return journal.Append(m.tx, m.by, journal.Change{Kind: journal.KindMemory, Object: r.ID, Action: action, Before: r.Memory, After: next})
}

// twin is the id of the live memory that had the content of r before, empty if there is
// none. As for any writer, asking for privacy makes what is there private, and not asking never
// takes privacy away. What moved together stays as it was.
func (m *merger) twin(r row) (string, error) {
	var same, other *row
	err := eachRow(m.tx.DB, func(t row, err error) error {
		switch {
		case err != nil:
			return err
		case m.moved[t.ID]:
		case t.Private == r.Private:
			same = &t
		default:
			other = &t
		}
		return nil
	}, m.tx.Part, "AND hash = ? AND state = 'live'", r.hash)
	switch {
	case err != nil:
		return "", err
	case same != nil:
		return same.ID, nil
	case other == nil:
		return "", nil
	case other.Private:
		return other.ID, nil
	}
	next := other.Memory
	next.Private = true
	if err := m.tx.Exec("UPDATE memories SET private = 1, rev = ? WHERE rid = ? AND part = ?", m.tx.Version, other.rid, m.tx.Part).Error; err != nil {
		return "", err
	}
	return other.ID, journal.Append(m.tx, m.by, journal.Change{Kind: journal.KindMemory, Object: other.ID, Action: journal.Repeat, Before: other.Memory, After: next})
}

// memo moves the memo, if there is one and the other partition has none of its own.
func (m *merger) memo() (moved bool, left string, err error) {
	g, to := m.tx.DB, m.tx.Part
	mine, err := readMemo(g, m.from)
	if err != nil {
		return false, "", err
	}
	theirs, err := readMemo(g, to)
	if err != nil {
		return false, "", err
	}
	if differ(mine, theirs) {
		return false, memoStays(m.from), nil
	}
	err = g.Exec("UPDATE journal SET part = ?, object = ? WHERE part = ? AND kind = ?", to, to, m.from, string(journal.KindMemo)).Error
	if err != nil || mine.Version == 0 {
		return false, "", err
	}
	if err := g.Exec("DELETE FROM memos WHERE part = ?", m.from).Error; err != nil {
		return false, "", err
	}
	if theirs.Version == 0 {
		return mine.Content != "", "", writeMemo(g, to, mine) // its own history came along
	}
	// Two histories became one, so what stands there is said again, as their newest.
	next := theirs
	if next.Content == "" {
		next = mine
	}
	next.Version = max(mine.Version, theirs.Version) + 1
	if err := writeMemo(g, to, next); err != nil {
		return false, "", err
	}
	return mine.Content != "", "", journal.Append(m.tx, m.by, journal.Change{Kind: journal.KindMemo, Object: to, Action: journal.Update, Before: theirs, After: next})
}

// differ reports whether two memos cannot become one.
func differ(a, b memo.Memo) bool {
	return a.Content != "" && b.Content != "" && a.Content != b.Content
}

func memosDiffer(g *gorm.DB, from, to string) (bool, error) {
	a, err := readMemo(g, from)
	if err != nil {
		return false, err
	}
	b, err := readMemo(g, to)
	return err == nil && differ(a, b), err
}

func memoStays(key string) string {
	return "both have a memo, and they differ: read the old one with reverie export - --partition " + key +
		"; put what is worth keeping into the new one, or clear that and run this again"
}
