package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	sdk "github.com/mark3labs/mcp-go/mcp"
	sdkserver "github.com/mark3labs/mcp-go/server"

	"reverie/internal/caller"
)

// tool is one tool: what clients see of it and what it does.
type tool struct {
	toolset     Toolset
	name, title string
	description string // says when to call it
	zh          string // what it does, for the Chinese table
	params      []param
	output      string // the JSON schema of the structured result
	hints       hints
	run         func(ctx context.Context, c caller.Caller, a arguments) (answer, error)
}

// hints are the annotations of a tool. All of them are always sent: the defaults of the
// protocol are the opposite of careful.
type hints struct {
	readOnly    bool // changes nothing
	destructive bool // may change or remove what stands
	idempotent  bool // the second of two equal calls changes nothing more
}

// answer is what a tool says: data for clients that read structured results, and text
// for the models of those that do not.
type answer struct {
	data any
	text string
}

// declare describes the tool to the SDK.
func (t tool) declare() sdk.Tool {
	no := false
	return sdk.Tool{
		Name:            t.name,
		Title:           t.title,
		Description:     t.description,
		RawInputSchema:  schema(t.params),
		RawOutputSchema: json.RawMessage(t.output),
		Annotations: sdk.ToolAnnotation{
			ReadOnlyHint:    &t.hints.readOnly,
			DestructiveHint: &t.hints.destructive,
			IdempotentHint:  &t.hints.idempotent,
			OpenWorldHint:   &no,
		},
	}
}

// handler runs a tool for the SDK. Whatever goes wrong comes back as a result that the
// model can read, a panic included.
func (s *Server) handler(t tool) sdkserver.ToolHandlerFunc {
	return func(ctx context.Context, req sdk.CallToolRequest) (result *sdk.CallToolResult, _ error) {
		defer func() {
			if p := recover(); p != nil {
				result = sdk.NewToolResultError(s.panicked("tool "+t.name, p))
			}
		}()
		out, err := s.call(ctx, t, req)
		if err != nil {
			return sdk.NewToolResultError(s.problem(t.name, err)), nil
		}
		data, err := json.Marshal(out.data)
		if err != nil {
			return sdk.NewToolResultError(s.problem(t.name, fmt.Errorf("encode result: %w", err))), nil
		}
		return sdk.NewToolResultStructured(json.RawMessage(data), out.text), nil
	}
}

func (s *Server) call(ctx context.Context, t tool, req sdk.CallToolRequest) (answer, error) {
	c, err := s.callerOf(ctx)
	if err != nil {
		return answer{}, err
	}
	raw := req.Params.RawArguments
	if raw == nil && req.Params.Arguments != nil { // called in-process, without a wire
		if raw, err = json.Marshal(req.Params.Arguments); err != nil {
			return answer{}, fmt.Errorf("encode arguments: %w", err)
		}
	}
	a, err := decodeArguments(raw, t.params)
	if err != nil {
		return answer{}, err
	}
	out, err := t.run(ctx, c, a)
	if !t.hints.readOnly {
		// Also after an error: a write may have taken effect before what failed.
		s.watch.poke()
	}
	return out, err
}

// panicked logs a panic in full and returns what the client is told.
func (s *Server) panicked(where string, p any) string {
	s.log.Error("panic", "in", where, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return internalError
}
