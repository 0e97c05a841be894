package vector

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
)

// Get returns one memory in any state.
func (s *Service) Get(ctx context.Context, c caller.Caller, scope caller.Scope, id string) (Memory, error) {
	_, part, err := s.open(c, scope)
	if err != nil {
		return Memory{}, err
	}
	if err := checkID(id); err != nil {
		return Memory{}, err
	}
	var r record
	err = s.db.Read(ctx, func(g *gorm.DB) error {
		if r, err = s.find(g, c, part, id, ""); err != nil {
			return err
		}
		r.SupersededBy, err = s.successor(g, c, &r.Memory)
		return err
	})
	if err != nil {
		return Memory{}, fmt.Errorf("get memory: %w", err)
	}
	return r.Memory, nil
}

// successor is the id of the memory that replaced m, empty if the caller may not know of
// it: in a group, a private one does not exist.
func (s *Service) successor(g *gorm.DB, c caller.Caller, m *Memory) (string, error) {
	if m.SupersededBy == "" || !c.InGroup() {
		return m.SupersededBy, nil
	}
	_, err := s.find(g, c, m.Partition, m.SupersededBy, "")
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return m.SupersededBy, err
}

// History returns the changes of one memory, newest first, at most 100.
func (s *Service) History(ctx context.Context, c caller.Caller, scope caller.Scope, id string) ([]journal.Entry, error) {
	m, err := s.Get(ctx, c, scope, id)
	if err != nil {
		return nil, err
	}
	entries, err := journal.History(ctx, s.db, m.Partition, journal.KindMemory, id, 0)
	if err != nil || !c.InGroup() {
		return entries, err
	}
	for i := range entries {
		for _, state := range []*json.RawMessage{&entries[i].Before, &entries[i].After} {
			if *state, err = s.withoutHidden(ctx, c, *state); err != nil {
				return nil, fmt.Errorf("history of memory %s: %w", id, err)
			}
		}
	}
	return entries, nil
}

// withoutHidden takes the successor out of a recorded state if the caller may not know
// of it.
func (s *Service) withoutHidden(ctx context.Context, c caller.Caller, state json.RawMessage) (json.RawMessage, error) {
	var m Memory
	if len(state) == 0 || json.Unmarshal(state, &m) != nil || m.SupersededBy == "" {
		return state, nil
	}
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		var err error
		m.SupersededBy, err = s.successor(g, c, &m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// List returns a page of the memories of a scope, newest first. A page after a change
// neither repeats nor skips what stood there when the first page was made.
func (s *Service) List(ctx context.Context, c caller.Caller, q ListQuery) (Page, error) {
	_, part, err := s.open(c, q.Scope)
	if err != nil {
		return Page{}, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	if q.Limit < 1 || q.Limit > MaxListLimit {
		return Page{}, fmt.Errorf("%w: limit %d; allowed: 1 to %d", ErrInvalid, q.Limit, MaxListLimit)
	}
	if q.State == "" {
		q.State = Live
	}
	if !slices.Contains([]State{Live, Archived, Superseded, Deleted}, q.State) {
		return Page{}, fmt.Errorf("%w: state %q; allowed: live, archived, superseded, deleted", ErrInvalid, q.State)
	}
	imp, err := ParseImportance(string(q.Importance))
	if err != nil {
		return Page{}, err
	}
	tags, err := s.checkTags(q.Tags)
	if err != nil {
		return Page{}, err
	}
	after, err := parseCursor(q.Cursor)
	if err != nil {
		return Page{}, err
	}
	if err := s.sweep(ctx, part); err != nil {
		return Page{}, err
	}
	where := "m.part = ? AND m.state = ? AND (? = '' OR m.importance = ?) AND (m.private = 0 OR ?)"
	args := []any{part, string(q.State), string(imp), string(imp), !c.InGroup()}
	for _, t := range tags { // one row with damaged tags must not hide the others
		where += " AND EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(m.tags) THEN m.tags ELSE '[]' END) t WHERE t.value = ?)"
		args = append(args, t)
	}
	var page Page
	err = s.db.Read(ctx, func(g *gorm.DB) error {
		page = Page{}
		if err := g.Raw("SELECT COUNT(*) FROM memories m WHERE "+where, args...).Row().Scan(&page.Total); err != nil {
			return err
		}
		rs, err := query(g, "WHERE "+where+" AND (m.created_at, m.rid) < (?, ?) ORDER BY m.created_at DESC, m.rid DESC LIMIT ?",
			append(args, after.created, after.rid, q.Limit+1)...)
		if err != nil {
			return err
		}
		if len(rs) > q.Limit {
			rs = rs[:q.Limit]
			last := rs[len(rs)-1]
			page.Next = cursor{micro(last.CreatedAt), last.rid}.String()
		}
		for _, r := range rs {
			page.Items = append(page.Items, r.Memory)
		}
		return nil
	})
	if err != nil {
		return Page{}, fmt.Errorf("list memories: %w", err)
	}
	return page, nil
}

// cursor is the place of the last memory of a page in the order of a list.
type cursor struct{ created, rid int64 }

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.created, 36) + "." + strconv.FormatInt(c.rid, 36)))
}

func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{1<<63 - 1, 1<<63 - 1}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	created, rid, ok := strings.Cut(string(b), ".")
	c := cursor{}
	if err == nil && ok {
		if c.created, err = strconv.ParseInt(created, 36, 64); err == nil {
			c.rid, err = strconv.ParseInt(rid, 36, 64)
		}
	}
	if err != nil || !ok {
		return c, fmt.Errorf("%w: cursor %q is not one that a list returned; leave it out to begin at the newest", ErrInvalid, cutRunes(s, 40))
	}
	return c, nil
}
