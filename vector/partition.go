package vector

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"gorm.io/gorm"

	"reverie/embedding/spaces"
	"reverie/store"
	"reverie/vector/index"
)

// partitions is the cache of loaded partitions, bounded by bytes: the least recently
// used go first. The one just used always stays, however large.
type partitions struct {
	budget int64

	mu    sync.Mutex
	lru   *simplelru.LRU[string, *partition]
	bytes int64
}

// partition is one loaded partition. Its lock makes bringing it up to date one step for
// searches.
type partition struct {
	serving store.Serving // the space of its vectors, and the generation of its rows

	mu      sync.RWMutex
	version int64 // of the partition, up to which the index holds everything; -1 before the first load
	index   *index.Partition
	warned  bool  // that vectors are damaged
	bytes   int64 // as counted in the cache; under partitions.mu
}

func newPartitions(budget int64) *partitions {
	l, err := simplelru.NewLRU[string, *partition](1<<30, nil)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return &partitions{budget: budget, lru: l}
}

// get returns the entry of key for what serves, an empty one if it is not loaded.
func (c *partitions) get(key string, serving store.Serving, fresh func() *index.Partition) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.lru.Get(key); ok {
		if p.serving == serving {
			return p
		}
		c.bytes -= p.bytes // of another space or generation
	}
	p := &partition{serving: serving, version: -1, index: fresh()}
	c.lru.Add(key, p)
	return p
}

// account notes the size of p after a load and makes room.
func (c *partitions) account(key string, p *partition, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.lru.Peek(key); !ok || held != p {
		return // thrown out meanwhile; the last user's reference is the last
	}
	c.bytes += bytes - p.bytes
	p.bytes = bytes
	for c.bytes > c.budget && c.lru.Len() > 1 {
		_, old, _ := c.lru.RemoveOldest()
		c.bytes -= old.bytes
	}
}

// drop forgets a partition, so that its next use loads it anew.
func (c *partitions) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.lru.Peek(key); ok {
		c.bytes -= p.bytes
		c.lru.Remove(key)
	}
}

// errSwitched says that another space serves than was asked for.
var errSwitched = errors.New("another embedding space serves now")

// switchesSeen bounds how often a call begins again because the space was switched; once
// is rare, and every switch takes a whole re-embedding.
const switchesSeen = 5

// inOneSpace runs fn with who embeds for the space that serves, again if fn finds that it
// serves no longer.
func (s *Service) inOneSpace(ctx context.Context, part string, fn func(*spaces.Current) error) error {
	for try := 1; ; try++ {
		cur, err := s.serving(ctx, part)
		if err != nil {
			return err
		}
		if err := fn(cur); !errors.Is(err, errSwitched) || try == switchesSeen {
			return err
		}
	}
}

// partition returns the partition with everything that was committed when it was
// called, by this process or another, and vectors of the space cur; or errSwitched.
func (s *Service) partition(ctx context.Context, part string, cur *spaces.Current) (*partition, error) {
	mark, err := s.db.Mark(ctx, part)
	if err != nil {
		return nil, err
	}
	if mark.Serving != cur.Serving {
		return nil, errSwitched
	}
	v := mark.Version
	p := s.parts.get(part, mark.Serving, func() *index.Partition {
		ix := index.New(s.words)
		if cur.Unrelated != 0 {
			ix.Calibrate(cur.Unrelated)
		}
		return ix
	})
	p.mu.RLock()
	current := p.version >= v
	p.mu.RUnlock()
	if current {
		return p, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version >= v {
		return p, nil // another call brought it up to date while this one waited
	}
	if err := s.refresh(ctx, part, p); err != nil {
		s.parts.drop(part) // half a refresh must not be taken for a whole one
		return nil, err
	}
	s.parts.account(part, p, p.index.Bytes())
	return p, nil
}

// refresh fetches the rows changed since p.version in one snapshot. Called with p.mu held.
func (s *Service) refresh(ctx context.Context, part string, p *partition) error {
	err := s.load(ctx, part, p, nil)
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	// Vectors are derived: where they cannot be read, the memories are found by words.
	vectors, verr := s.oneByOne(ctx, part, p.serving.Space, p.version)
	if verr != nil {
		return verr
	}
	if lerr := s.load(ctx, part, p, vectors); lerr != nil {
		return lerr
	}
	if !p.warned {
		p.warned = true
		s.log.Warn("damaged vectors are left out of the index: memories without them are found by their words only", "part", part, "error", err)
	}
	return nil
}

// load is refresh with the vectors given, or, if that is nil, with all of them in one
// joined read.
func (s *Service) load(ctx context.Context, part string, p *partition, vectors map[int64][]byte) error {
	return s.db.Read(ctx, func(g *gorm.DB) error {
		sv, err := store.ReadServing(g)
		if err != nil {
			return err
		}
		if sv != p.serving {
			return errSwitched
		}
		var v int64
		err = g.Raw("SELECT version FROM partitions WHERE key = ?", part).Row().Scan(&v)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		where := "m.part = ? AND m.rev > ?"
		if p.version < 0 {
			where += " AND m.state = 'live'" // the first load has nothing to take out
		}
		emb, from, args := "v.emb", "memories m LEFT JOIN vectors v ON v.rid = m.rid AND v.space = ?", []any{sv.Space, part, p.version}
		if vectors != nil {
			emb, from, args = "NULL", "memories m", args[1:]
		}
		rows, err := g.Raw(`SELECT m.rid, m.state, m.content, m.tags, m.importance, m.private, m.said_by, m.conversation, m.created_at, m.event_time, `+emb+`
			FROM `+from+` WHERE `+where, args...).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := s.take(rows, p.index, vectors); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		p.version = v
		return nil
	})
}

// oneByOne reads the vectors that can be read of a partition's memories changed since a
// version. Each has a transaction of its own: after an error in one the rest fails. A vector that
// is newer than the row read afterwards has raised the version, so the next use of the
// partition reads the row again.
func (s *Service) oneByOne(ctx context.Context, part string, space, since int64) (map[int64][]byte, error) {
	var rids []int64
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		return g.Raw("SELECT rid FROM memories WHERE part = ? AND rev > ? AND state = 'live'", part, since).Scan(&rids).Error
	})
	if err != nil {
		return nil, err
	}
	out := make(map[int64][]byte, len(rids))
	for _, rid := range rids {
		var emb []byte
		err := s.db.Read(ctx, func(g *gorm.DB) error {
			return g.Raw("SELECT emb FROM vectors WHERE rid = ? AND space = ?", rid, space).Row().Scan(&emb)
		})
		switch {
		case err == nil:
			out[rid] = emb
		case !errors.Is(err, store.ErrDamaged) && !errors.Is(err, sql.ErrNoRows):
			return nil, err
		}
	}
	return out, nil
}

// take brings one row into the index, or out of it. Its vector is in vectors, or, if that
// is nil, in the row.
func (s *Service) take(rows *sql.Rows, ix *index.Partition, vectors map[int64][]byte) error {
	var d index.Doc
	var state State
	var tags string
	var imp Importance
	var emb []byte
	if err := rows.Scan(&d.RID, &state, &d.Text, &tags, &imp, &d.Private, &d.SaidBy, &d.Conversation, &d.Created, &d.Event, &emb); err != nil {
		// One bad row must not hide the others. The row's number is scanned first.
		s.log.Warn("damaged memory is left out of the index; run: reverie doctor", "rid", d.RID, "error", err)
		ix.Remove(d.RID)
		return nil
	}
	if state != Live {
		ix.Remove(d.RID)
		return nil
	}
	d.Importance = imp.grade()
	if tags != "[]" {
		if err := json.Unmarshal([]byte(tags), &d.Tags); err != nil {
			s.log.Warn("damaged tags are left out of the index", "rid", d.RID, "error", err)
		}
	}
	if vectors != nil {
		emb = vectors[d.RID]
	} else if emb == nil && !s.failing.Load() {
		s.wakeFill() // perhaps whoever left it without has ended
	}
	vecs, err := unpack(emb)
	if err == nil {
		d.Vectors = vecs
		err = ix.Put(d)
	}
	if err != nil {
		// One bad vector must not hide the partition: the memory is found by its words.
		s.log.Warn("damaged vector is left out of the index", "rid", d.RID, "error", err)
		d.Vectors = nil
		err = ix.Put(d)
	}
	if err != nil {
		return fmt.Errorf("index memory: %w", err)
	}
	return nil
}
