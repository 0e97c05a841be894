package caller_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"reverie/internal/caller"
)

func TestCheckID(t *testing.T) {
	for _, tt := range []struct{ name, id, says string }{ // says is empty if the id is fine
		{"plain", "alice", ""},
		{"space inside", "Alice B. Smith", ""},
		{"chinese", "小明", ""},
		{"persian with a non-joiner", "می\u200cخواهم", ""},
		{"emoji with a joiner", "👩\u200d💻", ""},
		{"punctuation", "a_b-c:d/e@f.g#1", ""},
		{"imitates a key", "Local_Private_bob", ""},
		{"longest", strings.Repeat("密", caller.MaxIDRunes), ""},
		{"empty", "", "is empty"},
		{"white space only", " \t\u3000", "is empty"},
		{"too long", strings.Repeat("密", caller.MaxIDRunes+1), "has 129 characters"},
		{"not utf-8", "a\xff", "not valid UTF-8"},
		{"nul", "a\x00b", "control character"},
		{"line feed", "a\nb", "control character"},
		{"line feed at the end", "alice\n", "control character"},
		{"delete", "a\x7f", "control character"},
		{"c1", "a\u0085b", "control character"},
		{"leading space", " alice", "white space"},
		{"trailing space", "alice ", "white space"},
		{"trailing no-break space", "alice\u00a0", "white space"},
		{"leading ideographic space", "\u3000小明", "white space"},
		{"zero-width space", "al\u200bice", "U+200B"},
		{"byte order mark", "\ufeffalice", "U+FEFF"},
		{"soft hyphen", "al\u00adice", "U+00AD"},
		{"word joiner", "alice\u2060", "U+2060"},
		{"right-to-left override", "al\u202eice", "U+202E"},
		{"left-to-right mark", "alice\u200e", "U+200E"},
		{"isolate", "\u2066alice", "U+2066"},
		{"tag character", "alice\U000e0041", "U+E0041"},
		{"line separator", "al\u2028ice", "U+2028"},
		{"paragraph separator at the end", "alice\u2029", "U+2029"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := caller.CheckID("user", tt.id)
			checkSays(t, err, tt.says)
			if err != nil && !strings.Contains(err.Error(), "user id") {
				t.Errorf("%q does not name the field", err)
			}
			// The same rule for all three ids.
			for name, c := range map[string]caller.Caller{
				"user":         {User: tt.id, Platform: "Local"},
				"group":        {User: "u", Group: tt.id, Platform: "Local"},
				"conversation": {User: "u", Conversation: tt.id, Platform: "Local"},
			} {
				if tt.id == "" && name != "user" {
					continue // there is none
				}
				err := c.Validate()
				checkSays(t, err, tt.says)
				if err != nil && !strings.Contains(err.Error(), name+" id") {
					t.Errorf("%s: %q does not name the field", name, err)
				}
			}
		})
	}
}

func checkSays(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Errorf("refused: %v", err)
	case says != "" && (!errors.Is(err, caller.ErrInvalid) || !strings.Contains(err.Error(), says)):
		t.Errorf("err = %v, want ErrInvalid that says %q", err, says)
	}
}

func TestCheckPlatform(t *testing.T) {
	for _, p := range []string{"Local", "QQPlatform", "a", "9", strings.Repeat("x", caller.MaxPlatformBytes)} {
		if err := caller.CheckPlatform(p); err != nil {
			t.Errorf("%q refused: %v", p, err)
		}
	}
	for _, p := range []string{"", " ", "Local ", "a_b", "a-b", "Local_Private", "平台", "ａ", "a\n", strings.Repeat("x", caller.MaxPlatformBytes+1)} {
		if err := caller.CheckPlatform(p); !errors.Is(err, caller.ErrInvalid) {
			t.Errorf("%q: err = %v", p, err)
		}
	}
}

func TestParseRole(t *testing.T) {
	for _, r := range []caller.Role{caller.RoleNone, caller.RoleMember, caller.RoleAdmin, caller.RoleOwner} {
		if got, err := caller.ParseRole(string(r)); got != r || err != nil {
			t.Errorf("ParseRole(%q) = %q, %v", r, got, err)
		}
	}
	for _, s := range []string{"Admin", "admin ", "root", "owner\x00", "admin,owner"} {
		if got, err := caller.ParseRole(s); got != caller.RoleNone || !errors.Is(err, caller.ErrInvalid) {
			t.Errorf("ParseRole(%q) = %q, %v", s, got, err)
		}
	}
}

func TestParseScope(t *testing.T) {
	for s, want := range map[string]caller.Scope{"": caller.ScopeUser, "user": caller.ScopeUser, "group": caller.ScopeGroup} {
		if got, err := caller.ParseScope(s); got != want || err != nil {
			t.Errorf("ParseScope(%q) = %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"User", "group ", "all", "../x"} {
		if got, err := caller.ParseScope(s); got != "" || !errors.Is(err, caller.ErrInvalid) {
			t.Errorf("ParseScope(%q) = %q, %v", s, got, err)
		}
	}
}

// An error repeats enough to see what was wrong, and not more.
func TestErrorsAreShort(t *testing.T) {
	const head = "0123456789012345678901234567890123456789" // 40
	for name, tail := range map[string]string{"long": strings.Repeat("x", 1<<20), "wide": strings.Repeat("密", 1<<18), "broken": strings.Repeat("\xff", 1<<18)} {
		hostile := head + tail
		good := caller.Caller{User: "u", Group: "g", Platform: "Local"}
		badRole, badPlatform := good, good
		badRole.Role, badPlatform.Platform = caller.Role(hostile), hostile
		_, role := caller.ParseRole(hostile)
		_, scope := caller.ParseScope(hostile)
		_, partition := good.Partition(caller.Scope(hostile))
		for from, err := range map[string]error{
			"role": role, "scope": scope, "partition": partition, "platform": caller.CheckPlatform(hostile), "id": caller.CheckID("user", hostile),
			"caller's role": badRole.Validate(), "caller's platform": badPlatform.Validate(), "may rewrite": badRole.MayRewrite(caller.ScopeGroup),
		} {
			if err == nil || len(err.Error()) > 300 || !utf8.ValidString(err.Error()) {
				t.Errorf("%s, %s: %.400v", name, from, err)
				continue
			}
			if from != "id" && !strings.Contains(err.Error(), `"`+head+`"…`) {
				t.Errorf("%s, %s: %v does not repeat the beginning alone", name, from, err)
			}
		}
	}
}

func TestPartition(t *testing.T) {
	private := caller.Caller{User: "alice", Platform: "Local"}
	group := caller.Caller{User: "alice", Group: "g1", Role: caller.RoleOwner, Conversation: "c9", Platform: "QQPlatform"}
	for _, tt := range []struct {
		name  string
		c     caller.Caller
		scope caller.Scope
		want  string
		err   error
	}{
		{"private", private, caller.ScopeUser, "Local_Private_alice", nil},
		{"private from a group", group, caller.ScopeUser, "QQPlatform_Private_alice", nil},
		{"group", group, caller.ScopeGroup, "QQPlatform_Group_g1", nil},
		{"group from a private chat", private, caller.ScopeGroup, "", caller.ErrNoGroup},
		{"no such scope", group, "all", "", caller.ErrInvalid},
		{"zero", caller.Caller{}, caller.ScopeUser, "", caller.ErrInvalid},
		{"no platform", caller.Caller{User: "alice"}, caller.ScopeUser, "", caller.ErrInvalid},
		{"bad role", caller.Caller{User: "alice", Role: "king", Platform: "Local"}, caller.ScopeUser, "", caller.ErrInvalid},
	} {
		if got, err := tt.c.Partition(tt.scope); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
	if got := private.MemoScope(); got != caller.ScopeUser {
		t.Errorf("memo scope in a private chat: %q", got)
	}
	if got := group.MemoScope(); got != caller.ScopeGroup {
		t.Errorf("memo scope in a group: %q", got)
	}
}

// Two keys are the same only if platform, scope and the id that the scope speaks of are the same; ids and platforms
// are put together from what keys are made of.
func TestPartitionKeysDoNotCollide(t *testing.T) {
	part := rapid.SampledFrom([]string{"Local", "Private", "Group", "_", "_", "a", "A", "a ", " b", "密", "\u0301", "/"})
	id := rapid.Custom(func(t *rapid.T) string {
		return strings.TrimSpace("x" + strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), ""))[rapid.IntRange(0, 1).Draw(t, "from"):]
	}).Filter(func(s string) bool { return caller.CheckID("user", s) == nil })
	platform := rapid.SampledFrom([]string{"Local", "LocalPrivate", "Private", "Group", "a", "A", "LocalPrivatea"})
	who := rapid.Custom(func(t *rapid.T) caller.Caller {
		return caller.Caller{User: id.Draw(t, "user"), Group: id.Draw(t, "group"), Platform: platform.Draw(t, "platform")}
	})
	scope := rapid.SampledFrom([]caller.Scope{caller.ScopeUser, caller.ScopeGroup})
	meaning := func(c caller.Caller, s caller.Scope) [3]string {
		if s == caller.ScopeGroup {
			return [3]string{c.Platform, string(s), c.Group}
		}
		return [3]string{c.Platform, string(s), c.User}
	}
	rapid.Check(t, func(t *rapid.T) {
		c1, c2 := who.Draw(t, "one"), who.Draw(t, "two")
		s1, s2 := scope.Draw(t, "scope one"), scope.Draw(t, "scope two")
		k1, err1 := c1.Partition(s1)
		k2, err2 := c2.Partition(s2)
		if err1 != nil || err2 != nil {
			t.Fatalf("%v, %v", err1, err2)
		}
		if same := meaning(c1, s1) == meaning(c2, s2); (k1 == k2) != same {
			t.Fatalf("%+v %s has %q, %+v %s has %q", c1, s1, k1, c2, s2, k2)
		}
	})
}

func TestMayRewrite(t *testing.T) {
	for _, tt := range []struct {
		role  caller.Role
		scope caller.Scope
		ok    bool
		says  string
	}{
		{caller.RoleNone, caller.ScopeUser, true, ""},
		{caller.RoleMember, caller.ScopeUser, true, ""},
		{caller.RoleAdmin, caller.ScopeUser, true, ""},
		{caller.RoleOwner, caller.ScopeUser, true, ""},
		{caller.RoleNone, caller.ScopeGroup, false, "no role is known"},
		{caller.RoleMember, caller.ScopeGroup, false, `your role is "member"`},
		{"Admin", caller.ScopeGroup, false, `your role is "Admin"`},
		{caller.RoleAdmin, caller.ScopeGroup, true, ""},
		{caller.RoleOwner, caller.ScopeGroup, true, ""},
	} {
		c := caller.Caller{User: "u", Group: "g", Role: tt.role, Platform: "Local"}
		err := c.MayRewrite(tt.scope)
		if (err == nil) != tt.ok || !tt.ok && (!errors.Is(err, caller.ErrForbidden) || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%q in scope %s: %v", tt.role, tt.scope, err)
		}
	}
}
