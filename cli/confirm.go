package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// confirm asks a yes-or-no question on the terminal. Without one it does not guess: the
// error is one of usage and says which flag answers. The answer without a word is no.
func (e *env) confirm(ctx context.Context, question, flag string) (bool, error) {
	if !e.terminal() {
		return false, usage(fmt.Errorf("%s Nobody can be asked here: run it again with %s", question, flag))
	}
	fmt.Fprintf(e.stderr, "%s [y/N] ", question)
	return answer(ctx, e.stdin), ctx.Err()
}

// terminal reports whether a person can be asked: questions go to stderr, answers come
// from stdin.
func (e *env) terminal() bool { return isTerminal(e.stdin) && isTerminal(e.stderr) }

func isTerminal(x any) bool {
	f, ok := x.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// answer reads a line and reports whether it says yes. It returns early, with no, when
// ctx ends; the line, if it comes, is then lost.
func answer(ctx context.Context, r io.Reader) bool {
	line := make(chan string, 1)
	go func() {
		s, _ := bufio.NewReader(r).ReadString('\n')
		line <- s
	}()
	select {
	case <-ctx.Done():
		return false
	case s := <-line:
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "y", "yes", "是":
			return true
		}
		return false
	}
}
