package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	sdk "github.com/mark3labs/mcp-go/mcp"
)

// peerGrace is how long a server may take to end after its stdin was closed.
const peerGrace = 5 * time.Second

// peer is a reverie server in a process of its own, spoken to over stdio as any MCP
// client does: for the demo, the benchmarks and the tests of crashes.
type peer struct {
	cmd     *exec.Cmd
	client  *client.Client
	stdin   io.WriteCloser
	ended   chan error
	Started time.Duration // from the start of the process to the answered initialize
	Hello   *sdk.InitializeResult
}

// startPeer starts exe with args and does the handshake. env is added to the
// environment of this process.
func startPeer(ctx context.Context, exe string, args, env []string, stderr io.Writer) (*peer, error) {
	cmd := exec.Command(exe, args...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", exe, err)
	}
	p := &peer{cmd: cmd, stdin: stdin, ended: make(chan error, 1)}
	p.client = client.NewClient(transport.NewIO(stdout, stdin, io.NopCloser(strings.NewReader(""))))
	hello := sdk.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-11-25"
	hello.Params.ClientInfo = sdk.Implementation{Name: "reverie-guide", Version: version()}
	err = p.client.Start(ctx)
	if err == nil {
		p.Hello, err = p.client.Initialize(ctx, hello)
	}
	p.Started = time.Since(began)
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("initialize: %w", err)
	}
	return p, nil
}

// call calls a tool. meta is sent as the request's _meta.
func (p *peer) call(ctx context.Context, tool string, args, meta map[string]any) (*sdk.CallToolResult, error) {
	req := sdk.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, args
	if len(meta) > 0 {
		req.Params.Meta = &sdk.Meta{AdditionalFields: meta}
	}
	return p.client.CallTool(ctx, req)
}

// close ends the session the way clients do, by closing stdin, and waits.
func (p *peer) close() error {
	p.stdin.Close()
	go func() { p.ended <- p.cmd.Wait() }()
	select {
	case err := <-p.ended:
		p.client.Close()
		return err
	case <-time.After(peerGrace):
		p.cmd.Process.Kill()
		<-p.ended
		p.client.Close()
		return errors.New("the server did not end after its stdin was closed")
	}
}

// kill ends the process as a crash does.
func (p *peer) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.client.Close()
}

// text is the text part of a tool result.
func text(r *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// into decodes the structured part of a tool result.
func into[T any](r *sdk.CallToolResult) (T, error) {
	var v T
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}
