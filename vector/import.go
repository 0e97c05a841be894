package vector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store"
)

// importBatch bounds the memories of one transaction, so that writers of other processes
// do not wait for longer than they are ready to.
const importBatch = 5000

// maxOrigin bounds, in code points, the texts that say where a memory comes from.
const maxOrigin = 1000

// Conflict says what an import does with a memory whose id is in the partition already,
// with other contents.
type Conflict string

// The ways to deal with a conflict; the zero value is KeepStored.
const (
	KeepStored   Conflict = "keep"    // what is stored stays
	ReplaceAll   Conflict = "replace" // what comes in takes its place
	ReplaceOlder Conflict = "newer"   // whichever was updated last
)

// ImportOptions of [Service.Import]; the zero value is the default of every field.
type ImportOptions struct {
	OnConflict Conflict // default KeepStored
	// By is written into the journal; default a source of "import".
	By journal.Origin
	// Foreign says that the memories come from another program: contents and tags pass
	// through [Options.Clean] and are trimmed, and a memory that was never used counts as
	// used now, or it might expire before anybody saw it. Without it, texts are stored
	// byte for byte.
	Foreign bool
	// Space is the row id of the embedding space that Vectors belong to. They are stored
	// if it is the serving one.
	Space int64
	// Vectors holds the passages of each memory as index.EncodeVecs packs them, in the
	// order of the memories; an empty one is made later. Nil: all are made later.
	Vectors [][]byte
	// Whole refuses everything if one memory is refused: the error wraps [ErrInvalid] and
	// the report lists the refusals.
	Whole bool
	// DryRun reports what would happen and stores nothing.
	DryRun bool
}

// ImportReport counts what an import did.
type ImportReport struct {
	Added    int `json:"added"`
	Known    int `json:"known"`    // there already, under this id or another one
	Replaced int `json:"replaced"` // changed in place
	Kept     int `json:"kept"`     // differ from what is stored, which stayed
	// Pending counts those added or changed that wait for a vector.
	Pending int `json:"pending"`
	// Notices says what cleaning changed, and how often.
	Notices map[string]int `json:"notices,omitempty"`
	Refused []Refusal      `json:"refused,omitempty"`
	// KnownAs maps the id of a memory to the one that had its content already.
	KnownAs map[string]string `json:"known_as,omitempty"`
	Live    int               `json:"live"`  // live memories of the partition afterwards
	Limit   int               `json:"limit"` // how many a partition may hold: imports may exceed it, writes are then refused
}

// Refusal is a memory that was not imported.
type Refusal struct {
	Index  int    `json:"index"` // in the memories given
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

// Import stores memories of one partition as they are: ids, times, states, tags and
// counts. It is for the operator's commands: part is taken as given, and no role is asked.
//
// A live memory whose content is live already under another id is known, not stored
// twice; a memory that was superseded by it then points to the one that is there. Where
// one of the two is private, what is stored ends up private. An id that belongs to
// another partition is refused. Importing the same again changes nothing.
//
// Up to importBatch memories are one transaction; of more, a failure of the store
// (but no refusal under Whole) may leave the first ones, and importing again goes on. The limit of
// a partition does not refuse: see [ImportReport.Live].
func (s *Service) Import(ctx context.Context, part string, ms []Memory, o ImportOptions) (ImportReport, error) {
	r := ImportReport{Live: -1, Limit: s.opts.Limit, Notices: map[string]int{}, KnownAs: map[string]string{}}
	if o.By.Source == "" {
		o.By.Source = "import"
	}
	switch o.OnConflict {
	case "", KeepStored, ReplaceAll, ReplaceOlder:
	default:
		return r, fmt.Errorf("%w: on conflict %q; allowed: keep, replace, newer", ErrInvalid, o.OnConflict)
	}
	if part == "" || o.Vectors != nil && len(o.Vectors) != len(ms) {
		return r, fmt.Errorf("%w: import of %d memories with %d vectors into partition %q", ErrInvalid, len(ms), len(o.Vectors), part)
	}
	in, err := s.incoming(ctx, part, ms, o, &r)
	if err != nil {
		return r, fmt.Errorf("import into %s: %w", part, err)
	}
	if o.Whole && len(r.Refused) > 0 {
		return r, fmt.Errorf("%w: %d of %d memories for %s cannot be imported, so none was; the first: %s", ErrInvalid, len(r.Refused), len(ms), part, r.Refused[0].Reason)
	}
	size := importBatch
	if o.DryRun {
		size = max(1, len(in)) // later ones must see the earlier ones
	}
	own := make(map[string]*Memory, len(in))
	for i := range in {
		own[in[i].ID] = &in[i].Memory
	}
	imp := &importing{Service: s, o: o, own: own, done: map[string]bool{}, wanted: map[string]bool{}, report: r}
	for batch := range slices.Chunk(in, size) {
		err := s.db.Write(ctx, part, func(tx *store.Tx) error {
			imp.report = r // should the transaction have to begin again
			return imp.store(tx, batch)
		})
		if err != nil {
			return r, fmt.Errorf("import into %s: %w", part, err)
		}
		r = imp.report
	}
	if r.Live < 0 { // no transaction has said it
		err = s.db.Read(ctx, func(g *gorm.DB) (err error) { r.Live, err = liveCount(g, part); return err })
	}
	if r.Pending > 0 && !o.DryRun {
		s.wakeFill()
	}
	return r, err
}

// incoming is a memory on its way in.
type incoming struct {
	Memory
	emb []byte
}

// incoming checks the memories, and cleans those of another program. The live ones come
// first: what they turn out to be known as is what the others point to.
func (s *Service) incoming(ctx context.Context, part string, ms []Memory, o ImportOptions, r *ImportReport) ([]incoming, error) {
	var live, rest []incoming
	at := map[string]int{}
	for i, m := range ms {
		refuse := func(err error) {
			r.Refused = append(r.Refused, Refusal{Index: i, ID: m.ID, Reason: strings.TrimPrefix(err.Error(), ErrInvalid.Error()+": ")})
		}
		if m.Partition != "" && m.Partition != part {
			refuse(fmt.Errorf("it belongs to %s", m.Partition))
			continue
		}
		m.Partition = part
		if o.Foreign {
			clean, err := s.fromForeign(&m)
			if err != nil {
				refuse(err)
				continue
			}
			for _, n := range clean {
				r.Notices[n]++
			}
		}
		if err := CheckMemory(m); err != nil {
			refuse(err)
			continue
		}
		if first, ok := at[m.ID]; ok {
			refuse(fmt.Errorf("id %s is given twice, first as number %d", m.ID, first+1))
			continue
		}
		at[m.ID] = i
		x := incoming{Memory: m}
		if o.Vectors != nil {
			x.emb = o.Vectors[i]
			if _, err := unpack(x.emb); err != nil {
				x.emb = nil // as good as none: it is made again
			}
		}
		if m.State == Live {
			live = append(live, x)
		} else {
			rest = append(rest, x)
		}
	}
	in := append(live, rest...)
	elsewhere := map[string]bool{}
	err := s.db.Read(ctx, func(g *gorm.DB) error {
		for ids := range slices.Chunk(in, 500) {
			var there []string
			names := make([]string, len(ids))
			for i, x := range ids {
				names[i] = x.ID
			}
			if err := g.Raw("SELECT id FROM memories WHERE id IN ? AND part <> ?", names, part).Scan(&there).Error; err != nil {
				return err
			}
			for _, id := range there {
				elsewhere[id] = true
				r.Refused = append(r.Refused, Refusal{Index: at[id], ID: id, Reason: "id " + id + " belongs to another partition of this store"})
			}
		}
		return nil
	})
	slices.SortFunc(r.Refused, func(a, b Refusal) int { return a.Index - b.Index })
	return slices.DeleteFunc(in, func(x incoming) bool { return elsewhere[x.ID] }), err
}

func (s *Service) fromForeign(m *Memory) (notices []string, err error) {
	if m.Content, notices, err = s.checkContent(m.Content); err != nil {
		return nil, err
	}
	if m.Tags, err = s.checkTags(m.Tags); err != nil {
		return nil, err
	}
	if m.LastUsedAt.IsZero() {
		m.LastUsedAt = time.Now()
	}
	return notices, nil
}

// CheckMemory reports what in a memory could not have been stored by this program, as an
// error that wraps [ErrInvalid].
func CheckMemory(m Memory) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
	}
	if err := checkID(m.ID); err != nil {
		return err
	}
	n := utf8.RuneCountInString(m.Content)
	key, known := caller.CurrentKey(m.Partition)
	switch {
	case strings.TrimSpace(m.Content) == "":
		return bad("content is empty")
	case n > MaxContentRunes:
		return bad("content has %d characters; the limit is %d", n, MaxContentRunes)
	case m.Scope != caller.ScopeUser && m.Scope != caller.ScopeGroup || known && m.Scope != key.Scope():
		return bad("scope %q does not fit the partition", m.Scope)
	case m.Importance != Low && m.Importance != Medium && m.Importance != High:
		return bad("importance %q; allowed: low, medium, high", m.Importance)
	case !slices.Contains([]Source{FromUser, FromAssistant, FromTool, FromConsolidation, FromExtraction, FromImport}, m.Source):
		return bad("source %q is not known", m.Source)
	case !slices.Contains([]State{Live, Archived, Superseded, Deleted}, m.State):
		return bad("state %q; allowed: live, archived, superseded, deleted", m.State)
	case m.Private && m.Scope == caller.ScopeGroup:
		return bad("a group's memory cannot be private")
	case m.SupersededBy != "" && checkID(m.SupersededBy) != nil:
		return bad("superseded_by is not a memory id")
	case micro(m.CreatedAt) == 0 || micro(m.UpdatedAt) == 0:
		return bad("created_at and updated_at must be set")
	case utf8.RuneCountInString(m.SaidBy) > maxOrigin || utf8.RuneCountInString(m.Conversation) > maxOrigin:
		return bad("said_by or conversation has more than %d characters", maxOrigin)
	case m.Seen < 1:
		return bad("seen is %d; it is at least 1", m.Seen)
	case len(m.Tags) > MaxTags:
		return bad("%d tags; the limit is %d", len(m.Tags), MaxTags)
	}
	for i, t := range m.Tags {
		if t == "" || utf8.RuneCountInString(t) > MaxTagRunes || slices.Contains(m.Tags[:i], t) {
			return bad("tag %d is empty, longer than %d characters, or given twice", i+1, MaxTagRunes)
		}
	}
	for name, text := range map[string]string{"content": m.Content, "said_by": m.SaidBy, "conversation": m.Conversation, "a tag": strings.Join(m.Tags, "")} {
		if !utf8.ValidString(text) {
			return bad("%s is not valid UTF-8", name)
		}
		if strings.ContainsRune(text, 0) {
			return bad("%s has a NUL character", name)
		}
	}
	for name, t := range map[string]time.Time{"created_at": m.CreatedAt, "updated_at": m.UpdatedAt, "event_time": m.EventTime, "archived_at": m.ArchivedAt, "deleted_at": m.DeletedAt, "last_used_at": m.LastUsedAt} {
		if y := t.UTC().Year(); y < 1 || y > 9999 {
			return bad("%s is in the year %d", name, y)
		}
	}
	return nil
}

// importing is one transaction of an import.
type importing struct {
	*Service
	o      ImportOptions
	own    map[string]*Memory // what this import brings, by id
	done   map[string]bool    // of these, those that were looked at
	wanted map[string]bool    // ids that something of this import is known as
	report ImportReport
	tx     *store.Tx
	space  int64      // the serving one
	live   int        // change of the live count
	later  []incoming // what has to wait for others of this import
}

func (p *importing) store(tx *store.Tx, batch []incoming) error {
	p.tx, p.live, p.later = tx, 0, nil
	serving, err := store.ReadServing(tx.DB)
	if err != nil {
		return err
	}
	p.space = serving.Space
	before := p.report.Added + p.report.Replaced
	// What waits for others is tried again as long as that helps; two that wait for each
	// other are then dealt with as they stand.
	for wait := true; len(batch) > 0; wait, batch = len(p.later) < len(batch), p.later {
		p.later = nil
		for _, x := range batch {
			if as := p.report.KnownAs[x.SupersededBy]; as != "" {
				x.SupersededBy = as
			}
			if err := p.one(x, wait); err != nil {
				return fmt.Errorf("memory %s: %w", x.ID, err)
			}
		}
	}
	n, err := liveCount(tx.DB, tx.Part)
	if err != nil {
		return err
	}
	p.report.Live = n + p.live
	if p.live != 0 {
		if err := addLive(tx, p.live); err != nil {
			return err
		}
	}
	if p.o.DryRun || p.report.Added+p.report.Replaced == before {
		return store.ErrUnchanged
	}
	return nil
}

// one imports a memory, or puts it off if it may wait: under another policy than
// KeepStored, the memory that has its content now may be about to change.
func (p *importing) one(x incoming, mayWait bool) error {
	old, err := byID(p.tx.DB, p.tx.Part, x.ID)
	stored := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	p.done[x.ID] = true
	if stored {
		switch replace := p.o.OnConflict == ReplaceAll || p.o.OnConflict == ReplaceOlder && x.UpdatedAt.After(old.UpdatedAt); {
		case alike(old, x.Memory):
			p.report.Known++
			return nil
		case !replace, p.wanted[x.ID] && (x.State != Live || !bytes.Equal(contentHash(x.Content), contentHash(old.Content))):
			p.report.Kept++
			return nil
		}
	}
	if x.State == Live {
		twin, wait, err := p.twin(x.Memory, mayWait)
		if err != nil {
			return err
		}
		if wait {
			delete(p.done, x.ID)
			p.later = append(p.later, x)
			return nil
		}
		if twin != "" {
			p.wanted[twin] = true
			p.report.Known++
			p.report.KnownAs[x.ID] = twin
			return nil
		}
	}
	change := journal.Change{Kind: journal.KindMemory, Object: x.ID, Action: journal.Create, After: x.Memory}
	if stored {
		change.Action, change.Before = journal.Update, old.Memory
		err = p.replace(old, x)
		p.report.Replaced++
	} else {
		err = p.insert(x)
		p.report.Added++
	}
	if err != nil {
		return err
	}
	return journal.Append(p.tx, p.o.By, change)
}

// twin is the id of another live memory with the content of m, empty if there is none
// that stands in its way. The two of one content that differ in privacy may stand
// beside each other only if they come together: else the private one is the known one.
// wait says that this cannot be told yet.
func (p *importing) twin(m Memory, mayWait bool) (id string, wait bool, err error) {
	have, err := liveTwins(p.tx.DB, p.tx.Part, contentHash(m.Content))
	if err != nil {
		return "", false, err
	}
	same, other := have.public, have.private
	if m.Private {
		same, other = other, same
	}
	// One that is about to change may be out of the way soon.
	leaves := func(id string) bool {
		return mayWait && p.o.OnConflict != "" && p.o.OnConflict != KeepStored && p.own[id] != nil && !p.done[id]
	}
	switch {
	case same.ID != "" && same.ID != m.ID:
		return same.ID, leaves(same.ID), nil
	case other.ID == "" || other.ID == m.ID || p.together(m, other.Memory):
		return "", false, nil
	case !m.Private || leaves(other.ID):
		return other.ID, leaves(other.ID), nil
	}
	// Something public is to be private from now on.
	next := other
	next.Private = true
	p.report.Replaced++
	return other.ID, false, p.change(p.tx, p.o.By, journal.Repeat, other, next)
}

// together reports whether m and its twin, which is stored, are a pair in this import.
func (p *importing) together(m, twin Memory) bool {
	own := p.own[twin.ID]
	return own != nil && own.State == Live && own.Private == twin.Private && bytes.Equal(contentHash(own.Content), contentHash(m.Content))
}

const importColumns = `rev = ?, state = ?, content = ?, hash = ?, tags = ?, importance = ?, private = ?, said_by = ?, source = ?,
	conversation = ?, created_at = ?, updated_at = ?, event_time = ?, superseded_by = ?, archived_at = ?, deleted_at = ?, seen = ?`

func (p *importing) values(m Memory) ([]any, error) {
	if m.Tags == nil {
		m.Tags = []string{}
	}
	tags, err := json.Marshal(m.Tags)
	return []any{p.tx.Version, string(m.State), m.Content, contentHash(m.Content), string(tags), string(m.Importance), m.Private, m.SaidBy, string(m.Source),
		m.Conversation, micro(m.CreatedAt), micro(m.UpdatedAt), micro(m.EventTime), m.SupersededBy, micro(m.ArchivedAt), micro(m.DeletedAt), m.Seen}, err
}

func (p *importing) insert(x incoming) error {
	values, err := p.values(x.Memory)
	if err != nil {
		return err
	}
	names := strings.ReplaceAll(importColumns, " = ?", "")
	err = p.tx.Exec("INSERT INTO memories ("+names+", id, part, scope, used_at) VALUES (?"+strings.Repeat(", ?", len(values)+3)+")",
		append(values, x.ID, p.tx.Part, string(x.Scope), micro(x.LastUsedAt))...).Error
	if err != nil {
		return err
	}
	if x.State == Live {
		p.live++
	}
	var rid int64
	if err := p.tx.Raw("SELECT rid FROM memories WHERE id = ?", x.ID).Row().Scan(&rid); err != nil {
		return err
	}
	return p.vector(rid, x)
}

func (p *importing) replace(old record, x incoming) error {
	values, err := p.values(x.Memory)
	if err != nil {
		return err
	}
	if err := p.tx.Exec("UPDATE memories SET "+importColumns+" WHERE rid = ? AND part = ?", append(values, old.rid, p.tx.Part)...).Error; err != nil {
		return err
	}
	if old.State == Live {
		p.live--
	}
	if x.State == Live {
		p.live++
	}
	if old.Content != x.Content {
		// The vectors of what it said before, in every space.
		if err := p.tx.Exec("DELETE FROM vectors WHERE rid = ?", old.rid).Error; err != nil {
			return err
		}
	} else if !old.Pending {
		return nil
	}
	return p.vector(old.rid, x)
}

// vector stores what came along for the serving space, or lets a live memory wait.
func (p *importing) vector(rid int64, x incoming) error {
	switch {
	case p.space == 0:
		return nil
	case len(x.emb) > 0 && p.o.Space == p.space:
		return setVector(p.tx, rid, p.space, x.emb)
	case x.State == Live:
		p.report.Pending++
		return setVector(p.tx, rid, p.space, nil)
	}
	return nil
}

// alike reports whether an import would change nothing. When a memory was last used is
// bookkeeping: a search must not turn every import after it into a conflict.
func alike(old record, m Memory) bool {
	a, b := old.Memory, m
	for _, x := range []*Memory{&a, &b} {
		x.LastUsedAt, x.Pending = time.Time{}, false
		for _, t := range []*time.Time{&x.CreatedAt, &x.UpdatedAt, &x.EventTime, &x.ArchivedAt, &x.DeletedAt} {
			*t = fromMicro(micro(*t))
		}
		if x.Tags == nil {
			x.Tags = []string{}
		}
	}
	ja, erra := json.Marshal(a)
	jb, errb := json.Marshal(b)
	return erra == nil && errb == nil && bytes.Equal(ja, jb) && !old.damagedTags
}
