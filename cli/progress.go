package cli

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows long work on stderr when that is a terminal, and nothing otherwise.
func (e *env) progress(n int, what string) *progressbar.ProgressBar {
	var w io.Writer = io.Discard
	if f, ok := e.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		w = f
	}
	return progressbar.NewOptions(n, progressbar.OptionSetDescription(what), progressbar.OptionSetWriter(w),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
}
