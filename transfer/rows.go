package transfer

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"reverie/memo"
	"reverie/vector"
)

// row is a memory with its number in the database.
type row struct {
	vector.Memory
	rid  int64
	hash []byte
	// damagedTags says that the stored tags cannot be read.
	damagedTags bool
}

const rowColumns = `rid, hash, id, part, state, scope, content, tags, importance, private, said_by, source, conversation,
	created_at, updated_at, event_time, superseded_by, archived_at, deleted_at, used_at, seen`

// eachRow calls yield with the memories of a partition that where (begins with AND, or is
// empty) selects, oldest first. A row that cannot be
// read is given as an error that does not end the reading.
func eachRow(g *gorm.DB, yield func(row, error) error, part, where string, args ...any) error {
	rows, err := g.Raw("SELECT "+rowColumns+" FROM memories WHERE part = ? "+where+" ORDER BY created_at, id", append([]any{part}, args...)...).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var tags string
		var created, updated, event, archived, deleted, used int64
		err := rows.Scan(&r.rid, &r.hash, &r.ID, &r.Partition, &r.State, &r.Scope, &r.Content, &tags, &r.Importance, &r.Private, &r.SaidBy, &r.Source,
			&r.Conversation, &created, &updated, &event, &r.SupersededBy, &archived, &deleted, &used, &r.Seen)
		if err != nil {
			err = fmt.Errorf("row %d of %s: %w", r.rid, part, err)
		}
		r.CreatedAt, r.UpdatedAt, r.EventTime = fromMicro(created), fromMicro(updated), fromMicro(event)
		r.ArchivedAt, r.DeletedAt, r.LastUsedAt = fromMicro(archived), fromMicro(deleted), fromMicro(used)
		if json.Unmarshal([]byte(tags), &r.Tags) != nil || r.Tags == nil {
			r.Tags, r.damagedTags = []string{}, true
		}
		if err := yield(r, err); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readMemo returns the memo of a partition; its version is 0 if there is none.
func readMemo(g *gorm.DB, part string) (memo.Memo, error) {
	var m memo.Memo
	rows, err := g.Raw("SELECT content, version, updated_at, updated_by FROM memos WHERE part = ?", part).Rows()
	if err != nil {
		return m, err
	}
	defer rows.Close()
	for rows.Next() {
		var at int64
		if err := rows.Scan(&m.Content, &m.Version, &at, &m.UpdatedBy); err != nil {
			return m, fmt.Errorf("memo of %s: %w", part, err)
		}
		m.UpdatedAt = fromMicro(at)
	}
	return m, rows.Err()
}

// writeMemo stores a memo over what stands there.
func writeMemo(g *gorm.DB, part string, m memo.Memo) error {
	return g.Exec(`INSERT INTO memos (part, content, version, updated_at, updated_by) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (part) DO UPDATE SET content = excluded.content, version = excluded.version,
		updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		part, m.Content, m.Version, micro(m.UpdatedAt), m.UpdatedBy).Error
}

// partitionKeys lists every partition, in the order of bytes whatever the database's own
// order is.
func partitionKeys(g *gorm.DB) ([]string, error) {
	var keys []string
	err := g.Raw("SELECT key FROM partitions").Scan(&keys).Error
	slices.Sort(keys)
	return keys, err
}

func fromMicro(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
