package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"reverie/embedding"
	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store"
	"reverie/vector"
	"reverie/vector/chroma"
)

// P1Collection is the name that P1 gives its collection.
const P1Collection = "amrita_user_memory"

// P1Options of [ImportP1]; the zero value is the default of every field.
type P1Options struct {
	// Chroma is the database with P1's collection, see [FindP1]; nil: no memories are imported.
	Chroma     *chroma.Client
	Collection string // default [P1Collection]
	// MemoDB is the bot's SQLite file with P1's table of memos; empty: none are imported.
	// It is copied and never opened.
	MemoDB string
	// DataDir is P1's data folder, with user_profile.md and knowledge; empty: none.
	DataDir string
	// Home is the folder that files are copied into; empty: they are not.
	Home string
	// ProfileUser is the user, by id or partition key, whom the profile describes; empty: it is
	// listed and left.
	ProfileUser string
	// Platform is the first part of partition keys where an old one names none; default
	// [caller.P1Platform].
	Platform string
	// MemoLimit is how long a memo may be, in code points; 0: as long as any can be.
	MemoLimit int
	// Clean prepares texts for storage, as the options of packages memo and vector have
	// it; nil: they stay as they are.
	Clean func(text string) (clean string, notices []string, err error)
	// Embed embeds a few texts to find out whether P1's vectors are those of the serving
	// model; nil: the fingerprint is believed.
	Embed    func(ctx context.Context, texts []string) ([]embedding.Passages, error)
	By       journal.Origin // for the journal
	DryRun   bool           // say what would happen, change nothing
	Progress func(done int) // told how many records were read, if it is not nil
}

// P1Left is something that was not imported, or not as it was, and why.
type P1Left struct {
	Name   string `json:"name"` // id of a memory, key of a memo, name of a file
	Reason string `json:"reason"`
}

// P1Unplaced is a partition whose key says of nobody whose it is. It is kept under that
// text, and migrate-keys tries it again.
type P1Unplaced struct {
	Key      string `json:"key"`
	Memories int    `json:"memories"`
	Memo     bool   `json:"memo,omitempty"`
}

// P1Report says what [ImportP1] did, or would do.
type P1Report struct {
	Records    int            `json:"records"`    // in the collection
	Partitions map[string]int `json:"partitions"` // records by partition
	Memories   Counts         `json:"memories"`
	Pending    int            `json:"pending"` // memories that wait for a vector
	Vectors    int            `json:"vectors"` // taken over
	// VectorsNot says why no vectors were taken over; empty if they were.
	VectorsNot string         `json:"vectors_not,omitempty"`
	Memos      Counts         `json:"memos"`
	Copied     []string       `json:"copied"`  // files
	Same       int            `json:"same"`    // files that were there already
	Differ     []string       `json:"differ"`  // files that were there and differ; they stay as they are
	Skipped    []P1Left       `json:"skipped"` // files that were not copied
	Refused    []P1Left       `json:"refused"` // memories and memos that were not imported
	Remarks    []P1Left       `json:"remarks"` // memories that were imported, but not quite as they were
	Unplaced   []P1Unplaced   `json:"unplaced"`
	Notices    map[string]int `json:"notices,omitempty"`
	OverLimit  []Over         `json:"over_limit,omitempty"`
}

// ImportP1 brings in what P1 kept: the memories of its Chroma collection with their ids,
// times and, where they are of the serving space, vectors; the memos of the bot's
// database; the profile and the knowledge base as files. What cannot be read is listed
// and stops nothing. Importing again adds what is new and changes nothing else.
func ImportP1(ctx context.Context, db *store.DB, memories Memories, o P1Options) (P1Report, error) {
	if o.Collection == "" {
		o.Collection = P1Collection
	}
	if o.MemoLimit <= 0 {
		o.MemoLimit = maxMemoRunes
	}
	if o.Clean == nil {
		o.Clean = func(s string) (string, []string, error) { return s, nil, nil }
	}
	p := &p1Import{db: db, memories: memories, o: o, unplaced: map[string]*P1Unplaced{}}
	p.r = P1Report{
		Partitions: map[string]int{}, Copied: []string{}, Differ: []string{}, Skipped: []P1Left{}, Refused: []P1Left{}, Remarks: []P1Left{},
		Unplaced: []P1Unplaced{}, Notices: map[string]int{},
	}
	if o.Platform != "" {
		if err := caller.CheckPlatform(o.Platform); err != nil {
			return p.r, err
		}
	}
	// The sources are read before anything is stored, so that a slip in one of their names
	// is noticed first.
	memos, err := p.readMemos(ctx)
	if err != nil {
		return p.r, fmt.Errorf("memos of P1: %w", err)
	}
	files, err := p.readFiles()
	if err != nil {
		return p.r, fmt.Errorf("files of P1: %w", err)
	}
	if o.Chroma != nil {
		if err := p.collection(ctx); err != nil {
			return p.r, fmt.Errorf("collection %s: %w", o.Collection, err)
		}
	}
	if err := p.storeMemos(ctx, memos); err != nil {
		return p.r, fmt.Errorf("memos of P1: %w", err)
	}
	if err := p.copyFiles(files); err != nil {
		return p.r, fmt.Errorf("files of P1: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(p.unplaced)) {
		p.r.Unplaced = append(p.r.Unplaced, *p.unplaced[key])
	}
	return p.r, nil
}

type p1Import struct {
	db       *store.DB
	memories Memories
	o        P1Options
	r        P1Report
	unplaced map[string]*P1Unplaced
}

// place finds the partition for an old key. One that cannot be placed stands for itself.
func (p *p1Import) place(old, scope string) (part string, s caller.Scope, err error) {
	if k, ok := caller.ParseKey(old, scope, p.o.Platform); ok {
		return k.String(), k.Scope(), nil
	}
	if err := caller.CheckID("partition", old); err != nil {
		return "", "", err
	}
	if _, guess := caller.ParseKey(old, string(caller.ScopeUser), p.o.Platform); guess {
		// A number alone, of a person or of a group, nobody knows. Kept under it, it would
		// count as a person's once the memory has a scope.
		old = "Unplaced_" + old
	}
	s = caller.ScopeUser
	if scope == string(caller.ScopeGroup) {
		s = caller.ScopeGroup
	}
	return old, s, nil
}

// left notes an unplaced partition.
func (p *p1Import) left(part string) *P1Unplaced {
	u := p.unplaced[part]
	if u == nil {
		u = &P1Unplaced{Key: part}
		p.unplaced[part] = u
	}
	return u
}

func placed(part string) bool {
	_, ok := caller.CurrentKey(part)
	return ok
}

func (p *p1Import) refuse(name, format string, args ...any) {
	p.r.Refused = append(p.r.Refused, P1Left{clip(name), fmt.Sprintf(format, args...)})
}

func (p *p1Import) remark(name, format string, args ...any) {
	p.r.Remarks = append(p.r.Remarks, P1Left{clip(name), fmt.Sprintf(format, args...)})
}

// storeMemos stores the memos that can be.
func (p *p1Import) storeMemos(ctx context.Context, memos []p1Memo) error {
	in := &importer{db: p.db, o: ImportOptions{By: p.o.By, DryRun: p.o.DryRun}, report: &ImportReport{}}
	for _, m := range memos {
		part, _, err := p.place(m.key, "")
		if err != nil {
			p.refuse(m.key, "a memo: %v", err)
			continue
		}
		text, notices, err := p.o.Clean(m.Content)
		if err != nil {
			p.refuse(m.key, "a memo: %v", err)
			continue
		}
		if n := utf8.RuneCountInString(text); n > p.o.MemoLimit {
			p.refuse(m.key, "a memo of %d characters; the limit is %d (memo_max_chars)", n, p.o.MemoLimit)
			continue
		}
		if text == "" {
			continue
		}
		for _, n := range notices {
			p.r.Notices[n]++
		}
		m.Content = text
		kept := in.report.Memos.Kept
		if err := in.memo(ctx, part, m.Memo); err != nil {
			return err
		}
		if in.report.Memos.Kept > kept {
			p.refuse(m.key, "%s has another memo, which stays", part)
		}
		if !placed(part) {
			p.left(part).Memo = true
		}
	}
	p.r.Memos = in.report.Memos
	return nil
}

// importPart stores the memories of one partition.
func (p *p1Import) importPart(ctx context.Context, part string, b *p1Batch, space int64) error {
	o := vector.ImportOptions{By: p.o.By, Foreign: true, DryRun: p.o.DryRun}
	if space != 0 {
		o.Space, o.Vectors = space, b.vecs
	}
	v, err := p.memories.Import(ctx, part, b.ms, o)
	if err != nil {
		return err
	}
	p.r.Memories.Added += v.Added
	p.r.Memories.Known += v.Known
	p.r.Memories.Replaced += v.Replaced
	p.r.Memories.Kept += v.Kept
	p.r.Pending += v.Pending
	if space != 0 {
		p.r.Vectors += v.Added - v.Pending
	}
	for _, x := range v.Refused {
		p.refuse(b.ms[x.Index].ID, "%s", x.Reason)
	}
	for what, n := range v.Notices {
		p.r.Notices[what] += n
	}
	if v.Live > v.Limit {
		p.r.OverLimit = append(p.r.OverLimit, Over{part, v.Live, v.Limit})
	}
	return nil
}
