package transfer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"gorm.io/gorm"

	"reverie/internal/caller"
	"reverie/store"
	"reverie/vector"
)

// survey reads the whole file and finds the partitions that have a line in them that
// cannot be imported.
func survey(ctx context.Context, db *store.DB, r io.Reader, out *ImportReport) (bad map[string]bool, total int, err error) {
	l, err := newLines(r)
	if err != nil {
		return nil, 0, err
	}
	bad = map[string]bool{}
	ids := map[[16]byte]int{} // the line of each id
	left := map[string]bool{} // partitions that ended
	hasMemo := map[string]bool{}
	var batch []entry
	memos, memories, part := 0, 0, ""
	refuse := func(e entry, id string, err error) {
		bad[e.part] = true
		out.refuse(Refused{e.line, e.part, id, strings.TrimPrefix(err.Error(), vector.ErrInvalid.Error()+": ")})
	}
	elsewhere := func() error {
		err := findElsewhere(ctx, db, batch, refuse)
		batch = batch[:0]
		return err
	}
	for {
		e, err := l.entry(memos, memories)
		if errors.Is(err, io.EOF) {
			return bad, memos + memories, elsewhere()
		}
		if err != nil {
			return nil, 0, err
		}
		if e.part != part {
			if left[e.part] {
				return nil, 0, l.bad(fmt.Errorf("partition %q stood in an earlier place already; keep the lines of a partition together", clip(e.part)))
			}
			left[part], part = true, e.part
		}
		if e.memo != nil {
			memos++
		} else {
			memories++
		}
		if id, err := check(e); err != nil {
			refuse(e, id, err)
			continue
		}
		if e.memo != nil {
			if hasMemo[part] {
				refuse(e, "", errors.New("the partition has a memo already"))
			}
			hasMemo[part] = true
			continue
		}
		var id [16]byte
		hex.Decode(id[:], []byte(e.memory.ID)) // checked
		if first := ids[id]; first > 0 {
			refuse(e, e.memory.ID, fmt.Errorf("id %s stands in line %d already", e.memory.ID, first))
			continue
		}
		ids[id] = e.line
		if batch = append(batch, entry{line: e.line, part: e.part, memory: &memoryLine{ID: e.memory.ID}}); len(batch) == 500 {
			if err := elsewhere(); err != nil {
				return nil, 0, err
			}
		}
	}
}

// check reports what is wrong with an entry by itself.
func check(e entry) (id string, err error) {
	if e.memory != nil {
		id = clip(e.memory.ID)
	}
	if e.err != nil {
		return id, e.err
	}
	// Keys that wait for migrate-keys are texts of other forms.
	if _, ok := caller.CurrentKey(e.part); !ok && caller.CheckID("partition", e.part) != nil {
		return id, fmt.Errorf("partition %q is not a key that can be", clip(e.part))
	}
	if e.memo != nil {
		_, err = e.memo.memo()
	} else {
		_, err = e.memory.memory()
	}
	return id, err
}

// findElsewhere refuses memories whose ids belong to other partitions.
func findElsewhere(ctx context.Context, db *store.DB, batch []entry, refuse func(entry, string, error)) error {
	if len(batch) == 0 {
		return nil
	}
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.memory.ID
	}
	owner := map[string]string{}
	err := db.Read(ctx, func(g *gorm.DB) error {
		rows, err := g.Raw("SELECT id, part FROM memories WHERE id IN ?", ids).Rows()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, part string
			if err := rows.Scan(&id, &part); err != nil {
				return err
			}
			owner[id] = part
		}
		return rows.Err()
	})
	for _, e := range batch {
		if part, ok := owner[e.memory.ID]; ok && part != e.part {
			refuse(e, e.memory.ID, fmt.Errorf("id %s belongs to partition %s of this store", e.memory.ID, part))
		}
	}
	return err
}
