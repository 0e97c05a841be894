// Package cli is the command line: flags, wiring, exit codes. It is the one place that
// knows every part of the program: it turns the configuration into each package's
// Options and puts the parts together (app.go).
//
// A command is a struct with flags as fields and a Run method, in a file named after it.
// Results go to stdout, everything else to stderr; with --json a result is one JSON
// value. Exit codes: 0 for success, 1 for failure, 2 for wrong usage or configuration.
//
// What does not live here: any rule about memories, and how MCP works (package mcp).
package cli
