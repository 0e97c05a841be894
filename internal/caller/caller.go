package caller

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scope names whose data a call is about. It is never an identity: the caller's
// identity turns a scope into a partition.
type Scope string

const (
	// ScopeUser is the caller's own partition, the same in private chats and in groups.
	ScopeUser Scope = "user"
	// ScopeGroup is the partition of the group in which the caller is speaking.
	ScopeGroup Scope = "group"
)

// Role is the caller's standing in the current group, as the host says.
type Role string

const (
	// RoleNone means that the host named no role; it grants what RoleMember grants.
	RoleNone Role = ""
	// RoleMember may read and add group data.
	RoleMember Role = "member"
	// RoleAdmin may also rewrite and delete group data.
	RoleAdmin Role = "admin"
	// RoleOwner may do what RoleAdmin may.
	RoleOwner Role = "owner"
)

// MaxIDRunes bounds user, group and conversation ids, in code points.
const MaxIDRunes = 128

// MaxPlatformBytes bounds the platform name, which is ASCII.
const MaxPlatformBytes = 32

// DefaultPlatform is the platform part of partition keys when nothing else is said.
const DefaultPlatform = "Local"

var (
	// ErrInvalid marks an identity or scope that cannot be used; the message says what is allowed.
	ErrInvalid = errors.New("invalid caller")
	// ErrNoGroup is returned for group scope outside a group.
	ErrNoGroup = errors.New("not in a group")
	// ErrForbidden is returned when the caller's role does not allow the change.
	ErrForbidden = errors.New("not allowed")
)

// Caller is who speaks, as the host says. The zero value is not valid; see [Caller.Validate].
// It is a plain value and safe to copy.
type Caller struct {
	User         string `json:"user"`                   // 1 to 128 code points, exact and case-sensitive
	Group        string `json:"group,omitempty"`        // empty in a private chat
	Role         Role   `json:"role,omitempty"`         // standing in Group
	Conversation string `json:"conversation,omitempty"` // the chat history this call belongs to, if the host says
	Platform     string `json:"platform"`               // [A-Za-z0-9]{1,32}
}

// InGroup reports whether the caller is speaking in a group.
func (c Caller) InGroup() bool { return c.Group != "" }

// Validate checks every field and returns an error wrapping [ErrInvalid] that names the field and the rule.
func (c Caller) Validate() error {
	if err := CheckID("user", c.User); err != nil {
		return err
	}
	if c.Group != "" {
		if err := CheckID("group", c.Group); err != nil {
			return err
		}
	}
	if c.Conversation != "" {
		if err := CheckID("conversation", c.Conversation); err != nil {
			return err
		}
	}
	if _, err := ParseRole(string(c.Role)); err != nil {
		return err
	}
	return CheckPlatform(c.Platform)
}

// CheckID checks a user, group or conversation id: 1 to 128 code points of valid
// UTF-8, without white space at its ends, control characters, line separators, and
// characters that are invisible or change the direction of writing. Ids are compared
// exactly, so two that look the same must be the same. Joiner and non-joiner stay: some
// scripts spell names with them. The error never quotes the id.
func CheckID(field, id string) error {
	switch {
	case strings.TrimSpace(id) == "":
		return fmt.Errorf("%w: %s id is empty; give 1 to %d characters", ErrInvalid, field, MaxIDRunes)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: %s id is not valid UTF-8", ErrInvalid, field)
	case utf8.RuneCountInString(id) > MaxIDRunes:
		return fmt.Errorf("%w: %s id has %d characters; the limit is %d", ErrInvalid, field, utf8.RuneCountInString(id), MaxIDRunes)
	case strings.IndexFunc(id, unicode.IsControl) >= 0:
		return fmt.Errorf("%w: %s id has a control character; remove it", ErrInvalid, field)
	}
	// The line separators are white space too; said first, what they are is plainer.
	if at := strings.IndexFunc(id, unseen); at >= 0 {
		r, _ := utf8.DecodeRuneInString(id[at:])
		return fmt.Errorf("%w: %s id has an invisible or direction-changing character (U+%04X); remove it", ErrInvalid, field, r)
	}
	if strings.TrimSpace(id) != id {
		return fmt.Errorf("%w: %s id begins or ends with white space; remove it", ErrInvalid, field)
	}
	return nil
}

// unseen reports whether r changes nothing, or only the direction, of what a reader sees.
func unseen(r rune) bool {
	const nonJoiner, joiner, lineSeparator, paragraphSeparator = 0x200C, 0x200D, 0x2028, 0x2029
	if r == lineSeparator || r == paragraphSeparator {
		return true
	}
	return unicode.Is(unicode.Cf, r) && r != nonJoiner && r != joiner
}

// maxEcho bounds, in code points, how much of a refused value an error message repeats.
const maxEcho = 40

// echo quotes the beginning of a refused value: enough to recognise a slip of the pen, not
// enough to fill a log or to speak to a model.
func echo(v string) string {
	n := 0
	for i := range v {
		if n == maxEcho {
			return fmt.Sprintf("%q…", v[:i])
		}
		n++
	}
	return fmt.Sprintf("%q", v)
}

// CheckPlatform checks a platform name. Letters and digits only: the first underscore
// of a partition key ends the platform, so no id can imitate another partition's key.
func CheckPlatform(p string) error {
	ok := p != "" && len(p) <= MaxPlatformBytes
	for i := 0; ok && i < len(p); i++ {
		c := p[i]
		ok = c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	}
	if !ok {
		return fmt.Errorf("%w: platform %s; use 1 to %d ASCII letters and digits, such as Local or QQPlatform", ErrInvalid, echo(p), MaxPlatformBytes)
	}
	return nil
}

// ParseRole reads a role name; the empty string is [RoleNone].
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case RoleNone, RoleMember, RoleAdmin, RoleOwner:
		return r, nil
	}
	return RoleNone, fmt.Errorf("%w: role %s; allowed: member, admin, owner", ErrInvalid, echo(s))
}

// ParseScope reads a scope name; the empty string is [ScopeUser].
func ParseScope(s string) (Scope, error) {
	switch sc := Scope(s); sc {
	case "":
		return ScopeUser, nil
	case ScopeUser, ScopeGroup:
		return sc, nil
	}
	return "", fmt.Errorf("%w: scope %s; allowed: user, group", ErrInvalid, echo(s))
}

// Partition returns the key under which the scope's data lives, or [ErrNoGroup] for
// group scope in a private chat.
func (c Caller) Partition(s Scope) (string, error) {
	if err := c.Validate(); err != nil {
		return "", err
	}
	switch s {
	case ScopeUser:
		return c.Platform + "_Private_" + c.User, nil
	case ScopeGroup:
		if !c.InGroup() {
			return "", fmt.Errorf("%w: scope \"group\" exists only in a group chat, and this call comes from a private one; use scope \"user\"", ErrNoGroup)
		}
		return c.Platform + "_Group_" + c.Group, nil
	}
	_, err := ParseScope(string(s))
	return "", err
}

// MayRewrite reports whether the caller may change or delete what already stands in the
// scope. A caller may always rewrite their own data; group data needs admin or owner.
func (c Caller) MayRewrite(s Scope) error {
	if s != ScopeGroup || c.Role == RoleAdmin || c.Role == RoleOwner {
		return nil
	}
	has := "no role is known for you"
	if c.Role != RoleNone {
		has = "your role is " + echo(string(c.Role))
	}
	return fmt.Errorf("%w: only an admin or owner of the group may change or delete group data, and %s; ask one of them, or add a new memory instead", ErrForbidden, has)
}

// MemoScope is the scope whose memo is in view: the group's in a group, else the user's.
func (c Caller) MemoScope() Scope {
	if c.InGroup() {
		return ScopeGroup
	}
	return ScopeUser
}
