// Package vector keeps L2: memories, one fact each, and finds them by meaning and by words.
//
// The truth is SQL rows (package store). For searching, a partition is loaded into an
// in-memory index (package vector/index), kept in a cache of bounded size, and brought
// up to date before each use by fetching the rows whose rev is newer than what it holds;
// so every process sees at once what any process has committed.
//
// Where to look: memory.go has the types, service.go the wiring, write.go and change.go
// the changes (each one transaction with its journal entry), search.go and list.go the
// reads, partition.go the cache, pending.go the vectors that are filled in later,
// expiry.go what grows old, row.go the SQL of one row.
//
// Every method takes the caller and derives the partition from it; there is no read or
// write without one. In a group, private memories do not exist for any method.
//
// What does not live here: how text becomes vectors (package embedding), how ranks are
// computed (vector/index), and how any of this looks on the wire (package mcp).
package vector
