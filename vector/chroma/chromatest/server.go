// Package chromatest starts a real Chroma server for tests, on a port and a folder of its
// own.
//
// The server comes from npm: run "npm ci" in clients/chroma, or name a folder in which
// that was done in REVERIE_CHROMA_DIR. Where it is missing the test is skipped with a line
// that says so.
package chromatest

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startTimeout is for a start on a loaded machine; 0.3 s is usual.
const startTimeout = 30 * time.Second

// Server is a running Chroma server. Its methods are for one goroutine at a time.
type Server struct {
	URL  string // such as http://127.0.0.1:40123
	Port int

	tb   testing.TB
	cli  string // the script that node runs
	data string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts a server with an empty data folder, which ends with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{tb: tb, cli: find(tb), data: tb.TempDir(), log: filepath.Join(tb.TempDir(), "chroma.log")}
	s.Port = freePort(tb)
	s.URL = "http://127.0.0.1:" + strconv.Itoa(s.Port)
	tb.Cleanup(s.Kill)
	s.Restart()
	return s
}

// find returns the server's script, or skips the test.
func find(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("REVERIE_CHROMA_DIR")
	if dir == "" {
		dir = filepath.Join(root(tb), "clients", "chroma")
	}
	cli := filepath.Join(dir, "node_modules", "chromadb", "dist", "cli.mjs")
	_, err := os.Stat(cli)
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		tb.Skipf("no Chroma server: run npm ci in clients/chroma, or set REVERIE_CHROMA_DIR (%v)", err)
	}
	return cli
}

// root is the folder of go.mod.
func root(tb testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Restart starts the server on its port and data folder again, after ending it if it runs.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer out.Close()
	s.cmd = exec.Command("node", s.cli, "run", "--path", s.data, "--host", "127.0.0.1", "--port", strconv.Itoa(s.Port))
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Dir = out, out, s.data
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		cmd.Wait()
		close(done)
	}(s.cmd, s.done)
	s.await()
}

// await waits until the server answers.
func (s *Server) await() {
	s.tb.Helper()
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		select {
		case <-s.done:
			s.fail("the server ended")
		case <-time.After(30 * time.Millisecond):
		}
		resp, err := client.Get(s.URL + "/api/v2/heartbeat")
		if err == nil {
			resp.Body.Close()
			return
		}
	}
	s.fail("the server does not answer")
}

func (s *Server) fail(what string) {
	s.tb.Helper()
	said, _ := os.ReadFile(s.log)
	s.tb.Fatalf("%s; it said:\n%s", what, said)
}

// Stop asks the server to end and waits; one that does not within two seconds is killed,
// as some versions must be.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server with no time to put anything in order. It is idempotent.
func (s *Server) Kill() { s.end(os.Kill) }

func (s *Server) end(how os.Signal) {
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.cmd.Process.Kill() // where there are no signals
	}
	select {
	case <-s.done:
	case <-time.After(2 * time.Second):
		s.cmd.Process.Kill()
		<-s.done
	}
	s.cmd = nil
}
