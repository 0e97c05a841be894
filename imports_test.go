package main_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers are the packages from the top down, each as the first part of its path within
// the module: a package may import only what stands in a lower layer, and its own
// sub-packages. See "The house" in the README.
var layers = [][]string{
	{"main"},
	{"cli"},
	{"mcp"},
	{"consolidate", "transfer"},
	{"compress", "memo", "vector", "knowledge", "profile", "notes"},
	{"journal", "llm", "embedding", "prompts"},
	{"store"},
	{"config", "internal"},
}

// TestImportRules holds the arrows of the design.
func TestImportRules(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range bytes.Lines(out) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		from := top(pkg)
		if layer(from) < 0 {
			t.Errorf("package %s has no place in the layers", pkg)
		}
		for _, imp := range strings.Fields(imports) {
			if imp != "reverie" && !strings.HasPrefix(imp, "reverie/") {
				continue
			}
			seen++
			to := top(imp)
			switch {
			case from == to:
			case layer(to) <= layer(from):
				t.Errorf("%s imports %s, which is not below it", pkg, imp)
			case to == "config" && from != "cli":
				t.Errorf("%s imports %s: only cli turns the configuration into options", pkg, imp)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d imports within the module were seen: is the test still looking at it?", seen)
	}
}

func top(pkg string) string {
	rest, ok := strings.CutPrefix(pkg, "reverie/")
	if !ok {
		return "main"
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

func layer(name string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, name) })
}
