// Package spaces knows which embedding space answers searches, who can embed for it, and
// how the store moves to another one without losing anything.
//
// A space is (protocol, model, URL, dimension, version); vectors of two spaces are never
// compared. One row of the store says which space serves. The [Manager] finds, for that
// space, an embedder: the configured one, or, while the store has not been embedded anew,
// the one of before, if it can still be had. Beside each space of a server's model lies a
// canary, the vectors of a few fixed sentences (canary.go): equal vectors under another
// URL or name are the same space, other vectors under the same name are another model.
//
// [Manager.Reembed] builds the new space beside the old, which goes on serving; what has
// its vector already is not embedded again, so a killed run continues where it stopped;
// the switch is one row. What is embedded belongs to a [Corpus]: package vector has one.
//
// Where to look: manager.go finds the serving space and its embedder, verify.go asks a
// model whether it is still the one, waiting.go goes on asking a silent one in the
// background, check.go compares at the start and acts on the policy, reembed.go moves to
// another space, rows.go has the SQL of spaces, status.go what people are told.
//
// What does not live here: how text becomes vectors (package embedding), how vectors are
// searched (package vector).
package spaces
