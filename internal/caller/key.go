package caller

import "strings"

// P1Platform is the platform of keys that were written before keys named one: all of
// that data came from one chat network.
const P1Platform = "QQPlatform"

// The middle part of partition keys.
const (
	KindPrivate = "Private"
	KindGroup   = "Group"
)

// Key is a partition key taken apart.
type Key struct {
	Platform string // [A-Za-z0-9]{1,32}
	Kind     string // KindPrivate or KindGroup
	ID       string // user or group id
}

// String is the key as [Caller.Partition] writes it.
func (k Key) String() string { return k.Platform + "_" + k.Kind + "_" + k.ID }

// Scope is the scope whose data the key's partition holds.
func (k Key) Scope() Scope {
	if k.Kind == KindGroup {
		return ScopeGroup
	}
	return ScopeUser
}

// CurrentKey takes apart a key that [Caller.Partition] could have written; ok is false
// for every other text.
func CurrentKey(s string) (k Key, ok bool) {
	k.Platform, s, ok = strings.Cut(s, "_")
	if !ok {
		return Key{}, false
	}
	k.Kind, k.ID, ok = strings.Cut(s, "_")
	if !ok || k.Kind != KindPrivate && k.Kind != KindGroup || CheckPlatform(k.Platform) != nil || CheckID("key", k.ID) != nil {
		return Key{}, false
	}
	return k, true
}

// ParseKey reads a partition key of today, or one of the forms that were written before:
// "user_<digits>" and "group_<digits>" (also spelt "Private_" and "Group_"), the same
// behind a platform as in "QQPlatform_user_1", and bare digits where scopeHint ("user" or
// "group", as stored beside the key) says whose they are.
//
// A platform that the key itself names stays; the others get platform, or [P1Platform]
// if that is empty. Whatever else stands there, such as a channel's key, is not placed:
// ok is false. A key of today is returned as it is, so k.String() == old tells that
// nothing is to be done.
func ParseKey(old, scopeHint, platform string) (k Key, ok bool) {
	if k, ok := CurrentKey(old); ok {
		return k, true
	}
	if platform == "" {
		platform = P1Platform
	}
	parts := strings.Split(old, "_")
	k = Key{Platform: platform, ID: parts[len(parts)-1]}
	kind := scopeHint
	switch len(parts) {
	case 1:
		if kind != string(ScopeUser) && kind != string(ScopeGroup) {
			return Key{}, false
		}
	case 2:
		kind = parts[0]
	case 3:
		k.Platform, kind = parts[0], parts[1]
	default:
		return Key{}, false
	}
	switch kind {
	case "user", KindPrivate:
		k.Kind = KindPrivate
	case "group", KindGroup:
		k.Kind = KindGroup
	default:
		return Key{}, false
	}
	if k.ID == "" || strings.Trim(k.ID, "0123456789") != "" || len(k.ID) > MaxIDRunes || CheckPlatform(k.Platform) != nil {
		return Key{}, false
	}
	return k, true
}
