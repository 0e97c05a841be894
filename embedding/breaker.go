package embedding

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// How the breaker behaves: a dead server must not slow down every search, and a
// revived one must be found soon.
const (
	breakerFailures = 3                // in a row, before calls stop
	breakerFirst    = 2 * time.Second  // the first pause
	breakerMost     = 60 * time.Second // the longest; each failed trial doubles the pause
)

// breaker refuses calls for a while after several failed in a row, then lets one
// through to see. The zero value is ready; it is safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int
	last     error
	pause    time.Duration // the present one; 0 while calls go through
	until    time.Time
	trial    bool // a call is on its way to see
}

// outcome is what a call says about the server.
type outcome int

const (
	serverUp outcome = iota
	serverDown
	unknownOutcome // the call was cancelled before it could tell
)

// enter asks whether a call may be made. Every call that may be needs a leave,
// with what enter said about it being the one that goes to see.
func (b *breaker) enter() (trial bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause == 0 {
		return false, nil
	}
	if left := time.Until(b.until); left > 0 || b.trial {
		return false, resting(b.last, max(left, 0))
	}
	b.trial = true
	return true, nil
}

// leave records how the call went, and reports whether calls stop or go on
// through it, for the log.
func (b *breaker) leave(trial bool, o outcome, err error) (stopped, resumed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	switch {
	case o == unknownOutcome:
	case o == serverUp:
		resumed = b.pause > 0
		b.failures, b.last, b.pause = 0, nil, 0
	case b.pause > 0 && !trial: // a call from before the pause says nothing new
	default:
		b.failures++
		b.last = err
		if b.failures >= breakerFailures {
			stopped = b.pause == 0
			b.pause = min(max(2*b.pause, breakerFirst), breakerMost)
			b.until = time.Now().Add(b.pause)
		}
	}
	return stopped, resumed
}

// resting is the last error with the time left until the server is asked again.
func resting(last error, left time.Duration) error {
	var re *RemoteError
	if !errors.As(last, &re) {
		return last
	}
	again := *re
	again.Message = fmt.Sprintf("%s; not asked again for %s", re.Message, max(left.Round(time.Second), time.Second))
	again.RetryAfter, again.Retryable = left, false
	return &again
}
