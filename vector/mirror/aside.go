package mirror

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Refusal is a partition whose writes the server refuses. The others go on, and it is
// tried again from time to time.
type Refusal struct {
	Part  string    `json:"part"`
	Error string    `json:"error"`
	Since time.Time `json:"since"`
	Next  time.Time `json:"next"` // when it is tried again
}

// aside holds what is set aside.
type aside struct {
	first, most time.Duration // of waiting

	mu    sync.Mutex
	parts map[string]refused
}

type refused struct {
	Refusal
	wait time.Duration
}

// put sets a partition aside, each time for twice as long.
func (a *aside) put(part string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	r, ok := a.parts[part]
	if !ok {
		r = refused{Refusal: Refusal{Part: part, Since: now}, wait: a.first / 2}
	}
	r.Error, r.wait = err.Error(), min(2*r.wait, a.most)
	r.Next = now.Add(r.wait)
	if a.parts == nil {
		a.parts = map[string]refused{}
	}
	a.parts[part] = r
}

// clear takes a partition back in.
func (a *aside) clear(part string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.parts, part)
}

// clearAll takes all back in.
func (a *aside) clearAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts = nil
}

// waits reports whether a partition is set aside and not to be tried yet.
func (a *aside) waits(part string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.parts[part]
	return ok && time.Now().Before(r.Next)
}

// list returns what is set aside, in the order of the partitions.
func (a *aside) list() []Refusal {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []Refusal{}
	for _, r := range a.parts {
		out = append(out, r.Refusal)
	}
	slices.SortFunc(out, func(x, y Refusal) int { return strings.Compare(x.Part, y.Part) })
	return out
}
