package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/joho/godotenv"
)

var utf8BOM = []byte("\xef\xbb\xbf")

// tomlFile is what config.toml says, before any value is checked.
type tomlFile struct {
	path    string
	values  map[string]any // by key name
	unknown []error        // keys that are not in the table, sections that are none, in the order of the file
}

func (f *tomlFile) problems() []error { return slices.Clone(f.unknown) }

// readTOML reads config.toml; a missing file is an empty one.
func readTOML(path string) (*tomlFile, error) {
	f := &tomlFile{path: path, values: map[string]any{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var tree map[string]any
	meta, err := toml.Decode(string(bytes.TrimPrefix(data, utf8BOM)), &tree)
	if err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return nil, &Error{Where: fmt.Sprintf("%s:%d", path, pe.Position.Line), Key: "not valid TOML", Reason: pe.Message}
		}
		return nil, &Error{Where: path, Key: "not valid TOML", Reason: err.Error()}
	}
	f.sort(tree, meta.Keys())
	return f, nil
}

// sort files each key under values or unknown.
func (f *tomlFile) sort(tree map[string]any, found []toml.Key) {
	names, sections := keyNames()
	closed := map[string]bool{} // names whose inner keys are not looked at
	for _, k := range found {
		if len(k) > 1 && closed[k[:len(k)-1].String()] {
			closed[k.String()] = true
			continue
		}
		name, v := k.String(), lookup(tree, k)
		switch _, isTable := v.(map[string]any); {
		case slices.Contains(names, name):
			f.values[name] = v
			closed[name] = true
		case slices.Contains(sections, name):
			if !isTable {
				f.unknown = append(f.unknown, &Error{Where: f.path, Key: name, Value: show(v),
					Reason: fmt.Sprintf("is %s, must be a section that begins with the line [%s]", typeName(v), name)})
				closed[name] = true
			}
		case !closed[name]:
			what, key := "key", name
			if isTable {
				what, key = "section", "["+name+"]"
			}
			// Without its value: it may be a secret that was to go elsewhere.
			f.unknown = append(f.unknown, &Error{Where: f.path, Key: key, Reason: "unknown " + what + suggestKey(name, isTable)})
			closed[name] = true
		}
	}
}

func lookup(tree map[string]any, k toml.Key) any {
	var v any = tree
	for _, part := range k {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[part]
	}
	return v
}

// envFile is what .env in the home says.
type envFile struct {
	path   string
	values map[string]string
}

// readEnvFile reads .env; a missing file is an empty one. It is only read, never put into the environment of the
// process. The parser's own errors quote the file, secrets and all, so they are replaced by the number of the line.
func readEnvFile(path string) (*envFile, error) {
	f := &envFile{path: path}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read environment file: %w", err)
	}
	text := string(bytes.TrimPrefix(data, utf8BOM)) + "\n"
	f.values, err = godotenv.Unmarshal(text)
	_, nameless := f.values[""]
	if err != nil || nameless {
		return nil, &Error{Where: fmt.Sprintf("%s:%d", path, badEnvLine(text)), Key: "not valid",
			Reason: "expected NAME=value, with the value in quotes if it has spaces or # in it"}
	}
	return f, nil
}

// badEnvLine is the number of the line where the first statement begins that cannot be parsed: the line behind the
// longest beginning of the file that can.
func badEnvLine(text string) int {
	lines := strings.SplitAfter(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for n := len(lines); n > 0; n-- {
		values, err := godotenv.Unmarshal(strings.Join(lines[:n], ""))
		if _, nameless := values[""]; err == nil && !nameless {
			return n + 1
		}
	}
	return 1
}

// envWarnings names the variables in .env that look like ours and have no effect. They are no errors: the files of
// older versions and of other programs may have more.
func envWarnings(f *envFile) []string {
	known := envNames()
	var warnings []string
	for name := range f.values {
		switch {
		case name == "REVERIE_HOME":
			warnings = append(warnings, f.path+": REVERIE_HOME has no effect in the home itself; set it in the environment")
		case looksOurs(name) && !slices.Contains(known, name):
			warnings = append(warnings, f.path+": "+name+" has no effect"+DidYouMean(name, known))
		}
	}
	sort.Strings(warnings)
	return warnings
}

// envNames are the environment variables that set a key.
func envNames() []string {
	var names []string
	for _, k := range keys() {
		names = append(names, k.env...)
	}
	return names
}

// looksOurs reports whether a variable has a beginning that ours have.
func looksOurs(name string) bool {
	for _, prefix := range []string{"REVERIE_", "EMBEDDING_", "EMBED_", "REEMBED_", "VECTOR_DB_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// UnknownEnv returns a warning for each variable of an environment, given as "NAME=value"
// lines, that looks like ours and means nothing: a misspelt REVERIE_USER would otherwise
// put memories under another user without a word.
func UnknownEnv(environ []string) []string {
	known := append(envNames(), "REVERIE_HOME")
	var warnings []string
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		if looksOurs(name) && !strings.HasPrefix(name, "REVERIE_TEST_") && !slices.Contains(known, name) {
			warnings = append(warnings, "environment variable "+name+" has no effect"+DidYouMean(name, known))
		}
	}
	sort.Strings(warnings)
	return warnings
}
