package embedding

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// pace is how patiently a request is repeated.
type pace struct {
	tries    int
	first    time.Duration // the wait before the second try, about; doubled for each further one
	most     time.Duration // the longest wait of our own
	patience time.Duration // the longest wait that a server's Retry-After is granted
}

// A search must not wait: it goes on by words. A batch of documents may.
var (
	queryPace    = pace{tries: 2, first: 100 * time.Millisecond, most: 200 * time.Millisecond, patience: 300 * time.Millisecond}
	documentPace = pace{tries: 4, first: 250 * time.Millisecond, most: 5 * time.Second, patience: 30 * time.Second}
)

// repeat calls attempt until it succeeds, fails for good, the tries are used up,
// or the wait would outlast the context or the pace's patience.
func (p pace) repeat(ctx context.Context, attempt func() error) error {
	wait := backoff.NewExponentialBackOff() // has jitter
	wait.InitialInterval, wait.MaxInterval = p.first, p.most
	for try := 1; ; try++ {
		err := attempt()
		re := asRemote(err)
		if re == nil || !re.Retryable || try >= p.tries || re.RetryAfter > p.patience {
			return err
		}
		d := max(wait.NextBackOff(), re.RetryAfter)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
			return err
		}
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// maxRetryAfter is believed of a server's Retry-After: a wrong clock or a joke
// must not silence it for days.
const maxRetryAfter = 10 * time.Minute

// retryAfter reads the header of that name, in seconds or as a date; 0 if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds >= 0 {
		if seconds >= maxRetryAfter.Seconds() {
			return maxRetryAfter
		}
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
