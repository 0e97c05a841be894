package vector

import (
	"time"

	"reverie/internal/caller"
)

// Importance grades a memory; the zero value stands for "not said".
type Importance string

// The grades, lowest first.
const (
	Low    Importance = "low"
	Medium Importance = "medium"
	High   Importance = "high"
)

// Source says how a memory came to be.
type Source string

// The sources a memory may have.
const (
	FromUser          Source = "user"
	FromAssistant     Source = "assistant"
	FromTool          Source = "tool"
	FromConsolidation Source = "consolidation"
	FromExtraction    Source = "extraction"
	FromImport        Source = "import"
)

// State is where a memory stands in its life. Only live memories are returned by
// default reads; the others are kept and can be restored.
type State string

// The states of a memory.
const (
	Live       State = "live"
	Archived   State = "archived"   // expired, hidden
	Superseded State = "superseded" // retired by a newer memory
	Deleted    State = "deleted"    // in the trash
)

// Limits of a memory and of the calls about it.
const (
	MaxContentRunes = 8000
	MaxTags         = 32
	MaxTagRunes     = 64
	MaxTopK         = 50
	DefaultTopK     = 5
	MaxListLimit    = 100
	DefaultLimit    = 10
	MaxQueryRunes   = 8000
)

// Memory is one fact of one partition.
type Memory struct {
	ID           string       `json:"id"` // 32 lower-case hex digits
	Partition    string       `json:"partition"`
	Scope        caller.Scope `json:"scope"`
	Content      string       `json:"content"` // 1 to MaxContentRunes code points
	Tags         []string     `json:"tags"`    // a set, in the order given, never nil
	Importance   Importance   `json:"importance"`
	Private      bool         `json:"private,omitempty"` // never returned in a group
	SaidBy       string       `json:"said_by,omitempty"` // user id of who said it
	Source       Source       `json:"source"`
	Conversation string       `json:"conversation,omitempty"`
	CreatedAt    time.Time    `json:"created_at"` // UTC, microseconds
	UpdatedAt    time.Time    `json:"updated_at"`
	EventTime    time.Time    `json:"event_time,omitzero"` // when it happened, if known
	State        State        `json:"state"`
	SupersededBy string       `json:"superseded_by,omitempty"`
	ArchivedAt   time.Time    `json:"archived_at,omitzero"`
	DeletedAt    time.Time    `json:"deleted_at,omitzero"`
	LastUsedAt   time.Time    `json:"last_used_at,omitzero"` // last returned by a search
	Seen         int          `json:"seen"`                  // how often this content was written, at least 1
	Pending      bool         `json:"pending,omitempty"`     // has no vector in the active space yet
}

// Draft is a memory to be written.
type Draft struct {
	Scope      caller.Scope // default ScopeUser
	Content    string
	Tags       []string
	Importance Importance // default Medium
	Private    bool       // user scope only
	Supersedes string     // id of a memory of the same partition that this one retires
	Source     Source     // default FromAssistant
	SaidBy     string     // default the caller's user id
	EventTime  time.Time  // when it happened, optional
	// Conversation is the chat history it comes from; default the caller's.
	Conversation string
}

// Written is the answer to a write.
type Written struct {
	Memory      Memory
	DuplicateOf string    // the id of the memory that already had this content; Memory is that one
	Superseded  string    // the id of the memory that this write retired
	Similar     []Similar // near duplicates that stand beside it, best first, at most 3
	Notices     []string  // what was changed on the way in (secrets redacted, invisible characters removed, ...)
}

// Similar is a memory that says nearly the same as another text.
type Similar struct {
	ID       string  `json:"id"`
	Content  string  `json:"content"`
	Distance float64 `json:"distance"` // squared L2 of unit vectors, 0 to 4
}

// Query asks for the memories that answer Text best.
type Query struct {
	Scope      caller.Scope // default ScopeUser
	Text       string       // any string; at most MaxQueryRunes are used
	TopK       int          // 1 to MaxTopK; 0 means DefaultTopK
	Importance Importance   // only memories of this grade; empty for all
	Tags       []string     // only memories that carry all of these
}

// Match says which channels found a hit.
type Match string

// The ways in which a hit can match.
const (
	ByMeaning Match = "meaning"
	ByWords   Match = "words"
	ByBoth    Match = "both"
)

// Hit is a memory found, best first in a [Result].
type Hit struct {
	Memory
	Distance *float64 // squared L2 of unit vectors, lower is closer; nil if only words matched
	Score    float64  // fused, 0 to 1
	Match    Match
}

// Result is the answer to a [Query].
type Result struct {
	Hits       []Hit
	Total      int    // live memories that passed the filters and were ranked
	Confidence string // "high", "medium" or "low": low says the query is unrelated to everything stored
	Degraded   string // why search was by words only and what to do; empty when all is well
}

// Patch changes a memory; nil fields stay as they are. At least one must be set.
type Patch struct {
	Content    *string
	Tags       *[]string
	Importance *Importance
}

// ListQuery asks for a page of memories, newest first.
type ListQuery struct {
	Scope      caller.Scope // default ScopeUser
	Limit      int          // 1 to MaxListLimit; 0 means DefaultLimit
	Cursor     string       // from Page.Next; empty for the first page
	Importance Importance
	Tags       []string
	State      State // default Live
}

// Page is a page of a list.
type Page struct {
	Items []Memory
	Total int    // all memories that match the query, on all pages
	Next  string // cursor of the next page; empty on the last
}
