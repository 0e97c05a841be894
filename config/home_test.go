package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"reverie/config"
)

func TestResolveHome(t *testing.T) {
	own, err := os.UserHomeDir()
	if err != nil {
		t.Skip("no home folder for this user:", err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	for _, tt := range []struct{ name, flag, env, want, origin string }{
		{"flag", filepath.Join(base, "f"), filepath.Join(base, "e"), filepath.Join(base, "f"), "flag --home"},
		{"environment", "", filepath.Join(base, "e"), filepath.Join(base, "e"), "environment REVERIE_HOME"},
		{"default", "", "", filepath.Join(base, "reverie"), "default"},
		{"relative", "a/b", "", filepath.Join(here, "a", "b"), "flag --home"},
		{"tilde", "", "~/r", filepath.Join(own, "r"), "environment REVERIE_HOME"},
		{"tilde alone", "~", "", own, "flag --home"},
		{"tilde in a name", "~x", "", filepath.Join(here, "~x"), "flag --home"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, origin, err := config.ResolveHome(config.Options{HomeFlag: tt.flag, DataHome: base,
				Getenv: func(string) string { return tt.env }})
			if err != nil || dir != tt.want || origin != tt.origin {
				t.Errorf("ResolveHome = %q, %q, %v, want %q, %q", dir, origin, err, tt.want, tt.origin)
			}
		})
	}
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Error("ResolveHome made something")
	}
}

func TestHomeIsCreatedForItsOwnerOnly(t *testing.T) {
	home := filepath.Join(t.TempDir(), "a", "b")
	c, err := config.Load(config.Options{HomeFlag: home, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(home)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	if e := c.Show()[0]; e.Key != "home" || e.Value != home || e.Origin != "flag --home" {
		t.Errorf("Show begins with %+v", e)
	}
	// Reading the configuration leaves no trace.
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("left %v", entries)
	}
	if _, err := config.Load(config.Options{HomeFlag: home}); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.Stat(home); runtime.GOOS != "windows" && !again.ModTime().Equal(info.ModTime()) {
		t.Error("a second Load changed the folder")
	}
}

func TestHomeThatCannotBeUsed(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	write(t, file, "x")
	locked := filepath.Join(base, "locked")
	if err := os.Mkdir(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	homes := map[string]string{"is a file": file, "create home folder": filepath.Join(locked, "x"), "cannot be written": locked}
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		// Neither holds back by modes; root still cannot make folders in /proc.
		homes = map[string]string{"is a file": file}
		if runtime.GOOS == "linux" {
			homes["create home folder"] = "/proc/reverie-test"
		}
	}
	for part, home := range homes {
		_, err := config.Load(config.Options{HomeFlag: home})
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), home) ||
			!strings.Contains(err.Error(), "choose another folder with --home DIR or REVERIE_HOME") {
			t.Errorf("%s: %v", part, err)
		}
	}
	_, err := config.Load(config.Options{HomeFlag: filepath.Join(file, "under")})
	if err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("under a file: %v", err)
	}
}

func TestConfigFileThatIsAFolder(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, config.FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Options{HomeFlag: home}); err == nil || !strings.Contains(err.Error(), "read configuration") {
		t.Errorf("Load = %v", err)
	}
}
