// Package caller says who is speaking and what that lets them touch.
//
// A [Caller] is built by the outermost layers only (the MCP face from what the
// host says, the command line from configuration and flags); no tool argument
// ever reaches it. Everything below takes a Caller and asks it for a partition
// key with [Caller.Partition] and for permission with [Caller.MayRewrite], so
// the rules of identity live here once.
//
// What does not live here: where identity comes from (package mcp) and what is
// stored under a partition (the domain packages).
package caller
