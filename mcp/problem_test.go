package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"reverie/store"
)

// A database server that is away is no fault of ours, and where it is does not concern a
// model; what it may do next does.
func TestDatabaseAway(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler)}
	cause := errors.New("dial tcp db.example.com:5432: user=reverie")
	for name, tc := range map[string]struct {
		err  error
		want []string
		not  string
	}{
		"away":     {store.ErrUnreachable, []string{"database unreachable", "nothing was changed", "try once more", "reverie doctor"}, "internal error"},
		"in doubt": {store.ErrInDoubt, []string{"outcome unknown", "stored or not", "look with read_memory", "before you call write_memory again"}, "try once more"},
		"text":     {store.ErrText, []string{"correct it and call write_memory again"}, "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("write memory: %w: a NUL character", tc.err)
			if tc.err != store.ErrText {
				err = fmt.Errorf("write memory: %w: %w", tc.err, cause)
			}
			got := s.problem("write_memory", err)
			for _, w := range tc.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q lacks %q", got, w)
				}
			}
			if strings.Contains(got, tc.not) || strings.Contains(got, "example.com") {
				t.Errorf("%q", got)
			}
		})
	}
}
