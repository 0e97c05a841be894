package memo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"reverie/internal/caller"
	"reverie/memo"
	"reverie/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var ann = caller.Caller{User: "ann", Platform: "Local"}

func inGroup(c caller.Caller, group string, role caller.Role) caller.Caller {
	c.Group, c.Role = group, role
	return c
}

func mustSet(t *testing.T, s *memo.Store, c caller.Caller, text string) memo.Memo {
	t.Helper()
	m, _, err := s.Set(t.Context(), c, text, nil)
	if err != nil {
		t.Fatalf("set %q: %v", text, err)
	}
	return m
}

func TestSet(t *testing.T) { storetest.Each(t, testSet) }

func testSet(t *testing.T, e storetest.Engine) {
	s := memo.New(e.Open(t), memo.Options{MaxChars: 5})
	m, err := s.Get(t.Context(), ann)
	if err != nil || m.Version != 0 || m.Content != "" {
		t.Fatalf("a new memo is %+v, %v", m, err)
	}
	if m = mustSet(t, s, ann, "你好，世界"); m.Version != 1 {
		t.Errorf("version after the first write is %d", m.Version)
	}
	if m = mustSet(t, s, ann, "你好，世界"); m.Version != 1 {
		t.Errorf("writing the same text raised the version to %d", m.Version)
	}
	var long *memo.TooLongError
	if _, _, err := s.Set(t.Context(), ann, "123456", nil); !errors.As(err, &long) || long.Chars != 6 || long.Limit != 5 {
		t.Errorf("six characters over a limit of five: %v", err)
	}
	if m, _ = s.Get(t.Context(), ann); m.Content != "你好，世界" {
		t.Errorf("a refused write changed the memo to %q", m.Content)
	}
	if m = mustSet(t, s, ann, ""); m.Version != 2 || m.Content != "" {
		t.Errorf("clearing gives %+v", m)
	}
	h, err := s.History(t.Context(), ann)
	if err != nil || len(h) != 2 || !strings.Contains(string(h[0].Before), "你好") {
		t.Errorf("history %+v, %v: want the cleared text in the newest entry", h, err)
	}
}

// A text that is cleaned away is a mistake, not a wish to clear the memo.
func TestCleanedAway(t *testing.T) { storetest.Each(t, testCleanedAway) }

func testCleanedAway(t *testing.T, e storetest.Engine) {
	s := memo.New(e.Open(t), memo.Options{
		Clean: func(text string) (string, []string, error) {
			return strings.TrimSpace(strings.ReplaceAll(text, "secret", "")), []string{"removed a secret"}, nil
		},
	})
	mustSet(t, s, ann, "likes rye")
	for _, text := range []string{"secret", " \n", " secret "} {
		if _, _, err := s.Set(t.Context(), ann, text, nil); !errors.Is(err, memo.ErrInvalid) {
			t.Errorf("%q: %v, want refused", text, err)
		}
	}
	if m, err := s.Get(t.Context(), ann); err != nil || m.Content != "likes rye" {
		t.Errorf("the memo is now %+v, %v", m, err)
	}
}

func TestRestore(t *testing.T) { storetest.Each(t, testRestore) }

func testRestore(t *testing.T, e storetest.Engine) {
	s := memo.New(e.Open(t), memo.Options{})
	mustSet(t, s, ann, "one")
	mustSet(t, s, ann, "two")
	if m, err := s.Restore(t.Context(), ann, 1); err != nil || m.Content != "one" || m.Version != 3 {
		t.Errorf("restored %+v, %v", m, err)
	}
	if _, err := s.Restore(t.Context(), ann, 9); !errors.Is(err, memo.ErrInvalid) {
		t.Errorf("a version that never was: %v", err)
	}
	if _, err := s.Restore(t.Context(), inGroup(ann, "g", caller.RoleMember), 1); err == nil {
		t.Error("a member restored the group's memo")
	}
}

func TestConflict(t *testing.T) { storetest.Each(t, testConflict) }

func testConflict(t *testing.T, e storetest.Engine) {
	s := memo.New(e.Open(t), memo.Options{})
	mustSet(t, s, ann, "one")
	stale := int64(0)
	var conflict *memo.ConflictError
	if _, _, err := s.Set(t.Context(), ann, "two", &stale); !errors.As(err, &conflict) || conflict.Current.Content != "one" {
		t.Fatalf("a stale version gives %v, want a conflict that shows the memo", err)
	}
	fresh := int64(1)
	if m, _, err := s.Set(t.Context(), ann, "two", &fresh); err != nil || m.Version != 2 {
		t.Fatalf("the right version gives %+v, %v", m, err)
	}
}

func TestGroupMemoNeedsRole(t *testing.T) { storetest.Each(t, testGroupMemoNeedsRole) }

func testGroupMemoNeedsRole(t *testing.T, e storetest.Engine) {
	s := memo.New(e.Open(t), memo.Options{})
	mustSet(t, s, ann, "ann's own")
	for _, role := range []caller.Role{caller.RoleNone, caller.RoleMember} {
		if _, _, err := s.Set(t.Context(), inGroup(ann, "g", role), "x", nil); !errors.Is(err, caller.ErrForbidden) {
			t.Errorf("role %q: %v, want forbidden", role, err)
		}
	}
	mustSet(t, s, inGroup(ann, "g", caller.RoleAdmin), "the group's")
	if m, _ := s.Get(t.Context(), inGroup(caller.Caller{User: "bob", Platform: "Local"}, "g", "")); m.Content != "the group's" {
		t.Errorf("in the group bob sees %q", m.Content)
	}
	if m, _ := s.Get(t.Context(), ann); m.Content != "ann's own" {
		t.Errorf("in private ann sees %q", m.Content)
	}
}

// Two stores on one file stand for two processes: each keeps its own cache.
func TestOtherProcessIsSeenAtOnce(t *testing.T) { storetest.Each(t, testOtherProcessIsSeenAtOnce) }

func testOtherProcessIsSeenAtOnce(t *testing.T, e storetest.Engine) {
	h := e.New(t)
	a, b := memo.New(h.Open(t), memo.Options{}), memo.New(h.Elsewhere(t).Open(t), memo.Options{})
	for i := range 50 {
		text := strings.Repeat("x", i+1)
		mustSet(t, a, ann, text)
		if m, err := b.Get(context.Background(), ann); err != nil || m.Content != text {
			t.Fatalf("write %d: the other store reads %q, %v", i, m.Content, err)
		}
	}
}
