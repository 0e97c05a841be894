package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"reverie/vector/chroma"
)

// breakAfter is how many requests in a row without an answer open the breaker.
const breakAfter = 3

// newBreaker makes what keeps a search from waiting for a server that is away: after a
// few unanswered requests nothing is sent for a pause, then one request as a trial.
// An answer that is a refusal counts as an answer.
func (m *Mirror) newBreaker() *gobreaker.CircuitBreaker[struct{}] {
	return gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      m.opts.Pause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter },
		IsSuccessful: func(err error) bool { return !isGone(err) },
		IsExcluded: func(err error) bool {
			return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				m.log.Warn("the Chroma server does not answer; memories are kept and searched without it, and delivered later")
			}
		},
	})
}

// call runs requests unless the server is being left alone: then the error is [ErrDown].
func (m *Mirror) call(fn func() error) error {
	_, err := m.breaker.Execute(func() (struct{}, error) { return struct{}{}, fn() })
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return fmt.Errorf("%w: it is asked again within %s", ErrDown, m.opts.Pause)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case isGone(err) && m.down.IsZero():
		m.down = time.Now()
	case err == nil && !m.down.IsZero():
		m.log.Info("the Chroma server answers again", "away", time.Since(m.down).Round(time.Second))
		m.down = time.Time{}
	}
	return err
}

// isGone reports that no server answered.
func isGone(err error) bool {
	var e *chroma.Error
	return errors.As(err, &e) && e.Gone()
}
