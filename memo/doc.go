// Package memo keeps L1: one short text per person or group that is always in view.
//
// A memo is replaced whole and has a hard limit in code points, so that it stays worth
// reading on every turn. What is dropped from it is not lost: every version is in the
// journal. A writer may say which version its text was made from, and is refused if
// the memo has moved on.
//
// What does not live here: how a memo is shown to a model (package mcp) and single
// facts (package vector).
package memo
