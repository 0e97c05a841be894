package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// memoryState is a memory as the journal keeps it: the JSON of package vector's Memory.
type memoryState struct {
	ID           string    `json:"id"`
	Partition    string    `json:"partition"`
	Scope        string    `json:"scope"`
	Content      string    `json:"content"`
	Tags         []string  `json:"tags"`
	Importance   string    `json:"importance"`
	Private      bool      `json:"private,omitempty"`
	SaidBy       string    `json:"said_by,omitempty"`
	Source       string    `json:"source"`
	Conversation string    `json:"conversation,omitempty"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
	EventTime    time.Time `json:"event_time,omitzero"`
	State        string    `json:"state"`
	SupersededBy string    `json:"superseded_by,omitempty"`
	ArchivedAt   time.Time `json:"archived_at,omitzero"`
	DeletedAt    time.Time `json:"deleted_at,omitzero"`
	LastUsedAt   time.Time `json:"last_used_at,omitzero"`
	Seen         int       `json:"seen"`
}

// memoState is a memo as the journal keeps it: the JSON of package memo's Memo.
type memoState struct {
	Content   string    `json:"content"`
	Version   int64     `json:"version"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	UpdatedBy string    `json:"updated_by,omitempty"`
}

// rebuild makes the new database whole: rows from the journal, the journal from rows,
// and everything that is counted or derived.
func (s *salvage) rebuild(ctx context.Context) error {
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	b := &rebuilder{ctx: ctx, tx: tx, now: time.Now().UTC(), made: map[string]int{}}
	steps := []func() error{
		// First, lest a memory made anew gets the number, and so the vector, of a lost one.
		func() error { return b.run("DELETE FROM vectors WHERE rid NOT IN (SELECT rid FROM memories)") },
		func() error { return b.memories() },
		func() error { return b.mended(s) },
		func() error { return b.doubtful(s) },
		func() error { return b.memos() },
		func() error { return b.run(derived...) },
		func() error { return b.lost(s) },
		func() error { return b.journal(s.lastSeq) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.report.Read = s.rows
	s.report.Rebuilt = b.made
	return nil
}

// derived are the statements that bring in line what follows from the rows.
var derived = []string{
	// A content is live once in a partition, and once in private; the newest of several stays live.
	`CREATE INDEX memories_twins ON memories (part, hash, private)`,
	`UPDATE memories SET state = 'superseded', superseded_by = (SELECT n.id FROM memories n WHERE n.part = memories.part AND n.hash = memories.hash AND n.private = memories.private AND n.state = 'live' ORDER BY n.rev DESC, n.rid DESC LIMIT 1)
		WHERE state = 'live' AND EXISTS (SELECT 1 FROM memories n WHERE n.part = memories.part AND n.hash = memories.hash AND n.private = memories.private AND n.state = 'live' AND (n.rev, n.rid) > (memories.rev, memories.rid))`,
	`DROP INDEX memories_twins`,
	`CREATE UNIQUE INDEX memories_content ON memories (part, hash, private) WHERE state = 'live'`,
	`DELETE FROM vectors WHERE emb = x'' OR rid NOT IN (SELECT rid FROM memories) OR space NOT IN (SELECT id FROM spaces)`,
	`DELETE FROM canaries WHERE space NOT IN (SELECT id FROM spaces)`,
	// What is held of it elsewhere is sent again, and whoever held a lease is gone.
	`DELETE FROM outbox`,
	`DELETE FROM leases`,
	// If it is lost which space served, it was the one with the most vectors.
	`UPDATE serving SET space = COALESCE((SELECT v.space FROM vectors v GROUP BY v.space ORDER BY COUNT(*) DESC, v.space DESC LIMIT 1), 0)
		WHERE space NOT IN (SELECT id FROM spaces)`,
	`UPDATE serving SET generation = generation + 1`,
	`DELETE FROM pending`,
	`INSERT INTO pending (rid, space) SELECT m.rid, s.space FROM memories m, serving s WHERE m.state = 'live' AND s.space <> 0
		AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = m.rid AND v.space = s.space)`,
	`INSERT INTO partitions (key, version) SELECT part, 0 FROM (SELECT part FROM memories UNION SELECT part FROM memos UNION SELECT part FROM journal) WHERE true ON CONFLICT DO NOTHING`,
	// Above everything that was ever seen, and one more for the repair itself.
	`UPDATE partitions SET live = (SELECT COUNT(*) FROM memories m WHERE m.part = partitions.key AND m.state = 'live'),
		version = 1 + MAX(version, COALESCE((SELECT MAX(m.rev) FROM memories m WHERE m.part = partitions.key), 0),
			COALESCE((SELECT MAX(j.version) FROM journal j WHERE j.part = partitions.key), 0))`,
}

type rebuilder struct {
	ctx  context.Context
	tx   *sql.Tx
	now  time.Time
	made map[string]int
}

func (b *rebuilder) count(table string, res sql.Result) {
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		b.made[table] += int(n)
	}
}

func (b *rebuilder) run(statements ...string) error {
	for _, stmt := range statements {
		if _, err := b.tx.ExecContext(b.ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// stale is an object whose row is missing or older than the journal.
type stale struct{ part, object string }

func (b *rebuilder) stale(query string) ([]stale, error) {
	rows, err := b.tx.QueryContext(b.ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []stale
	for rows.Next() {
		var o stale
		if err := rows.Scan(&o.part, &o.object); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// newest finds the newest state of an object in the journal that accept takes.
func (b *rebuilder) newest(o stale, kind string, accept func(state []byte, version int64) bool) (bool, error) {
	rows, err := b.tx.QueryContext(b.ctx, `SELECT after, version FROM journal WHERE part = ? AND kind = ? AND object = ? AND after IS NOT NULL ORDER BY seq DESC`, o.part, kind, o.object)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var after []byte
		var version int64
		if err := rows.Scan(&after, &version); err != nil {
			return false, err
		}
		if accept(after, version) {
			return true, nil
		}
	}
	return false, rows.Err()
}

// memories makes anew the memories whose rows are missing, or older than the journal.
func (b *rebuilder) memories() error {
	missing, err := b.stale(`SELECT j.part, j.object FROM (SELECT part, object, MAX(version) AS version FROM journal WHERE kind = 'memory' GROUP BY part, object) j
		LEFT JOIN memories m ON m.id = j.object WHERE m.rid IS NULL OR m.part = j.part AND m.rev < j.version`)
	if err != nil {
		return err
	}
	for _, o := range missing {
		var m memoryState
		var rev int64
		found, err := b.newest(o, "memory", func(state []byte, version int64) bool {
			m, rev = memoryState{}, version
			return json.Unmarshal(state, &m) == nil && m.ID == o.object && isID(m.ID) && m.Content != "" && m.State != ""
		})
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := b.memory(o.part, rev, m); err != nil {
			return fmt.Errorf("rebuild memory %s: %w", m.ID, err)
		}
		b.made["memories"] += 1
	}
	return nil
}

// memory stores a memory from the journal. Its vector may be of another content and is
// made anew.
func (b *rebuilder) memory(part string, rev int64, m memoryState) error {
	if m.Tags == nil {
		m.Tags = []string{}
	}
	tags, err := json.Marshal(m.Tags)
	if err != nil {
		return err
	}
	// Two plain statements: SQLite makes a savepoint for an upsert or RETURNING, which
	// here costs twenty times the change itself.
	var rid int64
	err = b.tx.QueryRowContext(b.ctx, "SELECT rid FROM memories WHERE id = ?", m.ID).Scan(&rid)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = b.tx.ExecContext(b.ctx, `INSERT INTO memories (id, part, rev, state, scope, content, hash, tags, importance, private, said_by, source, conversation,
				created_at, updated_at, event_time, superseded_by, archived_at, deleted_at, used_at, seen)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			m.ID, part, rev, m.State, m.Scope, m.Content, contentHash(m.Content), string(tags), m.Importance, m.Private, m.SaidBy, m.Source, m.Conversation,
			micro(m.CreatedAt), micro(m.UpdatedAt), micro(m.EventTime), m.SupersededBy, micro(m.ArchivedAt), micro(m.DeletedAt), micro(m.LastUsedAt), max(m.Seen, 1))
		return err
	}
	if err != nil {
		return err
	}
	_, err = b.tx.ExecContext(b.ctx, `UPDATE memories SET rev = ?, state = ?, content = ?, hash = ?, tags = ?, importance = ?, private = ?, updated_at = ?,
		superseded_by = ?, archived_at = ?, deleted_at = ?, used_at = MAX(used_at, ?), seen = ? WHERE rid = ?`,
		rev, m.State, m.Content, contentHash(m.Content), string(tags), m.Importance, m.Private, micro(m.UpdatedAt),
		m.SupersededBy, micro(m.ArchivedAt), micro(m.DeletedAt), micro(m.LastUsedAt), max(m.Seen, 1), rid)
	if err != nil {
		return err
	}
	_, err = b.tx.ExecContext(b.ctx, "DELETE FROM vectors WHERE rid = ?", rid)
	return err
}

// doubtful takes, of the rows whose content does not fit its hash, those that the
// journal does not have either: most of a text is better than none of it.
func (b *rebuilder) doubtful(s *salvage) error {
	for _, t := range s.tables {
		if t.name != "memories" {
			continue
		}
		for _, args := range s.doubtful {
			for i, c := range t.cols {
				if c.name == "hash" {
					args[i] = contentHash(t.at(args, "content").(string))
				}
			}
			res, err := b.tx.ExecContext(b.ctx, strings.Replace(t.put, "WHERE excluded.rev > memories.rev", "WHERE false", 1), args...)
			if err != nil && code(err) != codeConstraint {
				return err
			}
			if err != nil {
				continue
			}
			if n, err := res.RowsAffected(); err == nil && n > 0 {
				s.report.Lost = append(s.report.Lost, fmt.Sprintf("part of the text of memory %s may be wrong", t.at(args, "id")))
			}
		}
	}
	return nil
}

// mended takes, of the rows that had to be mended, those that the journal does not have.
func (b *rebuilder) mended(s *salvage) error {
	for _, t := range s.tables {
		if t.name != "memories" {
			continue
		}
		for _, args := range s.mended {
			res, err := b.tx.ExecContext(b.ctx, strings.Replace(t.put, "WHERE excluded.rev > memories.rev", "WHERE false", 1), args...)
			if code(err) == codeConstraint {
				continue
			}
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err == nil && n > 0 {
				s.report.Lost = append(s.report.Lost, fmt.Sprintf("tags, times or other particulars of memory %s: those that could not be read are the usual ones now", t.at(args, "id")))
			}
		}
	}
	return nil
}

// memos makes anew the memos whose rows are missing, or older than the journal.
func (b *rebuilder) memos() error {
	all, err := b.stale("SELECT DISTINCT part, object FROM journal WHERE kind = 'memo'")
	if err != nil {
		return err
	}
	for _, o := range all {
		var m memoState
		found, err := b.newest(o, "memo", func(state []byte, _ int64) bool {
			m = memoState{}
			return json.Unmarshal(state, &m) == nil && m.Version > 0
		})
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		res, err := b.tx.ExecContext(b.ctx, `INSERT INTO memos (part, content, version, updated_at, updated_by) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (part) DO UPDATE SET content = excluded.content, version = excluded.version, updated_at = excluded.updated_at,
			updated_by = excluded.updated_by WHERE excluded.version > memos.version`,
			o.part, m.Content, m.Version, micro(m.UpdatedAt), m.UpdatedBy)
		if err != nil {
			return err
		}
		b.count("memos", res)
	}
	return nil
}

// lost counts what could not be had back.
func (b *rebuilder) lost(s *salvage) error {
	ids, err := b.stale("SELECT '', k.id FROM known k WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = k.id) ORDER BY k.id")
	if err != nil {
		return err
	}
	if n := len(ids); n > 0 {
		const show = 20
		var names []string
		for _, o := range ids[:min(n, show)] {
			names = append(names, o.object)
		}
		more := ""
		if n > show {
			more = ", ..."
		}
		s.report.Lost = append(s.report.Lost, fmt.Sprintf("%d memories, both the row and the journal: %s%s", n, strings.Join(names, ", "), more))
	}
	var entries, last int64
	err = b.tx.QueryRowContext(b.ctx, "SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM journal").Scan(&entries, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if n := max(last, s.lastSeq) - entries; n > 0 {
		s.report.Lost = append(s.report.Lost, fmt.Sprintf("%d journal entries", n))
	}
	if s.secret && s.rows["meta"] == 0 {
		s.report.Lost = append(s.report.Lost, "the secret of this store; a new one is made on first use")
	}
	return nil
}

func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
