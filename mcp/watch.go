package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/mark3labs/mcp-go/mcp"
	sdkserver "github.com/mark3labs/mcp-go/server"

	"reverie/internal/caller"
	"reverie/vector"
)

// watcher tells subscribers that a resource has changed: at once when this server
// changed it, within Options.Poll when another process did. While nobody is subscribed
// it does nothing at all.
type watcher struct {
	s    *Server
	kick chan struct{} // look now

	mu   sync.Mutex
	subs map[subscriptionKey]*subscription
	stop context.CancelFunc // ends the loop that runs; nil if none does
	done chan struct{}
}

// subscriptionKey tells apart what the SDK may subscribe several times.
type subscriptionKey struct {
	session, listen, uri string
	caller               caller.Caller // one session may speak for several
}

// maxSubscriptions bounds those of a server: each is looked at whenever something changes.
const maxSubscriptions = 1000

// full reports whether no more subscriptions are taken.
func (w *watcher) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.subs) >= maxSubscriptions
}

// subscription is one resource that one client wants to hear of, as the caller who asked.
type subscription struct {
	session sdkserver.ClientSession
	caller  caller.Caller
	uri     string
	listen  any    // the id of subscriptions/listen; nil for resources/subscribe
	ready   bool   // the client knows that it is subscribed
	seen    string // the versions of the partitions at the last look
	mark    string // what the resource was then
}

func (sub *subscription) key() subscriptionKey {
	return subscriptionKey{sub.session.SessionID(), listenKey(sub.listen), sub.uri, sub.caller}
}

func newWatcher(s *Server) *watcher {
	return &watcher{s: s, kick: make(chan struct{}, 1), subs: map[subscriptionKey]*subscription{}}
}

// hook registers the watcher with the SDK, which itself keeps no subscriptions.
func (w *watcher) hook(h *sdkserver.Hooks) {
	h.AddAfterSubscribe(func(ctx context.Context, _ any, req *sdk.SubscribeRequest, _ *sdk.EmptyResult) {
		w.add(ctx, req.Params.URI, nil)
	})
	h.AddAfterUnsubscribe(func(ctx context.Context, _ any, req *sdk.UnsubscribeRequest, _ *sdk.EmptyResult) {
		if session := sdkserver.ClientSessionFromContext(ctx); session != nil {
			c, err := w.s.callerOf(ctx)
			w.remove(func(k subscriptionKey) bool {
				return err == nil && k == subscriptionKey{session: session.SessionID(), uri: req.Params.URI, caller: c}
			})
		}
	})
	h.AddBeforeSubscriptionsListen(func(ctx context.Context, id any, req *sdk.SubscriptionsListenRequest) {
		for _, uri := range req.Params.Notifications.ResourceSubscriptions {
			w.add(ctx, uri, id)
		}
		session := sdkserver.ClientSessionFromContext(ctx)
		if session == nil {
			return
		}
		context.AfterFunc(ctx, func() {
			w.remove(func(k subscriptionKey) bool { return k.session == session.SessionID() && k.listen == listenKey(id) })
		})
	})
	h.AddOnUnregisterSession(func(_ context.Context, session sdkserver.ClientSession) {
		w.remove(func(k subscriptionKey) bool { return k.session == session.SessionID() })
	})
}

// listenKey writes the id of a subscriptions/listen request so that 1 and "1" differ.
func listenKey(id any) string {
	if id == nil {
		return ""
	}
	return fmt.Sprintf("%T %v", id, id)
}

// add subscribes the session of ctx. What the resource is now is noted before the
// client is answered, so that no later change is missed.
func (w *watcher) add(ctx context.Context, uri string, listen any) {
	session := sdkserver.ClientSessionFromContext(ctx)
	c, err := w.s.callerOf(ctx)
	if session == nil || err != nil || w.s.o.Versions == nil {
		return
	}
	sub := &subscription{session: session, caller: c, uri: uri, listen: listen, ready: listen == nil}
	sub.seen = w.versions(ctx, sub)
	sub.mark, _ = w.look(ctx, sub)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subs[sub.key()] = sub
	if w.stop == nil {
		loop, stop := context.WithCancel(context.Background())
		w.stop, w.done = stop, make(chan struct{})
		go w.run(loop, w.done)
	}
}

// remove drops the subscriptions that match, and ends the loop with the last one.
func (w *watcher) remove(match func(subscriptionKey) bool) {
	w.mu.Lock()
	for k := range w.subs {
		if match(k) {
			delete(w.subs, k)
		}
	}
	var done chan struct{}
	if len(w.subs) == 0 && w.stop != nil {
		w.stop()
		done, w.stop = w.done, nil
	}
	w.mu.Unlock()
	if done != nil {
		<-done
	}
}

// poke makes the watcher look at once.
func (w *watcher) poke() {
	select {
	case w.kick <- struct{}{}:
	default: // it is about to look anyway
	}
}

// sent is told of every notification that has left for a client. What a client
// subscribed to by subscriptions/listen may only follow the acknowledgement.
func (w *watcher) sent(session string, n sdk.JSONRPCNotification) {
	if n.Method != sdk.MethodNotificationSubscriptionsAcknowledged {
		return
	}
	listen := listenKey(n.Params.Meta[sdk.MetaKeySubscriptionID])
	w.mu.Lock()
	for k, sub := range w.subs {
		if k.session == session && k.listen == listen {
			sub.ready = true
		}
	}
	w.mu.Unlock()
	w.poke()
}

func (w *watcher) run(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	ticker := time.NewTicker(w.s.o.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.kick:
		}
		w.mu.Lock()
		subs := make([]*subscription, 0, len(w.subs))
		for _, sub := range w.subs {
			if sub.ready {
				subs = append(subs, sub)
			}
		}
		w.mu.Unlock()
		for _, sub := range subs {
			w.check(ctx, sub)
		}
	}
}

// check tells a subscriber if its resource is another than at the last look. Only the
// loop calls it, so seen and mark need no lock.
func (w *watcher) check(ctx context.Context, sub *subscription) {
	defer func() {
		if p := recover(); p != nil {
			w.s.panicked("watch "+sub.uri, p)
		}
	}()
	seen := w.versions(ctx, sub)
	if seen == "" || seen == sub.seen {
		return
	}
	mark, err := w.look(ctx, sub)
	if err != nil {
		w.s.log.Debug("watch", "uri", sub.uri, "err", err)
		return // the next look tries again
	}
	if mark != sub.mark && !w.tell(sub) {
		return // the client is slow: likewise
	}
	sub.seen, sub.mark = seen, mark
}

// versions reads the versions of the partitions that sub depends on; "" if it cannot.
func (w *watcher) versions(ctx context.Context, sub *subscription) string {
	var b strings.Builder
	for _, scope := range sub.scopes() {
		part, err := sub.caller.Partition(scope)
		if err != nil {
			return ""
		}
		v, err := w.s.o.Versions.Version(ctx, part)
		if err != nil {
			w.s.log.Debug("watch", "uri", sub.uri, "err", err)
			return ""
		}
		fmt.Fprintf(&b, "%s %d\n", scope, v)
	}
	return b.String()
}

func (sub *subscription) scopes() []caller.Scope {
	if r, _ := parseURI(sub.uri); r.kind == uriMemory {
		return scopesInView(sub.caller)
	}
	return []caller.Scope{sub.caller.MemoScope()}
}

// look describes the resource so that a change of anything else in its partition is
// not taken for a change of it.
func (w *watcher) look(ctx context.Context, sub *subscription) (string, error) {
	r, _ := parseURI(sub.uri)
	switch r.kind {
	case uriMemo:
		m, err := w.s.memos.Get(ctx, sub.caller)
		return fmt.Sprint(m.Version), err
	case uriMemory:
		m, err := w.s.find(ctx, sub.caller, r.id)
		if errors.Is(err, vector.ErrNotFound) {
			return "", nil // not there is a state like others
		}
		return fmt.Sprint(m.UpdatedAt, m.State, m.Content, m.Tags, m.Importance), err
	}
	return w.versions(ctx, sub), nil
}

// tell sends one notification, unless the client has unsubscribed since the look began;
// false if its queue is full.
func (w *watcher) tell(sub *subscription) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.subs[sub.key()] != sub || !sub.session.Initialized() {
		return true
	}
	n := sdk.JSONRPCNotification{JSONRPC: sdk.JSONRPC_VERSION}
	n.Method = string(sdk.MethodNotificationResourceUpdated)
	n.Params.AdditionalFields = map[string]any{"uri": sub.uri}
	if sub.listen != nil {
		n.Params.Meta = map[string]any{sdk.MetaKeySubscriptionID: sub.listen}
	}
	select {
	case sub.session.NotificationChannel() <- n:
		return true
	default:
		return false
	}
}
