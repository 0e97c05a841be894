package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"reverie/internal/caller"
	"reverie/internal/intake"
	"reverie/journal"
	"reverie/memo"
	"reverie/store"
	"reverie/store/storetest"
	"reverie/transfer"
	"reverie/vector"
)

func TestMain(m *testing.M) {
	if home := os.Getenv(childEnv); home != "" {
		killedChild(home, os.Getenv(childDSN))
	}
	storetest.Main(m)
}

// home is a store with the services on it.
type home struct {
	storetest.Home
	db       *store.DB
	memories *vector.Service
}

// newHome makes a store whose searches are by words only: no test here is about vectors.
func newHome(t testing.TB, e storetest.Engine) *home {
	t.Helper()
	h := e.New(t)
	db := h.Open(t)
	s, err := vector.New(t.Context(), db, nil, vector.Options{Clean: intake.Policy{}.Clean})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &home{h, db, s}
}

var day = time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)

// given is a memory as it may be in any store; n makes its id.
func given(n int, content string, change ...func(*vector.Memory)) vector.Memory {
	m := vector.Memory{
		ID: fmt.Sprintf("%032x", n), Scope: caller.ScopeUser, Content: content, Tags: []string{}, Importance: vector.Medium,
		Source: vector.FromUser, CreatedAt: day.Add(time.Duration(n) * time.Second), UpdatedAt: day, State: vector.Live, Seen: 1,
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func ofGroup(m *vector.Memory) { m.Scope = caller.ScopeGroup }

func private(m *vector.Memory) { m.Private = true }

func state(s vector.State) func(*vector.Memory) { return func(m *vector.Memory) { m.State = s } }

// hold puts memories under any key.
func (h *home) hold(t testing.TB, part string, ms ...vector.Memory) {
	t.Helper()
	r, err := h.memories.Import(t.Context(), part, ms, vector.ImportOptions{Whole: true})
	if err != nil || r.Added != len(ms) {
		t.Fatalf("hold in %s: %+v, %v", part, r, err)
	}
}

// note puts a memo under any key, as a caller of that partition would.
func (h *home) note(t testing.TB, part string, texts ...string) {
	t.Helper()
	for i, text := range texts {
		err := h.db.Write(t.Context(), part, func(tx *store.Tx) error {
			m := memo.Memo{Content: text, Version: int64(i + 1), UpdatedAt: tx.Now, UpdatedBy: "x"}
			if err := tx.Exec(`INSERT INTO memos (part, content, version, updated_at, updated_by) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (part) DO UPDATE SET content = excluded.content, version = excluded.version, updated_at = excluded.updated_at`,
				part, m.Content, m.Version, m.UpdatedAt.UnixMicro(), m.UpdatedBy).Error; err != nil {
				return err
			}
			return journal.Append(tx, journal.Origin{Source: "test"}, journal.Change{Kind: journal.KindMemo, Object: part, Action: journal.Update, After: m})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// export is the whole store, or some partitions of it, as text.
func (h *home) export(t testing.TB, partitions ...string) string {
	t.Helper()
	var b bytes.Buffer
	r, err := transfer.Export(t.Context(), h.db, &b, transfer.ExportOptions{Partitions: partitions})
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("export: %+v, %v", r, err)
	}
	return b.String()
}

func (h *home) bring(t testing.TB, text string, o transfer.ImportOptions) transfer.ImportReport {
	t.Helper()
	r, err := transfer.Import(t.Context(), h.db, h.memories, strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sound checks the store for rows that contradict one another.
func (h *home) sound(t testing.TB) {
	t.Helper()
	if r, err := h.db.Check(context.Background()); err != nil || len(r.Problems) > 0 {
		t.Errorf("check: %q, %v", r.Problems, err)
	}
}

func (h *home) version(t testing.TB, part string) int64 {
	t.Helper()
	v, err := h.db.Version(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
