package vector

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/caller"
)

// maxOrigin bounds, in code points, the texts that say where a memory comes from.
const maxOrigin = 1000

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
