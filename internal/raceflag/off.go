//go:build !race

// Package raceflag tells tests whether the race detector watches them, which makes
// computing ten times slower. Those that repeat one thing very often then repeat it less:
// the full number is for a run without the detector. Nothing but tests imports it.
package raceflag

// Enabled reports whether the race detector watches this build.
const Enabled = false
