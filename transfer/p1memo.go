package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/glebarez/sqlite"

	"reverie/memo"
)

// p1Memo is a row of P1's table of memos.
type p1Memo struct {
	memo.Memo
	key string // user_id
}

// maxP1Memos bounds what is read of a table that may be any.
const maxP1Memos = 1_000_000

// readMemos reads the table of memos from a copy of the bot's database. The original is
// only ever read as a file: opening it, even for reading, could make files beside it.
func (p *p1Import) readMemos(ctx context.Context) ([]p1Memo, error) {
	if p.o.MemoDB == "" {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "reverie-import-*") // mode 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "memos.db")
	if err := copyDatabase(ctx, p.o.MemoDB, path); err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
	db, err := sql.Open(sqlite.DriverName, u.String())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	table, err := memoTable(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.o.MemoDB, err)
	}
	rows, err := db.QueryContext(ctx, `SELECT CAST(user_id AS TEXT), CAST(content AS TEXT), CAST(version AS INTEGER), CAST(updated_at AS TEXT) FROM `+quoted(table)+` ORDER BY user_id LIMIT ?`, maxP1Memos)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.o.MemoDB, err)
	}
	defer rows.Close()
	var out []p1Memo
	for rows.Next() {
		var key, content, at sql.NullString
		var version sql.NullInt64
		if err := rows.Scan(&key, &content, &version, &at); err != nil {
			return nil, fmt.Errorf("%s, table %s: %w", p.o.MemoDB, table, err)
		}
		m := p1Memo{Memo: memo.Memo{Content: content.String, Version: max(version.Int64, 1), UpdatedAt: memoTime(at.String)}, key: key.String}
		if !utf8.ValidString(m.Content) {
			p.refuse(m.key, "a memo that is not text in UTF-8")
			continue
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

// copyTries is how often a database is copied that changes meanwhile.
const copyTries = 5

// copyDatabase copies a SQLite file with its log, while nothing changes in them: a bot may
// be running on it.
func copyDatabase(ctx context.Context, from, to string) error {
	if info, err := os.Stat(from); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", from)
	}
	suffixes := []string{"", "-wal", "-journal"}
	for range copyTries {
		before := stamps(from, suffixes)
		for _, suffix := range suffixes {
			if err := copyFile(from+suffix, to+suffix); err != nil && !(suffix != "" && errors.Is(err, os.ErrNotExist)) {
				return err
			}
		}
		if slices.Equal(before, stamps(from, suffixes)) {
			return nil
		}
		for _, suffix := range suffixes {
			os.Remove(to + suffix)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s changes all the time; stop the bot, or give a copy", from)
}

func stamps(path string, suffixes []string) (out []string) {
	for _, s := range suffixes {
		if info, err := os.Stat(path + s); err == nil {
			out = append(out, fmt.Sprint(s, info.Size(), info.ModTime().UnixNano()))
		}
	}
	return out
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// memoTable finds the table of memos by its columns: bots name it in different ways.
func memoTable(ctx context.Context, db *sql.DB) (string, error) {
	rows, err := db.QueryContext(ctx, `SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND 4 =
		(SELECT COUNT(*) FROM pragma_table_info(m.name) c WHERE c.name IN ('user_id', 'content', 'version', 'updated_at')) ORDER BY m.name`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var all, memos []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", err
		}
		all = append(all, name)
		if strings.Contains(strings.ToLower(name), "memo") {
			memos = append(memos, name)
		}
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	if len(memos) == 0 {
		memos = all
	}
	switch len(memos) {
	case 1:
		return memos[0], nil
	case 0:
		return "", errors.New("no table has the columns user_id, content, version, updated_at; is it the database of the bot?")
	}
	return "", fmt.Errorf("several tables may be that of the memos: %s", clip(strings.Join(memos, ", ")))
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// memoTime reads a time as the bot writes it: local, without a zone.
func memoTime(s string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t.UTC().Truncate(time.Microsecond)
		}
	}
	if t, ok := p1Time(s); ok {
		return t
	}
	return time.Now().UTC().Truncate(time.Microsecond)
}
