package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	sdk "github.com/mark3labs/mcp-go/mcp"
	sdkserver "github.com/mark3labs/mcp-go/server"

	"reverie/internal/caller"
	"reverie/vector"
)

// The resources. What they show obeys the caller as tools do; in a group the memo and
// the list are the group's.
const (
	memoURI     = "memory://memo"
	memoriesURI = "memory://memories"
	statusURI   = "memory://status"
)

type uriKind int

const (
	uriUnknown uriKind = iota
	uriMemo
	uriMemories
	uriMemory
	uriStatus
)

// reference is a resource URI taken apart.
type reference struct {
	kind       uriKind
	id, cursor string
}

// parseURI takes a URI apart; ok is false if it names no resource.
func parseURI(uri string) (r reference, ok bool) {
	base, query, hasQuery := strings.Cut(uri, "?")
	switch {
	case uri == memoURI:
		return reference{kind: uriMemo}, true
	case uri == statusURI:
		return reference{kind: uriStatus}, true
	case base == memoriesURI:
		values, err := url.ParseQuery(query)
		if err != nil || hasQuery && (len(values) != 1 || !values.Has("cursor")) {
			return reference{}, false
		}
		return reference{kind: uriMemories, cursor: values.Get("cursor")}, true
	case strings.HasPrefix(uri, memoriesURI+"/") && !hasQuery:
		id, err := url.PathUnescape(strings.TrimPrefix(uri, memoriesURI+"/"))
		if err != nil || id == "" || strings.Contains(id, "/") {
			return reference{}, false
		}
		return reference{kind: uriMemory, id: id}, true
	}
	return reference{}, false
}

// checkURI refuses what names no resource.
func checkURI(uri, method string, modern bool) *rpcError {
	r, ok := parseURI(uri)
	if !ok {
		return notFound(modern, uri, "no such resource; there are "+memoURI+", "+memoriesURI+", "+memoriesURI+"/{id} and "+statusURI)
	}
	if r.kind == uriStatus && method != string(sdk.MethodResourcesRead) {
		return rpcErrorf(sdk.INVALID_PARAMS, "%s changes all the time and cannot be subscribed to; read it when needed", uri)
	}
	return nil
}

// notFound is the protocol's error for a resource that is not there; the eras differ
// in the code.
func notFound(modern bool, uri, text string) *rpcError {
	code := sdk.RESOURCE_NOT_FOUND
	if modern {
		code = sdk.INVALID_PARAMS
	}
	uri = shorten(uri, 200) // it may be megabytes long, and stands here twice
	return &rpcError{code: code, message: uri + ": " + text, data: map[string]string{"uri": uri}}
}

func (s *Server) addResources() {
	add := func(uri, name, title, description string, h func(context.Context, caller.Caller, reference) (any, error)) {
		s.sdk.AddResource(
			sdk.NewResource(uri, name, sdk.WithResourceTitle(title), sdk.WithResourceDescription(description), sdk.WithMIMEType("application/json")),
			s.resource(h))
	}
	addTemplate := func(uri, name, title, description string, h func(context.Context, caller.Caller, reference) (any, error)) {
		t := sdk.NewResourceTemplate(uri, name, sdk.WithTemplateDescription(description), sdk.WithTemplateMIMEType("application/json"))
		t.Title = title
		s.sdk.AddResourceTemplate(t, sdkserver.ResourceTemplateHandlerFunc(s.resource(h)))
	}
	add(memoURI, "memo", "Memo", "The memo in view: the group's in a group, else the user's, with its version and limit.", s.memoResource)
	add(memoriesURI, "memories", "Memories", "The first page of memories, newest first, as previews with the URI of each.", s.memoriesResource)
	add(statusURI, "status", "Status", "How much is stored for the caller, within which limits, and what embeds it.", s.statusResource)
	addTemplate(memoriesURI+"{?cursor}", "memories-page", "A page of memories", "A further page of memories; the page before it holds the URI.", s.memoriesResource)
	addTemplate(memoriesURI+"/{id}", "memory", "A memory", "One memory in full.", s.memoryResource)
}

// resource makes a handler of the SDK that answers with a value as JSON.
func (s *Server) resource(h func(context.Context, caller.Caller, reference) (any, error)) sdkserver.ResourceHandlerFunc {
	return func(ctx context.Context, req sdk.ReadResourceRequest) ([]sdk.ResourceContents, error) {
		uri := req.Params.URI
		return guarded(s, ctx, uri, func() ([]sdk.ResourceContents, error) {
			c, err := s.callerOf(ctx)
			if err != nil {
				return nil, err
			}
			r, _ := parseURI(uri)
			v, err := h(ctx, c, r)
			if r.kind == uriMemory && (errors.Is(err, vector.ErrNotFound) || errors.Is(err, vector.ErrInvalid)) {
				return nil, notFound(sdkserver.IsModernRequest(ctx), uri, "no such memory; read "+memoriesURI+" for those there are")
			}
			if err != nil {
				return nil, err
			}
			body, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				return nil, err
			}
			return []sdk.ResourceContents{sdk.TextResourceContents{URI: uri, MIMEType: "application/json", Text: string(body)}}, nil
		})
	}
}

func (s *Server) memoResource(ctx context.Context, c caller.Caller, _ reference) (any, error) {
	m, err := s.memos.Get(ctx, c)
	if err != nil {
		return nil, err
	}
	v := s.memoView(c, m)
	v.Content = &m.Content
	return v, nil
}

// memoriesPage is a page with the URIs by which to go on.
type memoriesPage struct {
	Scope caller.Scope  `json:"scope"`
	Total int           `json:"total"`
	Items []memoryEntry `json:"items"`
	Next  string        `json:"next,omitempty"` // URI of the next page
}

type memoryEntry struct {
	URI string `json:"uri"`
	listed
}

func (s *Server) memoriesResource(ctx context.Context, c caller.Caller, r reference) (any, error) {
	data, _, err := s.page(ctx, c, vector.ListQuery{Scope: c.MemoScope(), Limit: 50, Cursor: r.cursor})
	if err != nil {
		return nil, err
	}
	p := memoriesPage{Scope: c.MemoScope(), Total: data.Total, Items: []memoryEntry{}}
	for _, m := range data.Items {
		p.Items = append(p.Items, memoryEntry{memoriesURI + "/" + m.ID, m})
	}
	if data.Cursor != "" {
		p.Next = memoriesURI + "?cursor=" + url.QueryEscape(data.Cursor)
	}
	return p, nil
}

// memoryView is a memory in full, without the key of its partition.
type memoryView struct {
	ID           string            `json:"id"`
	Scope        caller.Scope      `json:"scope"`
	Content      string            `json:"content"`
	Tags         []string          `json:"tags"`
	Importance   vector.Importance `json:"importance"`
	Private      bool              `json:"private"`
	SaidBy       string            `json:"said_by,omitempty"`
	Source       vector.Source     `json:"source,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	CreatedAt    string            `json:"created_at"`
	UpdatedAt    string            `json:"updated_at"`
	EventTime    string            `json:"event_time,omitempty"`
	State        vector.State      `json:"state"`
	SupersededBy string            `json:"superseded_by,omitempty"`
	Seen         int               `json:"seen"`
}

func (s *Server) memoryResource(ctx context.Context, c caller.Caller, r reference) (any, error) {
	m, err := s.find(ctx, c, r.id)
	if err != nil {
		return nil, err
	}
	return memoryView{
		ID: m.ID, Scope: m.Scope, Content: m.Content, Tags: tagsOf(m), Importance: m.Importance, Private: m.Private,
		SaidBy: m.SaidBy, Source: m.Source, Conversation: m.Conversation, CreatedAt: s.time(m.CreatedAt), UpdatedAt: s.time(m.UpdatedAt),
		EventTime: s.time(m.EventTime), State: m.State, SupersededBy: m.SupersededBy, Seen: m.Seen,
	}, nil
}

// find looks for a memory in every scope that the caller has.
func (s *Server) find(ctx context.Context, c caller.Caller, id string) (vector.Memory, error) {
	var m vector.Memory
	var err error
	for _, scope := range scopesInView(c) {
		m, err = s.memories.Get(ctx, c, scope, id)
		if errors.Is(err, vector.ErrDenied) { // kept out of groups: not there
			err = fmt.Errorf("%w: no memory %s here", vector.ErrNotFound, shorten(id, 48))
		}
		if !errors.Is(err, vector.ErrNotFound) {
			break
		}
	}
	return m, err
}

// scopesInView are the scopes of a caller, the one in view first.
func scopesInView(c caller.Caller) []caller.Scope {
	if c.InGroup() {
		return []caller.Scope{caller.ScopeGroup, caller.ScopeUser}
	}
	return []caller.Scope{caller.ScopeUser}
}

func (s *Server) statusResource(ctx context.Context, c caller.Caller, _ reference) (any, error) {
	if s.o.Status != nil {
		return s.o.Status(ctx, c)
	}
	return map[string]string{"server": s.o.Name, "version": s.o.Version}, nil
}
