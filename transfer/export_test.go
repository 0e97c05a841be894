package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reverie/internal/caller"
	"reverie/internal/raceflag"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/transfer"
	"reverie/vector"
)

// hostile texts are put together from what has broken formats before.
var hostile = rapid.Custom(func(t *rapid.T) string {
	s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", " ", `"`, `\`, `\u0000`, "\n", "\r\n", "\t", "\x01", "\x1b[31m", "\u2028", "\u202e", "\ufeff", "\ufffd", "密", "👩‍👩‍👧", "\U000e0041",
		"e\u0301", "</script>", "{", "]", "שלום", "ﷺ", "'; DROP TABLE memories; --", "%s", "\u0085", "\x7f",
	}), 1, 12).Draw(t, "parts"), "")
	if strings.TrimSpace(s) == "" {
		s += "x"
	}
	return s
})

var anyMemory = rapid.Custom(func(t *rapid.T) vector.Memory {
	moment := func(name string) time.Time {
		return time.UnixMicro(rapid.Int64Range(1, 4e15).Draw(t, name)).UTC()
	}
	m := vector.Memory{
		Content: hostile.Draw(t, "content"), Tags: rapid.SliceOfNDistinct(hostile, 0, 3, rapid.ID[string]).Draw(t, "tags"),
		Importance: rapid.SampledFrom([]vector.Importance{vector.Low, vector.Medium, vector.High}).Draw(t, "importance"),
		State:      rapid.SampledFrom([]vector.State{vector.Live, vector.Archived, vector.Superseded, vector.Deleted}).Draw(t, "state"),
		Source:     rapid.SampledFrom([]vector.Source{vector.FromUser, vector.FromExtraction, vector.FromImport}).Draw(t, "source"),
		SaidBy:     rapid.OneOf(rapid.Just(""), hostile).Draw(t, "said by"), Conversation: rapid.OneOf(rapid.Just(""), hostile).Draw(t, "conversation"),
		Private: rapid.Bool().Draw(t, "private"), Seen: rapid.IntRange(1, 9).Draw(t, "seen"),
		CreatedAt: moment("created"), UpdatedAt: moment("updated"), Scope: caller.ScopeUser,
	}
	for i, tag := range m.Tags {
		r := []rune(fmt.Sprintf("%d%s", i, tag))
		m.Tags[i] = string(r[:min(len(r), vector.MaxTagRunes)])
	}
	if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
		r := []rune(strings.Repeat(m.Content, vector.MaxContentRunes))
		m.Content = string(r[:vector.MaxContentRunes-1]) + "x"
	}
	switch m.State {
	case vector.Archived:
		m.ArchivedAt = moment("archived")
	case vector.Deleted:
		m.DeletedAt = moment("deleted")
	case vector.Superseded:
		m.SupersededBy = fmt.Sprintf("%032x", rapid.Uint64().Draw(t, "by"))
	}
	if rapid.Bool().Draw(t, "used") {
		m.LastUsedAt, m.EventTime = moment("used"), moment("event")
	}
	return m
})

// What is exported and imported into another store is exported there as the same bytes,
// whatever stands in the texts.
func TestRoundTrip(t *testing.T) { storetest.Each(t, testRoundTrip) }

func testRoundTrip(t *testing.T, e storetest.Engine) {
	a, b := newHome(t, e), newHome(t, e)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 25 && raceflag.Enabled {
			return // enough for the race detector
		}
		user, group := fmt.Sprintf("Local_Private_u%d", n), fmt.Sprintf("Local_Group_g%d", n)
		for i, part := range []string{user, group} {
			ms := rapid.SliceOfN(anyMemory, 1, 4).Draw(rt, "memories")
			for j := range ms {
				ms[j].ID = fmt.Sprintf("%016x%08x%08x", n, i, j)
				if part == group {
					ms[j].Scope, ms[j].Private = caller.ScopeGroup, false
				}
			}
			r, err := a.memories.Import(t.Context(), part, ms, vector.ImportOptions{})
			if err != nil || len(r.Refused) > 0 {
				rt.Fatalf("%+v, %v", r, err)
			}
		}
		a.note(t, user, hostile.Draw(rt, "memo"), hostile.Draw(rt, "second memo"))
		first := a.export(t, user, group)
		r := b.bring(t, first, transfer.ImportOptions{})
		if r.RefusedTotal > 0 {
			rt.Fatalf("refused: %+v", r.Refused)
		}
		second := b.export(t, user, group)
		if first != second {
			rt.Fatalf("exported (-), imported and exported again (+):\n%s", cmp.Diff(first, second))
		}
		if r := b.bring(t, second, transfer.ImportOptions{OnConflict: vector.ReplaceAll}); r.Memories.Added+r.Memories.Replaced+r.Memories.Kept+r.Memos.Replaced > 0 {
			rt.Fatalf("importing the same again: %+v", r)
		}
	})
	if first, second := a.export(t), b.export(t); first != second {
		t.Errorf("the whole stores differ:\n%s", cmp.Diff(first, second))
	}
	a.sound(t)
	b.sound(t)
}

func TestExport(t *testing.T) {
	h := newHome(t, storetest.Engines(t)[0])
	h.hold(t, "Local_Private_b", given(3, "of b"), given(4, "gone", state(vector.Deleted)))
	h.hold(t, "Local_Private_a", given(2, "second"), given(1, "first"))
	h.note(t, "Local_Private_a", "memo <b>")
	want := `{"format":"reverie-export","version":1}
{"type":"memory","partition":"Local_Private_b","id":"00000000000000000000000000000003","state":"live","scope":"user","content":"of b","tags":[],"importance":"medium","source":"user","created_at":"2024-05-06T07:08:12.123456Z","updated_at":"2024-05-06T07:08:09.123456Z","seen":1}
{"type":"end","memos":0,"memories":1}
`
	var b bytes.Buffer
	r, err := transfer.Export(t.Context(), h.db, &b, transfer.ExportOptions{Partitions: []string{"Local_Private_b"}, NoTrash: true})
	if err != nil || r.Partitions != 1 || r.Memories != 1 {
		t.Errorf("report %+v, %v", r, err)
	}
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
	var order []string
	for line := range strings.Lines(h.export(t)) {
		for _, text := range []string{"memo <b>", "first", "second", "of b", "gone"} {
			if strings.Contains(line, `"`+text+`"`) {
				order = append(order, text)
			}
		}
	}
	if d := cmp.Diff([]string{"memo <b>", "first", "second", "of b", "gone"}, order); d != "" {
		t.Errorf("order:\n%s", d)
	}
	if _, err := transfer.Export(t.Context(), h.db, &b, transfer.ExportOptions{Partitions: []string{"nobody"}}); !errors.Is(err, transfer.ErrNoPartition) {
		t.Errorf("unknown partition: %v", err)
	}
	full := errors.New("no space")
	if _, err := transfer.Export(t.Context(), h.db, failing{full}, transfer.ExportOptions{}); !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}
	// It is not the database's disk that is full.
	if _, err := transfer.Export(t.Context(), h.db, failing{syscall.ENOSPC}, transfer.ExportOptions{}); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, store.ErrFull) {
		t.Errorf("a writer without room: %v", err)
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
