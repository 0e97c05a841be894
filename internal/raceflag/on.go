//go:build race

package raceflag

// Enabled reports whether the race detector watches this build.
const Enabled = true
