package store

import "fmt"

// journal writes an entry for every row that does not agree with its newest one, so
// that rows and journal back each other up again. It also keeps the numbers of lost
// entries from being given a second time.
func (b *rebuilder) journal(lastSeq int64) error {
	if _, err := b.tx.ExecContext(b.ctx, "INSERT INTO sqlite_sequence (name, seq) SELECT 'journal', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'journal')"); err != nil {
		return err
	}
	if _, err := b.tx.ExecContext(b.ctx, "UPDATE sqlite_sequence SET seq = MAX(seq, ?) WHERE name = 'journal'", lastSeq); err != nil {
		return err
	}
	const entry = `INSERT INTO journal (part, version, at, source, kind, object, action, after) `
	memories := entry + `SELECT m.part, p.version, ?, 'repair', 'memory', m.id, 'repair', json_object('id', m.id, 'partition', m.part, 'scope', m.scope,
			'content', m.content, 'tags', json(CASE WHEN json_valid(m.tags) THEN m.tags ELSE '[]' END), 'importance', m.importance,
			'private', json(CASE WHEN m.private THEN 'true' ELSE 'false' END), 'said_by', m.said_by, 'source', m.source, 'conversation', m.conversation,
			'created_at', ` + rfc3339("m.created_at") + `, 'updated_at', ` + rfc3339("m.updated_at") + `, 'event_time', ` + rfc3339("m.event_time") + `,
			'state', m.state, 'superseded_by', m.superseded_by, 'archived_at', ` + rfc3339("m.archived_at") + `, 'deleted_at', ` + rfc3339("m.deleted_at") + `,
			'last_used_at', ` + rfc3339("m.used_at") + `, 'seen', m.seen)
		FROM memories m JOIN partitions p ON p.key = m.part
		LEFT JOIN journal j ON j.seq = (SELECT MAX(n.seq) FROM journal n WHERE n.part = m.part AND n.kind = 'memory' AND n.object = m.id)
		WHERE j.after IS NULL OR NOT json_valid(j.after) OR json_extract(j.after, '$.state') IS NOT m.state OR json_extract(j.after, '$.content') IS NOT m.content`
	memos := entry + `SELECT o.part, p.version, ?, 'repair', 'memo', o.part, 'repair', json_object('content', o.content, 'version', o.version,
			'updated_at', ` + rfc3339("o.updated_at") + `, 'updated_by', o.updated_by)
		FROM memos o JOIN partitions p ON p.key = o.part
		LEFT JOIN journal j ON j.seq = (SELECT MAX(n.seq) FROM journal n WHERE n.part = o.part AND n.kind = 'memo')
		WHERE j.after IS NULL OR NOT json_valid(j.after) OR json_extract(j.after, '$.content') IS NOT o.content OR json_extract(j.after, '$.version') IS NOT o.version`
	for _, stmt := range []string{memories, memos} {
		res, err := b.tx.ExecContext(b.ctx, stmt, b.now.UnixMicro())
		if err != nil {
			return fmt.Errorf("rebuild journal: %w", err)
		}
		b.count("journal", res)
	}
	// The entry is of a version of its own, and so is the row that it describes.
	return b.run(`UPDATE memories SET rev = (SELECT version FROM partitions WHERE key = part) WHERE EXISTS (SELECT 1 FROM journal j
		WHERE j.part = memories.part AND j.kind = 'memory' AND j.object = memories.id AND j.action = 'repair' AND j.version > memories.rev)`)
}

// rfc3339 is the SQL for a column of microseconds as the journal writes times; a time
// that is not set is Go's zero time.
func rfc3339(column string) string {
	return fmt.Sprintf(`CASE %[1]s WHEN 0 THEN '0001-01-01T00:00:00Z' ELSE strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %[1]s / 1000000, 'unixepoch') || printf('.%%06dZ', %[1]s %% 1000000) END`, column)
}
