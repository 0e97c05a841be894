package caller_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reverie/internal/caller"
)

func TestParseKey(t *testing.T) {
	long := strings.Repeat("9", caller.MaxIDRunes)
	for _, tt := range []struct {
		name, old, hint, platform string
		want                      string // empty: not placed
		scope                     caller.Scope
	}{
		{"old user", "user_123", "", "", "QQPlatform_Private_123", caller.ScopeUser},
		{"old group", "group_45", "", "", "QQPlatform_Group_45", caller.ScopeGroup},
		{"old user, platform given", "user_123", "", "Local", "Local_Private_123", caller.ScopeUser},
		{"platform in the key", "QQPlatform_user_1", "", "Local", "QQPlatform_Private_1", caller.ScopeUser},
		{"platform in the key, group", "TG_group_1", "", "", "TG_Group_1", caller.ScopeGroup},
		{"without a platform", "Private_7", "", "", "QQPlatform_Private_7", caller.ScopeUser},
		{"without a platform, group", "Group_7", "", "TG", "TG_Group_7", caller.ScopeGroup},
		{"the hint never outvotes the key", "user_1", "group", "", "QQPlatform_Private_1", caller.ScopeUser},
		{"leading zeros are another text", "user_007", "", "", "QQPlatform_Private_007", caller.ScopeUser},
		{"longest id", "user_" + long, "", "", "QQPlatform_Private_" + long, caller.ScopeUser},
		{"bare digits of a user", "99", "user", "", "QQPlatform_Private_99", caller.ScopeUser},
		{"bare digits of a group", "99", "group", "TG", "TG_Group_99", caller.ScopeGroup},

		{"today's", "QQPlatform_Private_1", "", "Local", "QQPlatform_Private_1", caller.ScopeUser},
		{"today's group", "Local_Group_qq-group-1", "user", "", "Local_Group_qq-group-1", caller.ScopeGroup},
		{"today's, any id", "Local_Private_a:b", "", "", "Local_Private_a:b", caller.ScopeUser},
		{"today's, an id like an old key", "Local_Private_user_1", "", "", "Local_Private_user_1", caller.ScopeUser},
		{"today's, 张三", "Local_Private_张三", "", "", "Local_Private_张三", caller.ScopeUser},
		{"today's on a platform called user", "user_Private_1", "", "", "user_Private_1", caller.ScopeUser},

		{"bare digits, no hint", "99", "", "", "", ""},
		{"bare digits, odd hint", "99", "channel", "", "", ""},
		{"bare digits, the hint spelt as in keys", "99", "Private", "", "", ""},
		{"channel", "Channel_5", "user", "", "", ""},
		{"channel of a platform", "QQPlatform_Channel_5", "group", "", "", ""},
		{"not digits", "user_alice", "", "", "", ""},
		{"no id", "user_", "user", "", "", ""},
		{"no id of today", "Local_Private_", "", "", "", ""},
		{"wide digits", "user_１２", "", "", "", ""},
		{"sign", "user_-1", "", "", "", ""},
		{"white space", " user_1", "", "", "", ""},
		{"line end", "user_1\n", "", "", "", ""},
		{"other case", "User_1", "", "", "", ""},
		{"four parts", "a_b_user_1", "", "", "", ""},
		{"id too long", "user_" + long + "9", "", "", "", ""},
		{"today's, id too long", "Local_Private_" + long + "9", "", "", "", ""},
		{"platform with a dash in the key", "qq-x_user_1", "", "", "", ""},
		{"platform with a dash given", "user_1", "", "qq-x", "", ""},
		{"nothing", "", "user", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, ok := caller.ParseKey(tt.old, tt.hint, tt.platform)
			if ok != (tt.want != "") || ok && (k.String() != tt.want || k.Scope() != tt.scope) || !ok && k != (caller.Key{}) {
				t.Errorf("ParseKey(%q, %q, %q) = %+v, %v; want %q of scope %q", tt.old, tt.hint, tt.platform, k, ok, tt.want, tt.scope)
			}
		})
	}
}

// What Partition writes is read back, and placing a key twice changes nothing more.
func TestKeysAreReadBack(t *testing.T) {
	id := rapid.StringMatching(`[A-Za-z0-9_:张-]{1,20}`)
	platform := rapid.StringMatching(`[A-Za-z0-9]{1,32}`)
	rapid.Check(t, func(t *rapid.T) {
		c := caller.Caller{User: id.Draw(t, "user"), Group: id.Draw(t, "group"), Platform: platform.Draw(t, "platform")}
		for scope, want := range map[caller.Scope]string{caller.ScopeUser: c.User, caller.ScopeGroup: c.Group} {
			part, err := c.Partition(scope)
			if err != nil {
				t.Fatal(err)
			}
			k, ok := caller.CurrentKey(part)
			if !ok || k.Platform != c.Platform || k.ID != want || k.Scope() != scope || k.String() != part {
				t.Fatalf("%q is read as %+v, %v", part, k, ok)
			}
		}
		old := rapid.StringMatching(`([A-Za-z]{1,5}_)?(user|group|Private|Group|Channel)?_?[0-9]{0,4}`).Draw(t, "old")
		k, ok := caller.ParseKey(old, "user", "")
		if !ok {
			return
		}
		if again, ok := caller.ParseKey(k.String(), "group", "Other"); !ok || again != k {
			t.Fatalf("%q becomes %q, and that %q", old, k, again)
		}
	})
}
