package journal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"
	"pgregory.net/rapid"

	"reverie/internal/caller"
	"reverie/journal"
	"reverie/store"
	"reverie/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

type state struct {
	Text string `json:"text"`
}

// set changes an object, row and entry, as a domain package does.
func set(tx *store.Tx, c journal.Change, by journal.Origin) error {
	text := c.After.(state).Text
	err := tx.Exec(`INSERT INTO memos (part, content, version, updated_at) VALUES (?, ?, ?, 1)
		ON CONFLICT (part) DO UPDATE SET content = excluded.content`, c.Object, text, tx.Version).Error
	if err != nil {
		return err
	}
	return journal.Append(tx, by, c)
}

func history(t testing.TB, db *store.DB, part string, kind journal.Kind, object string, limit int) []journal.Entry {
	t.Helper()
	h, err := journal.History(t.Context(), db, part, kind, object, limit)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func content(t testing.TB, db *store.DB, object string) string {
	t.Helper()
	var all []string
	err := db.Read(t.Context(), func(g *gorm.DB) error {
		return g.Raw("SELECT content FROM memos WHERE part = ?", object).Scan(&all).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, ",")
}

func TestRowAndEntryTogether(t *testing.T) { storetest.Each(t, testRowAndEntryTogether) }

func testRowAndEntryTogether(t *testing.T, e storetest.Engine) {
	boom := errors.New("boom")
	change := journal.Change{Kind: journal.KindMemo, Object: "o", Action: journal.Create, After: state{"x"}}
	unstorable := change
	unstorable.Before = func() {} // no JSON
	for name, fn := range map[string]func(*store.Tx) error{
		"an error after the entry": func(tx *store.Tx) error {
			if err := set(tx, change, journal.Origin{}); err != nil {
				return err
			}
			return boom
		},
		"an entry that cannot be stored": func(tx *store.Tx) error { return set(tx, unstorable, journal.Origin{}) },
		"nothing changed": func(tx *store.Tx) error {
			return errors.Join(set(tx, change, journal.Origin{}), store.ErrUnchanged)
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := e.Open(t)
			err := db.Write(t.Context(), "p", fn)
			if name != "nothing changed" && err == nil {
				t.Error("the write says that it was stored")
			}
			if h, c := history(t, db, "p", journal.KindMemo, "o", 0), content(t, db, "o"); len(h) != 0 || c != "" {
				t.Errorf("%d entries and row %q are left", len(h), c)
			}
		})
	}
	t.Run("all is well", func(t *testing.T) {
		db := e.Open(t)
		if err := db.Write(t.Context(), "p", func(tx *store.Tx) error { return set(tx, change, journal.Origin{}) }); err != nil {
			t.Fatal(err)
		}
		if h, c := history(t, db, "p", journal.KindMemo, "o", 0), content(t, db, "o"); len(h) != 1 || c != "x" {
			t.Errorf("%d entries and row %q", len(h), c)
		}
	})
}

func TestEntryIsWhatWasAppended(t *testing.T) { storetest.Each(t, testEntryIsWhatWasAppended) }

func testEntryIsWhatWasAppended(t *testing.T, e storetest.Engine) {
	db := e.Open(t)
	c := caller.Caller{User: "张三", Group: "g", Role: caller.RoleAdmin, Conversation: "c1", Platform: "Local"}
	by := journal.By(c, "tool")
	by.Run = "run 7"
	var at time.Time
	err := db.Write(t.Context(), "p", func(tx *store.Tx) error {
		at = tx.Now
		return errors.Join(
			journal.Append(tx, by, journal.Change{Kind: journal.KindMemory, Object: "m1", Action: journal.Create, After: state{"喝茶 \"x\" \u2028"}}),
			journal.Append(tx, by, journal.Change{Kind: journal.KindMemory, Object: "m1", Action: journal.Delete, Before: state{"喝茶"}}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	origin := journal.Origin{Actor: "张三", Role: "admin", Source: "tool", Conversation: "c1", Run: "run 7"}
	want := []journal.Entry{
		{Partition: "p", Version: 1, At: at, Origin: origin, Kind: journal.KindMemory, Object: "m1", Action: journal.Delete, Before: json.RawMessage(`{"text":"喝茶"}`)},
		{Partition: "p", Version: 1, At: at, Origin: origin, Kind: journal.KindMemory, Object: "m1", Action: journal.Create, After: json.RawMessage(`{"text":"喝茶 \"x\" \u2028"}`)},
	}
	got := history(t, db, "p", journal.KindMemory, "m1", 0)
	if len(got) != 2 || got[0].Seq <= got[1].Seq {
		t.Fatalf("history %+v; want two entries whose numbers rise", got)
	}
	want[0].Seq, want[1].Seq = got[0].Seq, got[1].Seq
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("history (-want +got):\n%s", d)
	}
	b, err := json.Marshal(got[1])
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.Contains(text, `"before"`) || !strings.Contains(text, `"after":{"text":"喝茶`) || !strings.Contains(text, `"action":"create"`) {
		t.Errorf("a creation as JSON: %s", text)
	}
	var back journal.Entry
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got[1], back); d != "" {
		t.Errorf("through JSON (-was +is):\n%s", d)
	}
}

func TestHistoryOrderAndLimit(t *testing.T) { storetest.Each(t, testHistoryOrderAndLimit) }

func testHistoryOrderAndLimit(t *testing.T, e storetest.Engine) {
	db := e.Open(t)
	for i := range 130 {
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error {
			return set(tx, journal.Change{Kind: journal.KindMemo, Object: "o", Action: journal.Update, After: state{fmt.Sprint(i)}}, journal.Origin{})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ limit, want int }{{0, 100}, {-1, 100}, {1, 1}, {7, 7}, {1000, 130}} {
		h := history(t, db, "p", journal.KindMemo, "o", tc.limit)
		if len(h) != tc.want {
			t.Errorf("limit %d gives %d entries, want %d", tc.limit, len(h), tc.want)
		}
		for i, e := range h {
			if want := fmt.Sprintf(`{"text":"%d"}`, 129-i); string(e.After) != want || e.Version != int64(130-i) {
				t.Fatalf("limit %d: entry %d is %s of version %d; want %s", tc.limit, i, e.After, e.Version, want)
			}
		}
	}
}

func TestHistoryIsOfOneObject(t *testing.T) { storetest.Each(t, testHistoryIsOfOneObject) }

func testHistoryIsOfOneObject(t *testing.T, e storetest.Engine) {
	db := e.Open(t)
	for _, part := range []string{"p", "q"} {
		err := db.Write(t.Context(), part, func(tx *store.Tx) error {
			for _, kind := range []journal.Kind{journal.KindMemo, journal.KindMemory} {
				for _, object := range []string{"o", "o2"} {
					err := journal.Append(tx, journal.Origin{}, journal.Change{Kind: kind, Object: object, Action: journal.Create, After: state{part + string(kind) + object}})
					if err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	h := history(t, db, "q", journal.KindMemory, "o2", 0)
	if len(h) != 1 || string(h[0].After) != `{"text":"qmemoryo2"}` {
		t.Errorf("history of one object: %+v", h)
	}
	if h := history(t, db, "r", journal.KindMemory, "o2", 0); len(h) != 0 {
		t.Errorf("history in a partition that does not exist: %+v", h)
	}
}

// Whatever is done and refused, the newest entry is the row, and each entry's before is
// the after of the one that came before it.
func TestJournalTellsTheWholeStory(t *testing.T) { storetest.Each(t, testJournalTellsTheWholeStory) }

func testJournalTellsTheWholeStory(t *testing.T, e storetest.Engine) {
	db := e.Open(t)
	stories := 0
	rapid.Check(t, func(r *rapid.T) {
		stories++
		part := fmt.Sprint("p", stories)
		rows := map[string]string{}
		for range rapid.IntRange(1, 25).Draw(r, "changes") {
			object := part + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "object")
			text := rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\x00") }).Draw(r, "text")
			fails := rapid.IntRange(0, 3).Draw(r, "fails") == 0
			old, there := rows[object]
			c := journal.Change{Kind: journal.KindMemo, Object: object, Action: journal.Create, After: state{text}}
			if there {
				c.Action, c.Before = journal.Update, state{old}
			}
			err := db.Write(t.Context(), part, func(tx *store.Tx) error {
				if err := set(tx, c, journal.Origin{}); err != nil || !fails {
					return err
				}
				return errors.New("refused")
			})
			if (err != nil) != fails {
				r.Fatal(err)
			}
			if !fails {
				rows[object] = text
			}
		}
		for object, text := range rows {
			var before json.RawMessage
			for i, e := range history(t, db, part, journal.KindMemo, object, 0) {
				var s state
				if err := json.Unmarshal(e.After, &s); err != nil {
					r.Fatal(err)
				}
				if i == 0 && (s.Text != text || content(t, db, object) != text) {
					r.Fatalf("row %q, newest entry %q, want %q", content(t, db, object), s.Text, text)
				}
				if i > 0 && string(before) != string(e.After) {
					r.Fatalf("an entry begins with %s; the one before it ended with %s", before, e.After)
				}
				before = e.Before
			}
			if before != nil {
				r.Fatalf("the first entry has a before: %s", before)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, e := range storetest.Engines(b) {
		b.Run(e.Name, func(b *testing.B) { benchmarkAppend(b, e.Open(b)) })
	}
}

func benchmarkAppend(b *testing.B, db *store.DB) {
	c := journal.Change{Kind: journal.KindMemory, Object: strings.Repeat("a", 32), Action: journal.Update, Before: state{strings.Repeat("x", 100)}, After: state{strings.Repeat("y", 100)}}
	for b.Loop() {
		if err := db.Write(b.Context(), "p", func(tx *store.Tx) error { return journal.Append(tx, journal.Origin{Actor: "ann"}, c) }); err != nil {
			b.Fatal(err)
		}
	}
}
