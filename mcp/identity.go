package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/caller"
)

// metaPrefix begins the _meta keys by which a host says who is speaking.
const metaPrefix = "reverie/"

var metaKeys = []string{"reverie/user", "reverie/group", "reverie/role", "reverie/conversation", "reverie/platform"}

// identify finds the caller of one request: what its _meta says, on top of base.
//
// A named user is another person, so the group and the role of base are theirs no
// longer; a named group or another platform is another place, so the role of base does
// not hold there. Conversation and platform fall through. Keys of others are ignored, unknown ones
// under reverie/ are an error: a typing mistake must not hand out another's memory.
func identify(base caller.Caller, meta json.RawMessage) (caller.Caller, error) {
	if len(meta) == 0 || string(meta) == "null" {
		return base, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(meta, &all); err != nil {
		return base, fmt.Errorf("%w: _meta must be an object, not %s", caller.ErrInvalid, describe(meta))
	}
	said := map[string]string{}
	for key, raw := range all {
		if !strings.HasPrefix(key, metaPrefix) {
			continue
		}
		if !slices.Contains(metaKeys, key) {
			return base, fmt.Errorf("%w: %w", caller.ErrInvalid, unknownName("_meta key", key, metaKeys))
		}
		var value string
		if raw[0] != '"' || json.Unmarshal(raw, &value) != nil {
			return base, fmt.Errorf("%w: _meta key %s must be a string, not %s; leave the key out if there is nothing to say", caller.ErrInvalid, key, describe(raw))
		}
		said[strings.TrimPrefix(key, metaPrefix)] = value
	}
	return merge(base, said)
}

// merge lays what the host said over base and checks the outcome.
func merge(base caller.Caller, said map[string]string) (caller.Caller, error) {
	c := base
	if platform, ok := said["platform"]; ok && platform != c.Platform {
		// The same group name on another platform is another group, with other owners.
		c.Platform, c.Role = platform, ""
	}
	if user, ok := said["user"]; ok {
		c.User, c.Group, c.Role = user, "", ""
	}
	if group, ok := said["group"]; ok { // "" says: in no group
		c.Group, c.Role = group, ""
	}
	if role, ok := said["role"]; ok {
		r, err := caller.ParseRole(role)
		if err != nil {
			return base, err
		}
		c.Role = r
	}
	if conversation, ok := said["conversation"]; ok {
		c.Conversation = conversation
	}
	if err := c.Validate(); err != nil {
		return base, err
	}
	return c, nil
}

// identity is what is known of the caller of the request in a context.
type identity struct {
	caller caller.Caller
	err    error // what was wrong with what the host said
}

type identityKey struct{}

func withIdentity(ctx context.Context, c caller.Caller, err error) context.Context {
	return context.WithValue(ctx, identityKey{}, identity{c, err})
}

// callerOf returns the caller of the request that ctx belongs to. Every handler asks
// here; there is no current user besides.
func (s *Server) callerOf(ctx context.Context) (caller.Caller, error) {
	id, ok := ctx.Value(identityKey{}).(identity)
	if !ok {
		return s.o.Caller, nil
	}
	return id.caller, id.err
}
