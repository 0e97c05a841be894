// Package mcp is Reverie's face to the Model Context Protocol: tools, resources,
// prompts, completion, instructions, the stdio transport, and the question of who
// is calling.
//
// A [Server] holds no rules of the domain. It turns what a client sends into calls
// of the small interfaces [Memories], [Memos] and [Versions], and their answers and
// errors into results that a model can act on. The road of one request over stdio:
//
//	stdio.go     reads lines (line.go), runs requests side by side, writes answers (writer.go)
//	envelope.go  checks that a line is one JSON-RPC message
//	identity.go  finds the caller in the request's _meta
//	dispatch.go  hands it to the SDK, makes its errors helpful
//	tool.go      checks the arguments (arguments.go), runs the tool, guards the size
//	problem.go   says what went wrong and what to call next
//
// Tools stand in tools_*.go, one constructor each; resources.go, prompts.go and
// completion.go hold the rest of the surface, and watch.go tells subscribers what
// changed. The SDK is github.com/mark3labs/mcp-go, imported as sdk (its mcp package)
// and sdkserver.
//
// What does not live here: what a memory is and how it is found (vector, memo), and
// which parts are put together with which options (cli).
package mcp
