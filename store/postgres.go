package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-gormigrate/gormigrate/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"reverie/store/migrations"
)

const (
	// postgresWriters and postgresReaders bound the connections of one process: a server
	// takes a hundred by default, for all who use it.
	postgresWriters = 4
	postgresReaders = 8
	// postgresIdle is how long an unused connection is kept.
	postgresIdle = 5 * time.Minute
	// oldestPostgres is the oldest version that is tried: the first with materialized
	// expressions.
	oldestPostgres = 120000
)

// Advisory locks, which PostgreSQL keeps for each database.
const (
	lockChange  = 0x7265766572696531 // shared by every change, alone by an exclusive one
	lockMigrate = 0x7265766572696532 // alone, by one who brings the schema up to date
)

// postgresEngine has connections for changes and others for reading, so that a read
// inside a change never waits for it.
type postgresEngine struct {
	where string // for people
	busy  time.Duration
	w, r  *gorm.DB
	wsql  *sql.DB
	rsql  *sql.DB
	slots chan *slot // where writers of this process queue
	twice bool       // see [Options]
}

func openPostgres(ctx context.Context, _ string, o Options) (engine, error) {
	cfg, err := parseDSN(o.DSN, o.BusyTimeout)
	if err != nil {
		return nil, err
	}
	e := &postgresEngine{where: place(cfg), busy: o.BusyTimeout, slots: newSlots(postgresWriters), twice: o.RunTwice}
	if err := e.connect(ctx, cfg, o); err != nil {
		e.close()
		return nil, e.classify(err)
	}
	return e, nil
}

func (e *postgresEngine) name() string { return Postgres }

func (e *postgresEngine) connect(ctx context.Context, cfg *pgx.ConnConfig, o Options) (err error) {
	var durable []stdlib.OptionOpenDB
	if o.Synchronous == "full" {
		durable = append(durable, stdlib.OptionAfterConnect(commitForGood))
	}
	if e.w, e.wsql, err = postgresPool(cfg, postgresWriters, durable...); err != nil {
		return err
	}
	if e.r, e.rsql, err = postgresPool(cfg, postgresReaders); err != nil {
		return err
	}
	// A server that is still starting is waited for, one that is not there is not.
	if err := e.again(ctx, startsSoon, func() error { return e.look(ctx) }); err != nil {
		return err
	}
	if err := e.migrate(ctx); err != nil {
		return err
	}
	// Rows of processes that were killed; and it finds out now that nothing may be changed.
	_, err = e.wsql.ExecContext(ctx, "DELETE FROM writers WHERE at < now() - interval '1 day'")
	return err
}

// commitForGood makes a commit durable where the server's setting would answer before.
func commitForGood(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	return err
}

func postgresPool(cfg *pgx.ConnConfig, n int, opts ...stdlib.OptionOpenDB) (*gorm.DB, *sql.DB, error) {
	s := stdlib.OpenDB(*cfg, opts...)
	s.SetMaxOpenConns(n)
	s.SetMaxIdleConns(n)
	s.SetConnMaxIdleTime(postgresIdle)
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: s}), &gorm.Config{
		Logger:                 logger.Discard, // gorm's own would print to stdout, which is the protocol's
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
	})
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return g, s, nil
}

// look finds out whether the server is one that can hold a store.
func (e *postgresEngine) look(ctx context.Context) error {
	var version int
	var standby bool
	var encoding string
	err := e.wsql.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('server_encoding')").
		Scan(&version, &standby, &encoding)
	switch {
	case err != nil:
		return err
	case version < oldestPostgres:
		return fmt.Errorf("%s has version %d.%d; version %d or newer is needed", e.where, version/10000, version%10000, oldestPostgres/10000)
	case standby:
		return fmt.Errorf("%w: %s is a standby, which takes no changes; give the address of the primary server", ErrReadOnly, e.where)
	case encoding != "UTF8":
		return fmt.Errorf("%s has the encoding %s; create a database with: CREATE DATABASE reverie ENCODING 'UTF8' TEMPLATE template0", e.where, encoding)
	}
	return nil
}

// migrate brings the schema up to date. Of several servers that start at once, one does
// it and the others then find nothing to do.
func (e *postgresEngine) migrate(ctx context.Context) error {
	behind, err := e.behind(ctx, e.w)
	if err != nil || !behind {
		return err
	}
	return e.w.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", int64(lockMigrate)).Error; err != nil {
			return err
		}
		if behind, err := e.behind(ctx, tx); err != nil || !behind {
			return err
		}
		// The long statement of a step may take what it takes.
		if err := tx.Exec("SET LOCAL statement_timeout = 0").Error; err != nil {
			return err
		}
		g := gormigrate.New(tx, &gormigrate.Options{TableName: "migrations", IDColumnName: "id", IDColumnSize: 64}, migrations.Postgres())
		if err := g.Migrate(); err != nil {
			return fmt.Errorf("migrate: %w", e.foreign(err))
		}
		return nil
	})
}

// behind reports whether there are steps that the database has not made. It returns
// [ErrNewer] if it has made more than this program knows of.
func (e *postgresEngine) behind(ctx context.Context, g *gorm.DB) (bool, error) {
	g = g.WithContext(ctx)
	var there bool
	if err := g.Raw("SELECT to_regclass('migrations') IS NOT NULL").Row().Scan(&there); err != nil || !there {
		return true, err
	}
	var have []string
	if err := g.Raw("SELECT id FROM migrations ORDER BY id").Scan(&have).Error; err != nil {
		return false, e.foreign(err)
	}
	know := migrations.Names()
	for i, id := range have {
		if i < len(know) && id != know[i] {
			return false, fmt.Errorf("%s holds the tables of another program (a migration %q); give Reverie a database of its own", e.where, id)
		}
	}
	if len(have) > len(know) {
		return false, fmt.Errorf("%w: %s has schema %d and this program knows up to %d; install the newer reverie", ErrNewer, e.where, len(have), len(know))
	}
	return len(have) < len(know), nil
}

// foreign says of errors that come from tables of another program what to do about them.
func (e *postgresEngine) foreign(err error) error {
	switch sqlstate(err) {
	case "22P02", "42P07", "42703", "42883", "42723": // there already; no such column, function; function there already
		return fmt.Errorf("%s holds the tables of another program; give Reverie a database of its own (%w)", e.where, err)
	}
	return err
}

// slot is the right to one of the connections for changes. Its row in the table writers
// tells what became of its last change.
type slot struct {
	id     int64
	change int64 // counts the changes that were tried
	lost   *lost // a transaction whose connection broke and that may still be there
}

func newSlots(n int) chan *slot {
	slots := make(chan *slot, n)
	for range n {
		var b [8]byte
		rand.Read(b[:])
		slots <- &slot{id: int64(binary.LittleEndian.Uint64(b[:]) >> 1)}
	}
	return slots
}

func (e *postgresEngine) close() error {
	var errs []error
	if e.wsql != nil {
		e.forget()
		errs = append(errs, e.wsql.Close())
	}
	if e.rsql != nil {
		errs = append(errs, e.rsql.Close())
	}
	return errors.Join(errs...)
}

// forget deletes the rows of this process from the table writers, if that is possible
// without a wait: the next Open of a day later would do it.
func (e *postgresEngine) forget() {
	var ids []string
	for {
		select {
		case s := <-e.slots:
			if s.change > 0 && s.lost == nil {
				ids = append(ids, fmt.Sprint(s.id))
			}
			continue
		default:
		}
		break
	}
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = e.wsql.ExecContext(ctx, "DELETE FROM writers WHERE id IN ("+strings.Join(ids, ", ")+")")
}
