package cli

import (
	"bytes"
	"log"
	"net"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"reverie/vector/chroma"
)

// A server that speaks before it is asked gives one clear error and no line beside it.
func TestServerThatIsNoneOfHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("SSH-2.0-Some\r\n"))
			c.(*net.TCPConn).CloseWrite()
			t.Cleanup(func() { c.Close() })
		}
	}()
	defer func() {
		l.Close()
		<-done
	}()
	var said bytes.Buffer
	before := log.Writer()
	log.SetOutput(&said)
	defer log.SetOutput(before)
	c, err := chroma.New(chroma.Options{URL: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	// The pause before the request is where the words of the server are there first.
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { time.Sleep(50 * time.Millisecond) }})
	if err = c.Heartbeat(ctx); err == nil || !strings.Contains(err.Error(), "malformed HTTP") {
		t.Errorf("error %v", err)
	}
	if err := chromaHelp(err, "HERE"); !strings.HasSuffix(err.Error(), "; is Chroma running there? (HERE)") {
		t.Errorf("with help: %v", err)
	}
	if said.Len() > 0 {
		t.Errorf("beside it: %s", said.String())
	}
}
