package mcp

import (
	"strconv"
	"sync"
	"sync/atomic"

	sdk "github.com/mark3labs/mcp-go/mcp"
	sdkserver "github.com/mark3labs/mcp-go/server"
)

// session is the one client of a stdio connection. The SDK's own is a single object per
// process; this one belongs to its connection, so that several can be served at once.
type session struct {
	id            string
	notifications chan sdk.JSONRPCNotification
	initialized   atomic.Bool

	mu           sync.Mutex
	info         sdk.Implementation
	capabilities sdk.ClientCapabilities
	version      string
}

func (s *Server) newSession() *session {
	return &session{
		id:            "stdio-" + strconv.FormatInt(s.sessions.Add(1), 10),
		notifications: make(chan sdk.JSONRPCNotification, 256),
	}
}

func (s *session) SessionID() string                                   { return s.id }
func (s *session) Initialize()                                         { s.initialized.Store(true) }
func (s *session) Initialized() bool                                   { return s.initialized.Load() }
func (s *session) NotificationChannel() chan<- sdk.JSONRPCNotification { return s.notifications }

func (s *session) GetClientInfo() sdk.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *session) SetClientInfo(i sdk.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = i
}

func (s *session) GetClientCapabilities() sdk.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *session) SetClientCapabilities(c sdk.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = c
}

// ProtocolVersion is the version agreed on by initialize, empty before it.
func (s *session) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// SetProtocolVersion is called by the SDK when initialize is answered.
func (s *session) SetProtocolVersion(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = v
}

var (
	_ sdkserver.SessionWithClientInfo      = (*session)(nil)
	_ sdkserver.SessionWithProtocolVersion = (*session)(nil)
)
