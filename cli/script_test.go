package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"reverie/internal/raceflag"
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
			ownEnv(t, e)
			return nil
		},
	})
}

// scriptsEnv, set to "race", runs the transcripts with the program as the race detector
// watches it. Each of its many processes is then slow to start, so that by default a test
// with the detector runs them with the program as it is shipped.
const scriptsEnv = "REVERIE_TEST_SCRIPTS"

// ownEnv gives a transcript a home of its own, and nothing of the developer's set-up.
func ownEnv(t *testing.T, e *testscript.Env) {
	for _, line := range os.Environ() {
		name, _, _ := strings.Cut(line, "=")
		for _, prefix := range []string{"REVERIE_", "EMBEDDING_", "EMBED_", "REEMBED_", "VECTOR_DB_"} {
			if strings.HasPrefix(name, prefix) {
				e.Setenv(name, "")
			}
		}
	}
	e.Setenv("REVERIE_HOME", filepath.Join(e.WorkDir, "home"))
	if raceflag.Enabled && os.Getenv(scriptsEnv) != "race" {
		e.Setenv("PATH", filepath.Dir(binary(t))+string(filepath.ListSeparator)+e.Getenv("PATH"))
	}
}
