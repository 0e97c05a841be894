package backup

import (
	"context"
	"time"
)

// Domain is how a merge reaches the packages that own the data: what they store passes
// through their rules and is in the journal. What the rules do not allow is a
// [*RefusedError], which leaves that out. It need not be safe for concurrent use.
type Domain interface {
	// Memories adds memories of one partition. One that is there is replaced if the new
	// one was updated later, or always for a batch that says so.
	Memories(ctx context.Context, b Batch) (Merged, error)
	// Memo makes m the memo of a partition if that has none, an empty one, or an older one.
	Memo(ctx context.Context, run, part string, m Memo, dryRun bool) (Counts, error)
	// Trash moves live memories to the trash.
	Trash(ctx context.Context, run, part string, ids []string, dryRun bool) error
}

// Batch is what [Domain.Memories] is given.
type Batch struct {
	Run       string // id of the restore, for the journal
	Partition string
	Memories  []Memory
	Vectors   [][]byte // packed, one a memory, empty where there is none; nil if there are none at all
	Space     int64    // row id of the embedding space of Vectors
	Foreign   bool     // the texts come from another program
	Replace   bool     // the new one counts, however old
	DryRun    bool
}

// Merged is what [Domain.Memories] did.
type Merged struct {
	Counts
	Pending int64
	Notes   []string
	// KnownAs maps ids to those of memories that have the same content already.
	KnownAs map[string]string
}

// Memory is a memory as a backup has it: the fields of package vector's Memory.
type Memory struct {
	ID, Partition, Scope, Content     string
	Tags                              []string
	Importance                        string
	Private                           bool
	SaidBy, Source, Conversation      string
	CreatedAt, UpdatedAt, EventTime   time.Time
	State, SupersededBy               string
	ArchivedAt, DeletedAt, LastUsedAt time.Time
	Seen                              int
}

// Memo is a memo as a backup has it.
type Memo struct {
	Content   string
	Version   int64
	UpdatedAt time.Time
	UpdatedBy string
}
