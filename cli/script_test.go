package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"reverie/store/storetest"
)

func TestMain(m *testing.M) {
	testscript.Main(withCleanup{m}, map[string]func(){
		"reverie": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// withCleanup removes the program that the crash tests built.
type withCleanup struct{ *testing.M }

func (m withCleanup) Run() int {
	defer storetest.Stop()
	defer func() {
		if builtOnce {
			exe, _ := built()
			os.RemoveAll(filepath.Dir(exe))
		}
	}()
	return m.M.Run()
}

// The commands as transcripts, in testdata/script.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("REVERIE_HOME", filepath.Join(e.WorkDir, "home"))
			// Nothing of the developer's own set-up reaches a test.
			for _, v := range []string{"REVERIE_USER", "REVERIE_GROUP", "REVERIE_ROLE", "REVERIE_PLATFORM", "REVERIE_CONVERSATION", "REVERIE_TOOLSETS", "REVERIE_LOG_LEVEL", "REVERIE_LOG_FORMAT", "EMBEDDING_PROTOCOL", "EMBEDDING_PROCTOL", "EMBEDDING_MODEL_NAME"} {
				e.Setenv(v, "")
			}
			return nil
		},
	})
}
