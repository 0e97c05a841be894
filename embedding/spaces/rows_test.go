package spaces

import (
	"strings"
	"testing"

	"reverie/embedding"
)

// A version may have a plus of its own; only the number of a generation is none of it.
func TestGenerations(t *testing.T) {
	tests := []struct{ name, version, base string }{
		{"none", "", ""},
		{"second without a version", "+2", ""},
		{"prefixes", "prefix-03aa22a9", "prefix-03aa22a9"},
		{"second of prefixes", "prefix-03aa22a9+2", "prefix-03aa22a9"},
		{"prefixes and dimensions", "prefix-03aa22a9+dim-256", "prefix-03aa22a9+dim-256"},
		{"twelfth of both", "prefix-03aa22a9+dim-256+12", "prefix-03aa22a9+dim-256"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := baseVersion(tt.version); got != tt.base {
				t.Errorf("base of %q is %q, want %q", tt.version, got, tt.base)
			}
			taken := []row{{Space: embedding.Space{Version: tt.base}}}
			if got := freshVersion(taken, embedding.Space{Version: tt.version}); got != tt.base+"+2" {
				t.Errorf("the version after %q is %q", tt.base, got)
			}
		})
	}
}

// What differs is said, also if it is not in the name.
func TestDiffer(t *testing.T) {
	stored := embedding.Space{Protocol: "openai", Model: "m", BaseURL: "http://a", Dim: 3, Version: "+2"}
	other, prefixed := stored, stored
	other.Model = "n"
	prefixed.Version = "prefix-03aa22a9"
	if got := differ(stored, other); !strings.Contains(got, "openai m at http://a, 3 numbers, the configured embedder is openai n") {
		t.Error(got)
	}
	if got := differ(stored, prefixed); !strings.Contains(got, "other prefixes") {
		t.Error(got)
	}
}
