package cli

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows long work on stderr when that is a terminal, and nothing otherwise. An n
// below 1 stands for "not known yet", to be followed by ChangeMax: the library's own sign
// for it, -1, starts a goroutine that reads the bar without its lock.
func (e *env) progress(n int, what string) *progressbar.ProgressBar {
	var w io.Writer = io.Discard
	if f, ok := e.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		w = f
	}
	return progressbar.NewOptions(max(n, 1), progressbar.OptionSetDescription(what), progressbar.OptionSetWriter(w),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
}
