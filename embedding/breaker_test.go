package embedding

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fail makes n calls that find the server down, and stops at the first that is not made.
func (b *breaker) fail(t *testing.T, n int) (made int) {
	t.Helper()
	for range n {
		trial, err := b.enter()
		if err != nil {
			return made
		}
		made++
		b.leave(trial, serverDown, &RemoteError{Kind: KindUnreachable, Message: "down", Retryable: true})
	}
	return made
}

func TestBreakerPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker
		if made := b.fail(t, 10); made != 3 {
			t.Fatalf("%d calls before the pause", made)
		}
		for _, pause := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
			time.Sleep(pause*time.Second - time.Millisecond)
			_, err := b.enter()
			var re *RemoteError
			if !errors.As(err, &re) || re.Kind != KindUnreachable || re.Retryable || re.RetryAfter != time.Millisecond || !strings.HasPrefix(re.Message, "down; not asked again") {
				t.Fatalf("before the end of %d s: %v", pause, err)
			}
			time.Sleep(2 * time.Millisecond)
			if made := b.fail(t, 10); made != 1 {
				t.Fatalf("%d calls after %d s", made, pause)
			}
		}
	})
}

func TestBreakerTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker
		b.fail(t, 3)
		time.Sleep(3 * time.Second)
		trial, err := b.enter()
		if !trial || err != nil {
			t.Fatalf("trial %v, error %v", trial, err)
		}
		if _, err := b.enter(); err == nil {
			t.Error("a second call during the trial")
		}
		b.leave(false, serverDown, errors.New("a call from before"))
		if _, err := b.enter(); err == nil {
			t.Error("a call from before ended the trial")
		}
		b.leave(trial, unknownOutcome, nil) // its caller went away
		if trial, err = b.enter(); !trial || err != nil {
			t.Fatalf("another trial: %v, error %v", trial, err)
		}
		if _, resumed := b.leave(trial, serverUp, nil); !resumed {
			t.Error("not resumed")
		}
		if made := b.fail(t, 10); made != 3 {
			t.Errorf("%d calls before the next pause: the count did not begin anew", made)
		}
	})
}

func TestBreakerCountsInARow(t *testing.T) {
	var b breaker
	for range 10 {
		b.fail(t, 2)
		trial, err := b.enter()
		if err != nil {
			t.Fatal(err)
		}
		b.leave(trial, serverUp, nil)
	}
}

func TestRepeat(t *testing.T) {
	down := func(after time.Duration, retryable bool) *RemoteError {
		return &RemoteError{Kind: KindServer, RetryAfter: after, Retryable: retryable}
	}
	tests := []struct {
		name        string
		pace        pace
		err         error
		tries       int
		least, most time.Duration
	}{
		{"documents", documentPace, down(0, true), 4, 500 * time.Millisecond, 4 * time.Second},
		{"a query", queryPace, down(0, true), 2, 50 * time.Millisecond, 200 * time.Millisecond},
		{"not retryable", documentPace, down(0, false), 1, 0, 0},
		{"no error of the server", documentPace, errors.New("other"), 1, 0, 0},
		{"asked to wait", documentPace, down(7*time.Second, true), 4, 21 * time.Second, 22 * time.Second},
		{"asked to wait too long", documentPace, down(31*time.Second, true), 1, 0, 0},
		{"a query asked to wait", queryPace, down(time.Second, true), 1, 0, 0},
		{"success", documentPace, nil, 1, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries := time.Now(), 0
				err := tt.pace.repeat(t.Context(), func() error { tries++; return tt.err })
				if took := time.Since(began); !errors.Is(err, tt.err) || tries != tt.tries || took < tt.least || took > tt.most {
					t.Errorf("%d tries in %v, error %v", tries, took, err)
				}
			})
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		header string
		want   time.Duration
	}{
		{"", 0},
		{"3", 3 * time.Second},
		{" 0.5 ", 500 * time.Millisecond},
		{"-1", 0},
		{"NaN", 0},
		{"Inf", maxRetryAfter},
		{"1e300", maxRetryAfter},
		{"soon", 0},
		{"Sun, 01 Mar 2026 12:00:20 GMT", 20 * time.Second},
		{"Sun, 01 Mar 2026 11:00:00 GMT", 0},
		{"Sun, 01 Mar 2099 11:00:00 GMT", maxRetryAfter},
	}
	for _, tt := range tests {
		if got := retryAfter(http.Header{"Retry-After": {tt.header}}, now); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.header, got, tt.want)
		}
	}
}
