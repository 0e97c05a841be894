package store

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// applicationName is how the connections call themselves in pg_stat_activity.
	applicationName = "reverie"
	// connectTimeout bounds the making of one connection.
	connectTimeout = 5 * time.Second
	// statementTimeout is beyond the longest honest statement, which looks at every memory
	// of a large store.
	statementTimeout = 5 * time.Minute
	// idleTimeout ends a transaction in which nothing has been asked for: its process was
	// stopped or has lost its network, and the locks that it holds keep others waiting.
	idleTimeout = time.Minute
)

// parseDSN reads the address of a database. Settings that it has itself are kept. No
// error quotes it, and none of what the driver says about it, which may.
func parseDSN(dsn string, busy time.Duration) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the address of the PostgreSQL database (not shown, it may hold a password) cannot be read; it must have the form postgres://user:password@host:5432/database, special characters of the password as %XX")
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, connectTimeout)
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for name, value := range map[string]string{
		"application_name":                    applicationName,
		"statement_timeout":                   ms(statementTimeout),
		"lock_timeout":                        ms(busy),
		"idle_in_transaction_session_timeout": ms(idleTimeout),
		"jit":                                 "off", // short statements: compiling them takes longer than they do
	} {
		if _, ok := cfg.RuntimeParams[name]; !ok {
			cfg.RuntimeParams[name] = value
		}
	}
	// A peer that has vanished without a word is noticed within a minute.
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}}
	cfg.DialFunc = dialer.DialContext
	return cfg, nil
}

// place names a database for people, without its password.
func place(cfg *pgx.ConnConfig) string {
	host := cfg.Host
	if len(host) == 0 || host[0] != '/' { // else the folder of a Unix socket
		host = net.JoinHostPort(host, strconv.Itoa(int(cfg.Port)))
	}
	return fmt.Sprintf("PostgreSQL at %s (database %q, user %q)", host, cfg.Database, cfg.User)
}
