package spaces

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"reverie/embedding"
	"reverie/store"
)

// States of a space.
const (
	active   = "active"   // serves searches
	building = "building" // is being filled, to serve later
	old      = "old"      // served before; kept so that going back is quick
)

// row is a space as the store knows it.
type row struct {
	id int64
	embedding.Space
	state   string
	created time.Time
}

const columns = "id, protocol, model, base_url, dim, version, state, created_at"

func scanRow(s interface{ Scan(...any) error }) (row, error) {
	var r row
	var created int64
	err := s.Scan(&r.id, &r.Protocol, &r.Model, &r.BaseURL, &r.Dim, &r.Version, &r.state, &created)
	r.created = time.UnixMicro(created).UTC()
	return r, err
}

func readRows(g *gorm.DB) ([]row, error) {
	rows, err := g.Raw("SELECT " + columns + " FROM spaces ORDER BY id").Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// rowByID returns a space; ok is false if there is none.
func rowByID(g *gorm.DB, id int64) (r row, ok bool, err error) {
	r, err = scanRow(g.Raw("SELECT "+columns+" FROM spaces WHERE id = ?", id).Row())
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}

// Serving returns the space that serves, as the store knows it; ok is false if none does
// yet. It is for choosing an embedder before there is a [Manager].
func Serving(ctx context.Context, db *store.DB) (sp embedding.Space, ok bool, err error) {
	err = db.Read(ctx, func(g *gorm.DB) error {
		sv, err := store.ReadServing(g)
		if err != nil || sv.Space == 0 {
			return err
		}
		var r row
		r, ok, err = rowByID(g, sv.Space)
		sp = r.Space
		return err
	})
	return sp, ok, err
}

// insertRow registers a space, and returns its id.
func insertRow(g *gorm.DB, sp embedding.Space, state string) (int64, error) {
	err := g.Exec(`INSERT INTO spaces (fingerprint, protocol, model, base_url, dim, version, state, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		sp.Fingerprint(), sp.Protocol, sp.Model, sp.BaseURL, sp.Dim, sp.Version, state, time.Now().UnixMicro()).Error
	if err != nil {
		return 0, err
	}
	var id int64
	err = g.Raw("SELECT id FROM spaces WHERE fingerprint = ? AND dim = ? AND version = ?", sp.Fingerprint(), sp.Dim, sp.Version).Row().Scan(&id)
	return id, err
}

func setState(g *gorm.DB, id int64, state string) error {
	return g.Exec("UPDATE spaces SET state = ? WHERE id = ?", state, id).Error
}

// rename gives a space the identity of another whose vectors are the same.
func rename(g *gorm.DB, id int64, sp embedding.Space) error {
	return g.Exec("UPDATE spaces SET fingerprint = ?, protocol = ?, model = ?, base_url = ?, version = ? WHERE id = ?",
		sp.Fingerprint(), sp.Protocol, sp.Model, sp.BaseURL, sp.Version, id).Error
}

// readCanary returns the canary of a space, nil if it has none. One that is damaged is
// returned empty: it is equal to none, so that the way out, embedding anew, stays open.
func readCanary(g *gorm.DB, id int64) (Canary, error) {
	var b []byte
	err := g.Raw("SELECT emb FROM canaries WHERE space = ?", id).Row().Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := decodeCanary(b)
	if err != nil {
		return Canary{}, nil
	}
	return c, nil
}

func writeCanary(g *gorm.DB, id int64, c Canary) error {
	return g.Exec(`INSERT INTO canaries (space, emb, checked_at) VALUES (?, ?, ?)
		ON CONFLICT (space) DO UPDATE SET emb = excluded.emb, checked_at = excluded.checked_at`, id, c.encode(), time.Now().UnixMicro()).Error
}

// deleteRow removes a space whose vectors are gone.
func deleteRow(g *gorm.DB, id int64) error {
	for _, stmt := range []string{"DELETE FROM canaries WHERE space = ?", "DELETE FROM outbox WHERE space = ?", "DELETE FROM spaces WHERE id = ?"} {
		if err := g.Exec(stmt, id).Error; err != nil {
			return err
		}
	}
	return nil
}

// generations separate spaces of one name: version "x" is the first, "x+2" the second of
// that name and version, after the model behind it was exchanged or everything was to be
// embedded anew.
func baseVersion(version string) string {
	at := strings.LastIndexByte(version, '+')
	if at < 0 {
		return version
	}
	if _, err := strconv.ParseUint(version[at+1:], 10, 32); err != nil {
		return version // a plus of its own
	}
	return version[:at]
}

// sameName reports whether two spaces are configured alike; whether they are the same
// space is the canary's to say.
func sameName(a, b embedding.Space) bool {
	return a.Protocol == b.Protocol && a.Model == b.Model && a.BaseURL == b.BaseURL && baseVersion(a.Version) == baseVersion(b.Version)
}

// freshVersion returns a version for sp under which no space is registered yet.
func freshVersion(rows []row, sp embedding.Space) string {
	base := baseVersion(sp.Version)
	for n := 1; ; n++ {
		v := base
		if n > 1 {
			v = fmt.Sprintf("%s+%d", base, n)
		}
		taken := false
		for _, r := range rows {
			taken = taken || r.Fingerprint() == sp.Fingerprint() && r.Dim == sp.Dim && r.Version == v
		}
		if !taken {
			return v
		}
	}
}

// Label names a space for people.
func Label(sp embedding.Space) string {
	s := sp.Protocol + " " + sp.Model
	if sp.Model == "" {
		s = sp.Protocol
	}
	if sp.BaseURL != "" {
		s += " at " + sp.BaseURL
	}
	if sp.Dim > 0 {
		s += fmt.Sprintf(", %d numbers", sp.Dim)
	}
	return s
}

// differ says for people how the stored vectors and a configured embedder differ.
func differ(stored, configured embedding.Space) string {
	if stored.Protocol == configured.Protocol && stored.Model == configured.Model && stored.BaseURL == configured.BaseURL &&
		baseVersion(stored.Version) != baseVersion(configured.Version) {
		return fmt.Sprintf("the stored vectors are of %s with other prefixes or dimensions than are configured now", Label(stored))
	}
	return fmt.Sprintf("the stored vectors are of %s, the configured embedder is %s", Label(stored), Label(configured))
}

// exchanged says for people that a stored canary is not that of the model of its name.
func exchanged(stored embedding.Space, have Canary, least float64) string {
	if len(have) == 0 {
		return fmt.Sprintf("the vectors by which the model of %s is known again are damaged", Label(stored))
	}
	return fmt.Sprintf("the model behind the name of %s was exchanged (cosine of known sentences %.2f)", Label(stored), least)
}
