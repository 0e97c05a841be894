package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"reverie/internal/caller"
	"reverie/internal/cleantext"
	"reverie/memo"
	"reverie/vector"
)

// The first line of an export says what it is. It has no time in it: the same store gives
// the same bytes.
const (
	formatName    = "reverie-export"
	formatVersion = 1
)

// maxLine bounds a line in bytes. The longest honest one is a memo of 100,000 characters,
// each written as two escapes.
const maxLine = 4 << 20

// maxMemoRunes is the highest limit that can be configured for a memo, in code points.
const maxMemoRunes = 100_000

// The types of lines after the first.
const (
	typeMemo   = "memo"
	typeMemory = "memory"
	typeEnd    = "end"
)

type headLine struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// endLine is the last one: without it, a file cut at the end of a line would look whole.
type endLine struct {
	Type     string `json:"type"`
	Memos    int    `json:"memos"`
	Memories int    `json:"memories"`
}

type memoLine struct {
	Type      string `json:"type"`
	Partition string `json:"partition"`
	Content   string `json:"content"`
	Version   int64  `json:"version"`
	UpdatedAt string `json:"updated_at"`
	UpdatedBy string `json:"updated_by,omitempty"`
}

type memoryLine struct {
	Type         string            `json:"type"`
	Partition    string            `json:"partition"`
	ID           string            `json:"id"`
	State        vector.State      `json:"state"`
	Scope        caller.Scope      `json:"scope"`
	Content      string            `json:"content"`
	Tags         []string          `json:"tags"`
	Importance   vector.Importance `json:"importance"`
	Private      bool              `json:"private,omitempty"`
	SaidBy       string            `json:"said_by,omitempty"`
	Source       vector.Source     `json:"source"`
	Conversation string            `json:"conversation,omitempty"`
	CreatedAt    string            `json:"created_at"`
	UpdatedAt    string            `json:"updated_at"`
	EventTime    string            `json:"event_time,omitempty"`
	SupersededBy string            `json:"superseded_by,omitempty"`
	ArchivedAt   string            `json:"archived_at,omitempty"`
	DeletedAt    string            `json:"deleted_at,omitempty"`
	LastUsedAt   string            `json:"last_used_at,omitempty"`
	Seen         int               `json:"seen"`
}

func fromMemory(m vector.Memory) memoryLine {
	if m.Tags == nil {
		m.Tags = []string{}
	}
	return memoryLine{
		Type: typeMemory, Partition: m.Partition, ID: m.ID, State: m.State, Scope: m.Scope, Content: m.Content, Tags: m.Tags,
		Importance: m.Importance, Private: m.Private, SaidBy: m.SaidBy, Source: m.Source, Conversation: m.Conversation,
		CreatedAt: stamp(m.CreatedAt), UpdatedAt: stamp(m.UpdatedAt), EventTime: stamp(m.EventTime), SupersededBy: m.SupersededBy,
		ArchivedAt: stamp(m.ArchivedAt), DeletedAt: stamp(m.DeletedAt), LastUsedAt: stamp(m.LastUsedAt), Seen: m.Seen,
	}
}

func (l memoryLine) memory() (vector.Memory, error) {
	m := vector.Memory{
		Partition: l.Partition, ID: l.ID, State: l.State, Scope: l.Scope, Content: l.Content, Tags: l.Tags, Importance: l.Importance,
		Private: l.Private, SaidBy: l.SaidBy, Source: l.Source, Conversation: l.Conversation, SupersededBy: l.SupersededBy, Seen: l.Seen,
	}
	for _, f := range []struct {
		name, text string
		to         *time.Time
	}{
		{"created_at", l.CreatedAt, &m.CreatedAt}, {"updated_at", l.UpdatedAt, &m.UpdatedAt}, {"event_time", l.EventTime, &m.EventTime},
		{"archived_at", l.ArchivedAt, &m.ArchivedAt}, {"deleted_at", l.DeletedAt, &m.DeletedAt}, {"last_used_at", l.LastUsedAt, &m.LastUsedAt},
	} {
		var err error
		if *f.to, err = parseStamp(f.name, f.text); err != nil {
			return m, err
		}
	}
	return m, vector.CheckMemory(m)
}

func (l memoLine) memo() (memo.Memo, error) {
	at, err := parseStamp("updated_at", l.UpdatedAt)
	switch n := utf8.RuneCountInString(l.Content); {
	case err != nil:
	case at.IsZero():
		err = errors.New("updated_at is missing")
	case l.Version < 1:
		err = fmt.Errorf("version is %d; it is at least 1", l.Version)
	case n > maxMemoRunes:
		err = fmt.Errorf("content has %d characters; the limit is %d", n, maxMemoRunes)
	case bytes.IndexByte([]byte(l.Content+l.UpdatedBy), 0) >= 0:
		err = errors.New("a text has a NUL character")
	}
	return memo.Memo{Content: l.Content, Version: l.Version, UpdatedAt: at, UpdatedBy: l.UpdatedBy}, err
}

// stampLayout always has six digits, so that one time has one spelling.
const stampLayout = "2006-01-02T15:04:05.000000Z07:00"

// stamp writes a time, the empty string for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampLayout)
}

func parseStamp(field, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, fmt.Errorf("%s is not a time as in 2006-01-02T15:04:05.000000Z", field)
	}
	if t = t.UTC(); !t.Equal(t.Truncate(time.Microsecond)) {
		return t, fmt.Errorf("%s has more than six digits of a second", field)
	}
	return t, nil
}

// encode writes one line.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// decode reads one line into v, a pointer to a struct, strictly: names must be exactly
// those of its fields, each once at most. The decoder of the standard library alone takes
// "Content" for "content", the last of two, and half a surrogate pair for U+FFFD.
func decode(line []byte, v any, fields []string) error {
	if _, found := cleantext.LoneSurrogate(line); found {
		return errors.New("a text has an escape that is half a character")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	var seen []string
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return errors.New("not valid JSON")
		}
		name, _ := t.(string)
		if slices.Contains(seen, name) {
			return fmt.Errorf("field %q stands there twice", clip(name))
		}
		if !slices.Contains(fields, name) {
			return fmt.Errorf("unknown field %q", clip(name))
		}
		seen = append(seen, name)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return errors.New("not valid JSON")
		}
	}
	err := json.Unmarshal(line, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("field %q is a JSON %s and should be %s", wrong.Field, wrong.Value, wrong.Type)
	}
	if err != nil {
		return errors.New("not valid JSON")
	}
	return nil
}

var (
	headFields   = []string{"format", "version"}
	endFields    = []string{"type", "memos", "memories"}
	memoFields   = []string{"type", "partition", "content", "version", "updated_at", "updated_by"}
	memoryFields = []string{"type", "partition", "id", "state", "scope", "content", "tags", "importance", "private", "said_by", "source", "conversation",
		"created_at", "updated_at", "event_time", "superseded_by", "archived_at", "deleted_at", "last_used_at", "seen"}
)

// clip shortens what a message repeats of a file.
func clip(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}
