package transfer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/vector"
)

// P2Options of [ImportP2]; the zero value is the default of every field.
type P2Options struct {
	// Home is the folder into which the files are copied, under memories and state;
	// empty: they are not.
	Home string
	// Platform is the first part of the partition keys; default: the name of each chat's
	// network, its letters and digits.
	Platform string
	// GlobalTo is the partition that the notes of all chats go to; empty: they stay files.
	GlobalTo string
	// UnplacedTo is the partition for chats whose origin cannot be found out; empty:
	// their notes stay files.
	UnplacedTo string
	By         journal.Origin // for the journal
	DryRun     bool           // say what would happen, change nothing
}

// P2Left is a file or folder and what was not done with it, and why.
type P2Left struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// P2Chat is a folder of P2 and where its notes went.
type P2Chat struct {
	Folder    string `json:"folder"`
	Origin    string `json:"origin,omitempty"` // platform:kind:session, as found out
	Partition string `json:"partition"`
	Memories  int    `json:"memories"` // pieces of its notes and its summary
}

// P2Report says what [ImportP2] did, or would do.
type P2Report struct {
	Copied    int            `json:"copied"` // files
	Same      int            `json:"same"`   // files that were there already
	Differ    []string       `json:"differ"` // files that were there and differ; they stay as they are
	Notes     int            `json:"notes"`  // that became memories
	Summaries int            `json:"summaries"`
	Indexes   int            `json:"indexes"` // files MEMORY.md, which are only copied
	Chats     []P2Chat       `json:"chats"`
	FilesOnly []P2Left       `json:"files_only"` // folders whose notes did not become memories
	Skipped   []P2Left       `json:"skipped"`    // neither copied nor imported
	Remarks   []P2Left       `json:"remarks"`
	Memories  Counts         `json:"memories"`
	Refused   []P2Left       `json:"refused"` // pieces that cannot be stored
	Notices   map[string]int `json:"notices,omitempty"`
	Pending   int            `json:"pending"`
	OverLimit []Over         `json:"over_limit,omitempty"`
}

// ImportP2 brings in the data folder of P2: notes as Markdown, a folder a chat. Every
// file is copied as it is; and each note, and each summary of a chat, becomes memories of
// the person or group, so that searches find them. What was noted in a private chat
// becomes private memories, for P2 never told it in another chat.
//
// Importing again adds what is new and changes nothing else. Links, odd names, files that
// are too large or no text are listed and left alone.
func ImportP2(ctx context.Context, memories Memories, dir string, o P2Options) (P2Report, error) {
	r := P2Report{Differ: []string{}, Chats: []P2Chat{}, FilesOnly: []P2Left{}, Skipped: []P2Left{}, Remarks: []P2Left{}, Refused: []P2Left{}, Notices: map[string]int{}}
	p := &p2Import{o: o, r: &r, by: map[string]*p2Batch{}, chats: map[string]*p2Chat{}}
	for _, key := range []string{o.GlobalTo, o.UnplacedTo} {
		if _, ok := caller.CurrentKey(key); key != "" && !ok {
			return r, fmt.Errorf("%w: %q is not a partition key; it looks like Local_Private_ID or Local_Group_ID", caller.ErrInvalid, clip(key))
		}
	}
	if o.Platform != "" {
		if err := caller.CheckPlatform(o.Platform); err != nil {
			return r, err
		}
	}
	src, err := openP2(dir)
	if err != nil {
		return r, err
	}
	defer src.root.Close()
	if o.Home != "" {
		if p.home, err = os.OpenRoot(o.Home); err != nil {
			return r, err
		}
		defer p.home.Close()
	}
	if err := p.read(src); err != nil {
		return r, fmt.Errorf("read notes: %w", err)
	}
	return r, p.store(ctx, memories)
}

// p2Chat is where the notes of one folder go.
type p2Chat struct {
	key    caller.Key
	origin string
	report int // index in the report's Chats
}

// p2Batch is what goes into one partition.
type p2Batch struct {
	ms   []vector.Memory
	from []string // the file of each
	ids  map[string]bool
}

type p2Import struct {
	o     P2Options
	home  *os.Root
	r     *P2Report
	by    map[string]*p2Batch // by partition
	chats map[string]*p2Chat  // by folder; nil: files only
}

// read copies the files and collects the memories that they become.
func (p *p2Import) read(src p2Source) error {
	isNote := func(name string) bool { return p2Name.MatchString(name) }
	global, err := src.list(path.Join(src.notes, "global"), isNote, p2MaxNote, p.r)
	if err != nil {
		return err
	}
	to := p.global(len(global))
	for _, f := range global {
		f.to = path.Join("memories/global", f.name)
		p.keep(f)
		p.note(f, to, "global")
	}
	sessions := path.Join(src.notes, "session")
	folders, err := fs.ReadDir(src.root.FS(), sessions)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range folders {
		name := path.Join(sessions, d.Name())
		if !d.IsDir() || !p2Folder.MatchString(d.Name()) {
			p.r.Skipped = append(p.r.Skipped, P2Left{name, "not a folder of a chat"})
			continue
		}
		files, err := src.list(name, isNote, p2MaxNote, p.r)
		if err != nil {
			return err
		}
		for _, f := range files {
			f.folder, f.to = d.Name(), path.Join("memories/session", d.Name(), f.name)
			p.keep(f)
			p.note(f, p.chat(f.folder), "")
		}
	}
	isState := func(name string) bool {
		key, ok := strings.CutSuffix(name, ".json")
		return ok && p2Folder.MatchString(key)
	}
	states, err := src.list("state", isState, p2MaxState, p.r)
	if err != nil {
		return err
	}
	for _, f := range states {
		f.folder, f.to = strings.TrimSuffix(f.name, ".json"), path.Join("state", f.name)
		p.keep(f)
		p.summary(f)
	}
	return src.others(p.r)
}

// global is where the notes of all chats go, nil for nowhere.
func (p *p2Import) global(files int) *p2Chat {
	if files == 0 {
		return nil
	}
	k, ok := caller.CurrentKey(p.o.GlobalTo)
	if !ok {
		p.r.FilesOnly = append(p.r.FilesOnly, P2Left{"global", "notes of all chats belong to nobody; --global-to makes them memories of a person or group"})
		return nil
	}
	return p.add("global", "", k)
}

func (p *p2Import) add(folder, origin string, k caller.Key) *p2Chat {
	p.r.Chats = append(p.r.Chats, P2Chat{Folder: folder, Origin: origin, Partition: k.String()})
	return &p2Chat{key: k, origin: origin, report: len(p.r.Chats) - 1}
}

// chat finds out once where the notes of a folder go, nil for nowhere.
func (p *p2Import) chat(folder string) *p2Chat {
	c, ok := p.chats[folder]
	if ok {
		return c
	}
	origin, found := parseP2Key(folder)
	k, placed := origin.key(p.o.Platform)
	reason := "it is not a folder name of the plugin (platform_FriendMessage_id-checksum or platform_GroupMessage_id-checksum)"
	if p2Key.MatchString(folder) {
		reason += ", for its checksum fits no origin"
	}
	if found && !placed {
		reason = "its origin " + origin.text + " is neither a person's chat nor a group"
	}
	switch spare, ok := caller.CurrentKey(p.o.UnplacedTo); {
	case found && placed:
		c = p.add(folder, origin.text, k)
	case ok:
		c = p.add(folder, origin.text, spare)
		p.r.Remarks = append(p.r.Remarks, P2Left{folder, reason + ": its notes go to " + spare.String()})
	default:
		p.r.FilesOnly = append(p.r.FilesOnly, P2Left{folder, reason + "; --unplaced-to makes its notes somebody's memories"})
	}
	p.chats[folder] = c
	return c
}

// note turns a note into memories. The index is made of the notes and says nothing more.
func (p *p2Import) note(f p2File, to *p2Chat, tag string) {
	if bytes.HasPrefix(f.data, []byte("\ufeff")) {
		p.r.Remarks = append(p.r.Remarks, P2Left{f.to, "begins with a byte order mark; copied with it, imported without"})
	}
	if bytes.Contains(f.data, []byte("\r\n")) {
		p.r.Remarks = append(p.r.Remarks, P2Left{f.to, "has Windows line ends; copied with them, imported without"})
	}
	if f.name == p2Index {
		p.r.Indexes++
		return
	}
	if to == nil {
		return
	}
	n := parseNote(string(f.data))
	stem := strings.TrimSuffix(f.name, ".md")
	tags := []string{"note:" + stem, n.kind, tag}
	if n.name != stem {
		tags = append(tags, n.name)
	}
	if p.pieces(f, to, n.pieces(), tags, n.importance()) {
		p.r.Notes++
	}
}

// summary turns what a chat was about, before its oldest turns were dropped, into memories.
func (p *p2Import) summary(f p2File) {
	var state struct {
		Summary      any `json:"summary"`
		CompressedAt any `json:"compressed_at"`
	}
	if json.Unmarshal(f.data, &state) != nil {
		p.r.Remarks = append(p.r.Remarks, P2Left{f.to, "not a JSON object; copied only"})
		return
	}
	text, _ := state.Summary.(string)
	if strings.TrimSpace(text) == "" {
		return
	}
	const newest = 1 << 36 // seconds: beyond it the number is none of a clock
	if at, ok := state.CompressedAt.(float64); ok && at > 0 && at < newest {
		f.at = time.UnixMicro(int64(at * 1e6))
	}
	if to := p.chat(f.folder); to != nil && p.pieces(f, to, split(text, pieceRunes), []string{"summary"}, vector.Medium) {
		p.r.Summaries++
	}
}

// pieces collects the memories of one file. Their ids follow from what they are, so that
// the same file again brings the same ones.
func (p *p2Import) pieces(f p2File, to *p2Chat, texts, tags []string, imp vector.Importance) bool {
	part := to.key.String()
	b := p.by[part]
	if b == nil {
		b = &p2Batch{ids: map[string]bool{}}
		p.by[part] = b
	}
	at := f.at.UTC().Truncate(time.Microsecond)
	if at.Unix() <= 0 {
		at = time.Now().UTC().Truncate(time.Microsecond) // a copy that lost its times
	}
	var own []string
	for _, t := range tags {
		if r := []rune(t); len(r) > vector.MaxTagRunes {
			t = string(r[:vector.MaxTagRunes])
		}
		if t != "" && !slices.Contains(own, t) {
			own = append(own, t)
		}
	}
	for _, text := range texts {
		sum := sha256.Sum256([]byte("p2\x00" + part + "\x00" + f.to + "\x00" + text))
		id := hex.EncodeToString(sum[:16])
		if b.ids[id] {
			continue // a note may say a thing twice
		}
		b.ids[id] = true
		conversation := to.origin
		if utf8.RuneCountInString(conversation) > caller.MaxIDRunes {
			conversation = ""
		}
		b.ms = append(b.ms, vector.Memory{
			ID: id, Scope: to.key.Scope(), Content: text, Tags: own, Importance: imp, Source: vector.FromImport, Conversation: conversation,
			Private:   to.key.Scope() == caller.ScopeUser && f.folder != "",
			CreatedAt: at, UpdatedAt: at, State: vector.Live, Seen: 1,
		})
		b.from = append(b.from, f.to)
		p.r.Chats[to.report].Memories++
	}
	return len(texts) > 0
}

// store imports what was collected, partition by partition.
func (p *p2Import) store(ctx context.Context, memories Memories) error {
	for _, part := range slices.Sorted(maps.Keys(p.by)) {
		b := p.by[part]
		v, err := memories.Import(ctx, part, b.ms, vector.ImportOptions{By: p.o.By, Foreign: true, DryRun: p.o.DryRun})
		if err != nil {
			return err
		}
		p.r.Memories.Added += v.Added
		p.r.Memories.Known += v.Known
		p.r.Memories.Replaced += v.Replaced
		p.r.Memories.Kept += v.Kept
		p.r.Pending += v.Pending
		for _, x := range v.Refused {
			p.r.Refused = append(p.r.Refused, P2Left{b.from[x.Index], x.Reason})
		}
		for what, n := range v.Notices {
			p.r.Notices[what] += n
		}
		if v.Live > v.Limit {
			p.r.OverLimit = append(p.r.OverLimit, Over{part, v.Live, v.Limit})
		}
	}
	slices.SortFunc(p.r.Skipped, func(a, b P2Left) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
