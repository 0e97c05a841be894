package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"reverie/store"
)

// maxOld bounds a backup of P1, in bytes, which is held in memory: P1 kept 50 memories a
// partition by default, so this is some hundred thousand people.
const maxOld = 256 << 20

// Limits of a tag, as the store has them.
const (
	maxTags     = 32
	maxTagRunes = 64
)

// oldBackup is an embed_backup_*.json: the memories of P1's collection, without vectors.
type oldBackup struct {
	collection string
	at         time.Time
	rows       []oldRow
}

type oldRow struct {
	id       string
	document *string
	meta     oldMeta
}

// oldMeta is what P1 stored beside a text. Values of other types are taken for missing.
type oldMeta struct{ scope, key, tags, importance, created string }

func readOld(f *os.File, size int64) (*oldBackup, error) {
	if size > maxOld {
		return nil, fmt.Errorf("%w: it is JSON of %d bytes; an embed_backup file of P1 may have %d", ErrForeign, size, maxOld)
	}
	var doc struct {
		Collection *string           `json:"collection"`
		CreatedAt  string            `json:"created_at"`
		IDs        *[]string         `json:"ids"`
		Documents  *[]*string        `json:"documents"`
		Metadatas  *[]map[string]any `json:"metadatas"`
	}
	head := make([]byte, 64)
	n, _ := f.ReadAt(head, 0)
	mark := int64(0)
	if bytes.HasPrefix(head[:n], []byte("\xef\xbb\xbf")) {
		mark = 3 // of the byte order, by an editor
	}
	dec := json.NewDecoder(io.NewSectionReader(f, mark, size-mark))
	err := dec.Decode(&doc)
	var syntax *json.SyntaxError
	switch {
	case err != nil && !bytes.Contains(head[:n], []byte(`"collection"`)): // which P1 wrote first
		return nil, fmt.Errorf("%w: it begins like JSON, and not like an embed_backup file of P1", ErrForeign)
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it is JSON that is cut short or not valid (%w)", ErrBroken, err)
	case err != nil:
		return nil, fmt.Errorf("%w: it is JSON, and not of the shape of an embed_backup file of P1 (%w)", ErrForeign, err)
	case doc.Collection == nil || doc.IDs == nil || doc.Documents == nil || doc.Metadatas == nil:
		return nil, fmt.Errorf("%w: it is JSON without the lists of an embed_backup file of P1 (collection, ids, documents, metadatas)", ErrForeign)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: there is more behind the end of the JSON", ErrBroken)
	}
	ids, docs, metas := *doc.IDs, *doc.Documents, *doc.Metadatas
	if len(docs) != len(ids) || len(metas) != len(ids) {
		return nil, fmt.Errorf("%w: it has %d ids, %d documents and %d metadatas, which should be as many of each", ErrBroken, len(ids), len(docs), len(metas))
	}
	old := &oldBackup{collection: *doc.Collection, at: oldTime(doc.CreatedAt)}
	seen := map[string]bool{}
	for i, id := range ids {
		if seen[id] {
			return nil, fmt.Errorf("%w: id %s is in it twice", ErrBroken, clip(id))
		}
		seen[id] = true
		word := func(name string) string { s, _ := metas[i][name].(string); return s }
		old.rows = append(old.rows, oldRow{id, docs[i], oldMeta{word("scope"), word("user_id"), word("tags"), word("importance"), word("created_at")}})
	}
	return old, nil
}

// oldTime reads the ISO 8601 that Python writes, with or without a zone; the zero time if
// it is none.
func oldTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
			return t.UTC().Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}

// memories turns the rows into memories by partition, and notes what cannot be taken.
func (o *oldBackup) memories(mapKey func(old, scope string) (string, bool), now time.Time, r *Result) map[string][]Memory {
	out := map[string][]Memory{}
	empty, unplaced := 0, map[string]int{}
	for _, x := range o.rows {
		part, ok := mapKey(x.meta.key, x.meta.scope)
		switch {
		case x.document == nil || strings.TrimSpace(*x.document) == "":
			empty++
			continue
		case !ok:
			unplaced[x.meta.key]++
			continue
		}
		m := Memory{
			ID: o.id(x.id), Partition: part, Content: *x.document, Tags: oldTags(x.meta.tags), Importance: x.meta.importance,
			Source: "import", State: "live", Seen: 1, CreatedAt: oldTime(x.meta.created),
		}
		if m.Importance != "low" && m.Importance != "high" {
			m.Importance = "medium"
		}
		if m.CreatedAt.IsZero() {
			m.CreatedAt = o.at
		}
		if m.CreatedAt.IsZero() {
			m.CreatedAt = now
		}
		m.UpdatedAt = m.CreatedAt
		out[part] = append(out[part], m)
	}
	if empty > 0 {
		r.note("%d memories have no text and are left out", empty)
	}
	for i, k := range slices.Sorted(maps.Keys(unplaced)) {
		if i == maxNotes {
			r.note("%d more keys belong to nobody that is known", len(unplaced)-i)
			break
		}
		r.note("%d memories of %s are left out: the key belongs to nobody that is known", unplaced[k], clip(k))
	}
	return out
}

// id is the memory's own id if it is one, else always the same one made of it.
func (o *oldBackup) id(id string) string {
	if low := strings.ToLower(id); len(low) == 32 && strings.Trim(low, "0123456789abcdef") == "" {
		return low
	}
	sum := sha256.Sum256([]byte(o.collection + "\x00" + id))
	return hex.EncodeToString(sum[:16])
}

// oldTags splits the one string in which P1 kept tags: a JSON list if it is one, else at
// commas and the like if there are any, so that a tag may be two words, else at blanks.
func oldTags(s string) []string {
	var list []string
	if json.Unmarshal([]byte(s), &list) != nil {
		comma := func(r rune) bool { return strings.ContainsRune(",，、;；|\n", r) }
		if strings.ContainsFunc(s, comma) {
			list = strings.FieldsFunc(s, comma)
		} else {
			list = strings.FieldsFunc(s, unicode.IsSpace)
		}
	}
	out := []string{}
	for _, t := range list {
		t = strings.Join(strings.Fields(strings.TrimLeft(strings.TrimSpace(t), "#")), " ")
		if t == "" || utf8.RuneCountInString(t) > maxTagRunes || slices.Contains(out, t) {
			continue
		}
		if out = append(out, t); len(out) == maxTags {
			break
		}
	}
	return out
}

// restoreOld adds the memories of a P1 backup, or, to replace, also moves all others to
// the trash. What stands in the journal can be undone one by one. A killed run is
// completed by another one: nothing goes before everything new is there.
func (x *restoring) restoreOld(ctx context.Context, old *oldBackup) error {
	if x.o.MapKey == nil {
		return errors.New("restore of a P1 backup without a way to read its keys")
	}
	parts := old.memories(x.o.MapKey, time.Now().UTC().Truncate(time.Microsecond), &x.r)
	keep := map[string]bool{}
	done, taken := 0, int64(0)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		ms := parts[part]
		got, err := x.o.Domain.Memories(ctx, Batch{Run: x.id, Partition: part, Memories: ms, Foreign: true, Replace: x.o.Mode == Replace, DryRun: x.dry})
		if err != nil {
			return fmt.Errorf("memories of %s: %w", part, err)
		}
		x.merged(part, got)
		taken += got.Added + got.Replaced + got.Kept
		for _, m := range ms {
			keep[m.ID] = true
		}
		for _, id := range got.KnownAs {
			keep[id] = true
		}
		done += len(ms)
		x.progress(int64(done), int64(len(old.rows)))
	}
	if x.o.Mode != Replace {
		return nil
	}
	if taken == 0 && len(old.rows) > 0 {
		return fmt.Errorf("none of the %d memories in it can be restored, so what is here stays as it is: %s", len(old.rows), strings.Join(x.r.Notes, "; "))
	}
	gone, err := x.others(ctx, keep)
	if err != nil {
		return err
	}
	for _, part := range slices.Sorted(maps.Keys(gone)) {
		err := x.o.Domain.Trash(ctx, x.id, part, gone[part], x.dry)
		var refused *RefusedError
		if errors.As(err, &refused) {
			x.r.note("%d memories of %s stay: %s", len(gone[part]), clip(part), refused.Reason)
			continue
		}
		if err != nil {
			return fmt.Errorf("memories of %s: %w", part, err)
		}
		x.r.count("memories", part, Counts{Removed: int64(len(gone[part]))})
	}
	return nil
}

// others are the live memories that are not to be kept, by partition.
func (x *restoring) others(ctx context.Context, keep map[string]bool) (map[string][]string, error) {
	var gone map[string][]string
	err := x.db.Read(ctx, func(g *gorm.DB) error {
		gone = map[string][]string{} // a read may be made again
		return eachRow(g, "SELECT part, id FROM memories WHERE state = 'live' ORDER BY rid", 2, func(v []any) error {
			part, ok := v[0].(string)
			id, ok2 := v[1].(string)
			if !ok || !ok2 {
				return fmt.Errorf("%w: a memory has a partition or id that is no text", store.ErrDamaged)
			}
			if !keep[id] {
				gone[part] = append(gone[part], id)
			}
			return nil
		})
	})
	return gone, err
}
