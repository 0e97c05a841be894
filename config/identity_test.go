package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnknownEnv(t *testing.T) {
	got := UnknownEnv([]string{"REVERIE_USR=zed", "REVERIE_USER=ann", "REVERIE_HOME=/x", "HOME=/y", "REVERIE_BIN", "EMBEDDING_PROTCOL=openai", "REVERIE_TEST_DSN=x"})
	if len(got) != 3 || !strings.Contains(got[0], `EMBEDDING_PROTCOL has no effect; did you mean "EMBEDDING_PRO`) || !strings.Contains(got[2], "REVERIE_USR") || !strings.Contains(got[2], "REVERIE_USER") {
		t.Errorf("warnings %q", got)
	}
}

// A stronger source that names a user or a group does not inherit what weaker ones say
// of another.
func TestIdentitiesAreNotMixed(t *testing.T) {
	home := t.TempDir()
	file := "[identity]\nuser = \"cu\"\ngroup = \"cg\"\nrole = \"owner\"\nplatform = \"QQ\"\n"
	if err := os.WriteFile(filepath.Join(home, FileName), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		env, flags map[string]string
		want       Identity
	}{
		"file alone":             {nil, nil, Identity{User: "cu", Group: "cg", Role: "owner", Platform: "QQ"}},
		"environment's user":     {map[string]string{"REVERIE_USER": "eu"}, nil, Identity{User: "eu", Platform: "QQ"}},
		"user and group":         {map[string]string{"REVERIE_USER": "eu", "REVERIE_GROUP": "eg"}, nil, Identity{User: "eu", Group: "eg", Platform: "QQ"}},
		"all three":              {map[string]string{"REVERIE_USER": "eu", "REVERIE_GROUP": "eg", "REVERIE_ROLE": "admin"}, nil, Identity{User: "eu", Group: "eg", Role: "admin", Platform: "QQ"}},
		"environment's group":    {map[string]string{"REVERIE_GROUP": "eg"}, nil, Identity{User: "cu", Group: "eg", Platform: "QQ"}},
		"environment's role":     {map[string]string{"REVERIE_ROLE": "member"}, nil, Identity{User: "cu", Group: "cg", Role: "member", Platform: "QQ"}},
		"environment's platform": {map[string]string{"REVERIE_PLATFORM": "TG"}, nil, Identity{User: "cu", Group: "cg", Platform: "TG"}},
		"flag's user":            {map[string]string{"REVERIE_ROLE": "owner"}, map[string]string{"identity.user": "fu"}, Identity{User: "fu", Platform: "QQ"}},
		"flag's group":           {nil, map[string]string{"identity.group": "fg"}, Identity{User: "cu", Group: "fg", Platform: "QQ"}},
	} {
		c, err := Load(Options{HomeFlag: home, Flags: row.flags, Getenv: func(k string) string { return row.env[k] }})
		if err != nil {
			t.Fatal(err)
		}
		if c.Identity != row.want {
			t.Errorf("%s: %+v, want %+v", name, c.Identity, row.want)
		}
	}
}
