package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
)

// rowsAtOnce is how many rows are stored in one transaction of the new database.
const rowsAtOnce = 20_000

// Salvage repairs the database at path: it reads every row that can still be read, page
// by page and whether or not SQLite can, into a new database; makes anew from the
// journal the memories and memos whose rows are lost, and from the rows the journal
// entries that are; corrects counts and versions; marks vectors that are lost as
// pending; and puts the new database in the place of the old one in one step. The
// damaged files are kept beside it as NAME.damaged-TIME.
//
// It is for SQLite alone: a damaged PostgreSQL database is restored from a backup. If
// nothing is damaged it changes nothing, and the report says so. It needs the home
// for itself: while anyone has the database open it fails with [ErrBusy]. Whatever
// error it returns, the database is as it was. It needs room for two more copies.
func Salvage(ctx context.Context, path string) (Report, error) {
	if _, err := os.Stat(path); err != nil {
		return Report{}, fmt.Errorf("repair database: %w", cmp.Or(orphanLog(path), err))
	}
	lock, err := exclusive(path)
	if err != nil {
		return Report{}, fmt.Errorf("repair database: %w", err)
	}
	defer lock.release()
	if err := finishRepair(path); err != nil {
		return Report{}, fmt.Errorf("repair database: %w", err)
	}
	r, err := check(ctx, path)
	if err != nil {
		return r, fmt.Errorf("repair database: %w", err)
	}
	if len(r.Problems) == 0 {
		return r, nil
	}
	s := &salvage{path: path, part: path + ".repairing", report: &r, rows: map[string]int{}}
	defer s.cleanUp()
	if err := s.run(ctx); err != nil {
		if err = classifySQLite(path, err); errors.Is(err, ErrFull) {
			err = fmt.Errorf("%w; a repair needs room for two more copies of the database, and nothing was changed", err)
		}
		return r, fmt.Errorf("repair database: %w", err)
	}
	r.Changed = true
	return r, nil
}

// salvage is one repair.
type salvage struct {
	path, part string // the damaged database, and the new one while it is being made
	report     *Report
	conn       *sql.Conn // to the new database
	tables     []table
	rows       map[string]int // taken over, by table
	pending    int            // rows since the last commit
	doubtful   [][]any        // rows of memories whose content does not fit its hash
	mended     [][]any        // rows of memories of which something else cannot be read
	lastSeq    int64          // the greatest number of a journal entry that ever was
	secret     bool           // the index of meta says that there was one
}

func (s *salvage) run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	db, err := sql.Open(sqlite.DriverName, sqliteDSN(s.part, []string{"journal_mode(MEMORY)", "synchronous(OFF)", "temp_store(MEMORY)"}, "immediate"))
	if err != nil {
		return err
	}
	defer db.Close()
	if s.conn, err = db.Conn(ctx); err != nil {
		return err
	}
	defer s.conn.Close()
	if s.tables, err = readTables(ctx, s.conn); err != nil {
		return err
	}
	if err := s.readAll(ctx); err != nil {
		return err
	}
	if err := s.rebuild(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	if err := errors.Join(s.conn.Close(), db.Close()); err != nil {
		return err
	}
	// The repair is held to the same measure as the damage.
	after, err := check(ctx, s.part)
	if err != nil {
		return err
	}
	if len(after.Problems) > 0 {
		return fmt.Errorf("%w: the repaired database still has problems (%s); nothing was changed; put a copy of the home folder back", ErrDamaged, strings.Join(after.Problems, "; "))
	}
	if err := s.keepDamaged(); err != nil {
		return err
	}
	if err := syncFile(s.part); err != nil {
		return err
	}
	if err := os.Rename(s.part, repairedPath(s.path)); err != nil {
		return err
	}
	return finishRepair(s.path)
}

// begin makes the new database, empty.
func (s *salvage) begin(ctx context.Context) error {
	s.cleanUp() // what an interrupted repair left
	f, err := os.OpenFile(s.part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return readOnly(s.part, err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	d, err := openLocked(ctx, s.part, Options{Synchronous: "normal"})
	if err != nil {
		return err
	}
	return d.Close()
}

func (s *salvage) cleanUp() {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(s.part + suffix)
	}
}

// keepDamaged copies the damaged files, so that the database stays in its place until
// the new one takes it.
func (s *salvage) keepDamaged() error {
	stamp := ".damaged-" + time.Now().UTC().Format("20060102T150405.000Z")
	for _, suffix := range []string{"", "-wal"} {
		to := s.path + stamp + suffix
		err := copyAside(s.path+suffix, to)
		if errors.Is(err, fs.ErrNotExist) && suffix != "" {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep the damaged database: %w", err)
		}
		s.report.Aside = append(s.report.Aside, to)
	}
	return nil
}

// readAll takes over every row that can be read.
func (s *salvage) readAll(ctx context.Context) error {
	p, err := openPages(s.path)
	if err != nil {
		return err
	}
	defer p.Close()
	// Without the rule that a content is live once, which rows of the past may break;
	// rebuild sees to it afterwards.
	for _, stmt := range []string{
		"DROP INDEX memories_content",
		"CREATE TEMP TABLE known (id TEXT PRIMARY KEY) WITHOUT ROWID",
		"BEGIN",
	} {
		if _, err := s.conn.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	for n := uint32(1); n <= p.pages; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.unused[n] {
			continue
		}
		_, err := p.records(n, func(leaf byte, rowid int64, values []any) error { return s.take(ctx, leaf, rowid, values) })
		if err != nil {
			return err
		}
	}
	if err := s.commit(ctx); err != nil {
		return err
	}
	total := len(s.doubtful)
	for _, n := range s.rows {
		total += n
	}
	if total == 0 {
		return fmt.Errorf("%w: nothing in %s can be read as a Reverie database; nothing was changed; put a copy of the home folder back, or move the file away to begin anew", ErrDamaged, s.path)
	}
	return nil
}

// take stores one record, if it is a row of a table, in the new database.
func (s *salvage) take(ctx context.Context, leaf byte, rowid int64, values []any) error {
	if leaf == indexLeaf {
		// The index by id tells which memories there were.
		if len(values) != 2 {
			return nil
		}
		name, _ := values[0].(string)
		if isID(name) {
			return s.exec(ctx, "INSERT INTO known (id) VALUES (?) ON CONFLICT DO NOTHING", name)
		}
		s.secret = s.secret || name == "secret"
		return nil
	}
	if len(values) == 2 && values[0] == "journal" { // of sqlite_sequence
		if n, ok := values[1].(int64); ok {
			s.lastSeq = max(s.lastSeq, n)
		}
		return nil
	}
	for i := range s.tables {
		t := &s.tables[i]
		if t.name == "memories" && len(values) == len(t.cols) && !(t.fits(values) && readable(t, values)) {
			// The journal has it whole, or else what is left of it is better than nothing.
			if args := t.row(rowid, values); mend(t, args, time.Now()) {
				s.mended = append(s.mended, args)
			}
			return nil
		}
		if !t.fits(values) {
			continue
		}
		args := t.row(rowid, values)
		if t.name == "memories" {
			content, _ := t.at(args, "content").(string)
			hash, _ := t.at(args, "hash").([]byte)
			if id, _ := t.at(args, "id").(string); !isID(id) {
				return nil
			}
			if !bytes.Equal(hash, contentHash(content)) {
				s.doubtful = append(s.doubtful, args)
				return nil
			}
		}
		return s.put(ctx, t, args)
	}
	return nil
}

func (s *salvage) put(ctx context.Context, t *table, args []any) error {
	err := s.exec(ctx, t.put, args...)
	if code(err) == codeConstraint {
		return nil // contradicts a row that is there already
	}
	if err == nil {
		s.rows[t.name]++
	}
	return err
}

func (s *salvage) exec(ctx context.Context, query string, args ...any) error {
	if s.pending++; s.pending >= rowsAtOnce {
		s.pending = 0
		if err := s.commit(ctx); err != nil {
			return err
		}
		if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
			return err
		}
	}
	_, err := s.conn.ExecContext(ctx, query, args...)
	return err
}

func (s *salvage) commit(ctx context.Context) error {
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	return err
}

// contentHash is the hash that package vector stores with a content.
func contentHash(content string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(content), " ")))
	return sum[:16]
}

func isID(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 32
}
