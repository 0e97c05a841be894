package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/config"
)

// sources describes one situation: what the files, the environment and the command line say.
type sources struct {
	toml, dotenv string
	env, flags   map[string]string
}

func (s sources) load(t *testing.T) (*config.Config, string, error) {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, config.FileName), s.toml)
	write(t, filepath.Join(home, config.EnvFileName), s.dotenv)
	c, err := config.Load(config.Options{HomeFlag: home, Flags: s.flags, Getenv: func(n string) string { return s.env[n] }})
	return c, home, err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func entry(t *testing.T, c *config.Config, key string) config.Entry {
	t.Helper()
	for _, e := range c.Show() {
		if e.Key == key {
			return e
		}
	}
	t.Fatalf("no key %s", key)
	return config.Entry{}
}

func TestDefaults(t *testing.T) {
	c, _, err := sources{}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Home:                  c.Home,
		ShortTermExpiryDays:   7,
		LongTermExpiryDays:    90,
		PerSessionMemoryLimit: 50,
		MemoMaxChars:          1000,
		Identity:              config.Identity{User: "local", Platform: "Local"},
		Retrieval:             config.Retrieval{Expiry: "off", CacheMB: 256},
		Privacy:               config.Privacy{UserMemoriesInGroups: "allow", RedactSecrets: true},
		Storage:               config.Storage{Synchronous: "full", BusyTimeoutMS: 10000},
		Embedding: config.Embedding{Protocol: "builtin", ModelName: "auto", QueryPrefix: "auto", DocumentPrefix: "auto",
			TimeoutSeconds: 30, CheckOnStartup: true, MismatchPolicy: "ask", BatchSize: 64},
		Backup: config.Backup{Keep: 3},
		VectorDB: config.VectorDB{Type: "local", Server: "127.0.0.1", Port: 8000, Headers: "{}", Tenant: "default", Database: "default",
			Collection: "reverie", Buckets: 64},
		Toolsets: config.Toolsets{Enabled: []string{"memory", "memo"}},
		Log:      config.Log{Level: "info", Format: "text"},
	}
	if diff := cmp.Diff(want, *c, cmp.FilterPath(func(p cmp.Path) bool {
		return strings.HasSuffix(p.String(), "origins") || strings.HasSuffix(p.String(), "homeFrom")
	}, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, e := range c.Show()[1:] {
		if e.Origin != "default" || !cmp.Equal(e.Value, e.Default) || e.Help == "" {
			t.Errorf("%+v is not at its default", e)
		}
	}
}

func TestPrecedence(t *testing.T) {
	for _, tt := range []struct {
		name       string
		in         sources
		key        string
		want       any
		wantOrigin string
	}{
		{"file", sources{toml: "memo_max_chars = 500"}, "memo_max_chars", 500, "config.toml"},
		{"file, in a section", sources{toml: "[log]\nlevel = 'warn'"}, "log.level", "warn", "config.toml"},
		{"file, dotted", sources{toml: "log.level = 'warn'"}, "log.level", "warn", "config.toml"},
		{"file, inline table", sources{toml: "log = {level = 'warn'}"}, "log.level", "warn", "config.toml"},
		{".env over file", sources{toml: "[log]\nlevel = 'warn'", dotenv: "REVERIE_LOG_LEVEL=debug"}, "log.level", "debug", ".env"},
		{"environment over .env", sources{dotenv: "REVERIE_LOG_LEVEL=debug", env: map[string]string{"REVERIE_LOG_LEVEL": "error"}}, "log.level", "error", "environment REVERIE_LOG_LEVEL"},
		{"flag over environment", sources{env: map[string]string{"REVERIE_TOOLSETS": "memo"}, flags: map[string]string{"toolsets.enabled": "admin"}}, "toolsets.enabled", []string{"admin"}, "flag --toolsets"},
		{"any key as a flag", sources{flags: map[string]string{"retrieval.cache_mb": "64"}}, "retrieval.cache_mb", 64, "flag retrieval.cache_mb"},
		{"empty variable is unset", sources{toml: "[identity]\nuser = 'ann'", dotenv: "REVERIE_USER=", env: map[string]string{"REVERIE_USER": ""}, flags: map[string]string{"identity.user": ""}}, "identity.user", "ann", "config.toml"},
		{"misspelt alias", sources{env: map[string]string{"EMBEDDING_PROCTOL": "builtin"}}, "embedding.protocol", "builtin", "environment EMBEDDING_PROCTOL"},
		{"proper name over alias", sources{env: map[string]string{"EMBEDDING_PROCTOL": "builtin", "EMBEDDING_PROTOCOL": "builtin"}}, "embedding.protocol", "builtin", "environment EMBEDDING_PROTOCOL"},
		{"all toolsets", sources{toml: "[toolsets]\nenabled = ['memo', 'all']"}, "toolsets.enabled", []string{"memory", "memo", "admin"}, "config.toml"},
		{"toolsets once each", sources{env: map[string]string{"REVERIE_TOOLSETS": " memo, memo ,,admin"}}, "toolsets.enabled", []string{"memo", "admin"}, "environment REVERIE_TOOLSETS"},
		{"chinese id", sources{env: map[string]string{"REVERIE_USER": "张三"}}, "identity.user", "张三", "environment REVERIE_USER"},
		{"awkward id", sources{toml: `identity.group = "a:b-c/d@e #空格 x"`}, "identity.group", "a:b-c/d@e #空格 x", "config.toml"},
		{"bool as a flag", sources{flags: map[string]string{"privacy.redact_secrets": "off"}}, "privacy.redact_secrets", false, "flag privacy.redact_secrets"},
		{"BOM and CRLF", sources{toml: "\xef\xbb\xbfmemo_max_chars = 5\r\n[log]\r\nlevel = 'warn'\r\n"}, "log.level", "warn", "config.toml"},
		{"BOM and CRLF in .env", sources{dotenv: "\xef\xbb\xbfREVERIE_USER=ann\r\nREVERIE_ROLE=\"admin\"\r\n"}, "identity.user", "ann", ".env"},
		{"quotes, comment and export in .env", sources{dotenv: "# who\nexport REVERIE_USER='ann b' # me\nOTHER=\"two\nlines\"\n"}, "identity.user", "ann b", ".env"},
		{"bounds are allowed", sources{toml: "per_session_memory_limit = 100_000"}, "per_session_memory_limit", 100000, "config.toml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := tt.in.load(t)
			if err != nil {
				t.Fatal(err)
			}
			e := entry(t, c, tt.key)
			if !cmp.Equal(e.Value, tt.want) || e.Origin != tt.wantOrigin {
				t.Errorf("%s = %v from %q, want %v from %q", tt.key, e.Value, e.Origin, tt.want, tt.wantOrigin)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   sources
		want string // HOME stands for the folder
	}{
		{"misspelt key", sources{toml: "memo_max_char = 5"}, `HOME/config.toml: memo_max_char: unknown key; did you mean "memo_max_chars"?`},
		{"dashes", sources{toml: "[log]\nlevel='info'\n[retrieval]\ncache-mb = 9"}, `HOME/config.toml: retrieval.cache-mb: unknown key; did you mean "retrieval.cache_mb"?`},
		{"swapped letters in a section's key", sources{toml: "[identity]\nuesr = 'x'"}, `HOME/config.toml: identity.uesr: unknown key; did you mean "identity.user"?`},
		{"right key, wrong section", sources{toml: "user = 'x'"}, `HOME/config.toml: user: unknown key; did you mean "identity.user"?`},
		{"key that is no key", sources{toml: "[log]\ncolour = 'red'"}, `HOME/config.toml: log.colour: unknown key; the keys of [log] are level, format`},
		{"misspelt section", sources{toml: "[identiy]\nuser = 'x'\nrole = 'admin'"}, `HOME/config.toml: [identiy]: unknown section; did you mean "identity"?`},
		{"section of another version", sources{toml: "[subconscious]\nenabled = true"}, `HOME/config.toml: [subconscious]: unknown section; the sections are identity, retrieval, privacy, storage, embedding, backup, vector_db, toolsets, log`},
		{"empty unknown section", sources{toml: "[x]"}, `HOME/config.toml: [x]: unknown section; the sections are identity, retrieval, privacy, storage, embedding, backup, vector_db, toolsets, log`},
		{"section as a value", sources{toml: "identity = 'ann'"}, `HOME/config.toml: identity = "ann": is a string, must be a section that begins with the line [identity]`},
		{"section as a list", sources{toml: "[[identity]]\nuser = 'ann'"}, `HOME/config.toml: identity = a table: is a table, must be a section that begins with the line [identity]`},
		{"quoted key with a dot", sources{toml: `"identity.user" = 'x'`}, `HOME/config.toml: "identity.user": unknown key; did you mean "identity.user"?`},
		{"number as a string", sources{toml: "memo_max_chars = '5'"}, `HOME/config.toml: memo_max_chars = "5": is a string, must be a whole number from 1 to 100000`},
		{"fraction", sources{toml: "memo_max_chars = 5.5"}, `HOME/config.toml: memo_max_chars = 5.5: is a number with a fraction, must be a whole number from 1 to 100000`},
		{"table for a number", sources{toml: "[memo_max_chars]\nx = 1"}, `HOME/config.toml: memo_max_chars = a table: is a table, must be a whole number from 1 to 100000`},
		{"too small", sources{toml: "memo_max_chars = 0"}, `HOME/config.toml: memo_max_chars = 0: is out of range, must be a whole number from 1 to 100000`},
		{"too large", sources{toml: "short_term_expiry_days = 36501"}, `HOME/config.toml: short_term_expiry_days = 36501: is out of range, must be a whole number from 1 to 36500`},
		{"string for a bool", sources{toml: "[privacy]\nredact_secrets = 'true'"}, `HOME/config.toml: privacy.redact_secrets = "true": is a string, must be true or false, without quotes`},
		{"number for a string", sources{toml: "[identity]\nuser = 10001"}, `HOME/config.toml: identity.user = 10001: is a whole number, must be 1 to 128 characters, in quotes`},
		{"no choice", sources{toml: "[storage]\nsynchronous = 'Full'"}, `HOME/config.toml: storage.synchronous = "Full": must be one of "full", "normal"; did you mean "full"?`},
		{"empty user", sources{toml: "[identity]\nuser = ''"}, `HOME/config.toml: identity.user = "": has 0 characters, must be 1 to 128 characters`},
		{"long user", sources{env: map[string]string{"REVERIE_USER": strings.Repeat("x", 129)}}, `environment: REVERIE_USER = "` + strings.Repeat("x", 129) + `": has 129 characters, must be 1 to 128 characters`},
		{"user with a space behind", sources{env: map[string]string{"REVERIE_USER": "ann "}}, `environment: REVERIE_USER = "ann ": must not begin or end with white space`},
		{"user of two lines", sources{env: map[string]string{"REVERIE_USER": "a\nb"}}, `environment: REVERIE_USER = "a\nb": must not have control or invisible characters in it`},
		{"platform with an underscore", sources{env: map[string]string{"REVERIE_PLATFORM": "My_Chat"}}, `environment: REVERIE_PLATFORM = "My_Chat": has '_' in it, must be 1 to 32 ASCII letters and digits`},
		{"role", sources{env: map[string]string{"REVERIE_ROLE": "boss"}}, `environment: REVERIE_ROLE = "boss": must be one of "", "member", "admin", "owner"`},
		{"role in .env", sources{dotenv: "REVERIE_ROLE=admn"}, `HOME/.env: REVERIE_ROLE = "admn": must be one of "", "member", "admin", "owner"; did you mean "admin"?`},
		{"list as a string", sources{toml: "[toolsets]\nenabled = 'memo'"}, `HOME/config.toml: toolsets.enabled = "memo": is a string, must be a list of one or more of "memory", "memo", "admin", "all"`},
		{"wrong name in a list", sources{toml: "[toolsets]\nenabled = ['memo', 'memroy']"}, `HOME/config.toml: toolsets.enabled = ["memo", "memroy"]: has "memroy" in it, must be a list of one or more of "memory", "memo", "admin", "all"; did you mean "memory"?`},
		{"number in a list", sources{toml: "[toolsets]\nenabled = ['memo', 1]"}, `HOME/config.toml: toolsets.enabled = ["memo", 1]: has a whole number in it, must be a list of one or more of "memory", "memo", "admin", "all"`},
		{"empty list", sources{toml: "[toolsets]\nenabled = []"}, `HOME/config.toml: toolsets.enabled = []: is empty, must be a list of one or more of "memory", "memo", "admin", "all"`},
		{"flag", sources{flags: map[string]string{"toolsets.enabled": "notes"}}, `command line: --toolsets = "notes": has "notes" in it, must be a list of one or more of "memory", "memo", "admin", "all"`},
		{"unknown flag key", sources{flags: map[string]string{"log.levl": "info"}}, `command line: log.levl: unknown key; did you mean "log.level"?`},
		{"unknown protocol", sources{env: map[string]string{"EMBEDDING_PROCTOL": "opnai"}}, `environment: EMBEDDING_PROCTOL = "opnai": must be one of "builtin", "ollama-embed", "openai"; did you mean "openai"?`},
		{"URL with a password", sources{env: map[string]string{"EMBEDDING_MODEL_URL": "http://u:p@h"}}, `environment: EMBEDDING_MODEL_URL = (set, not shown): must not have a user or password in it; a key goes into embedding.api_key`},
		{"headers that are no object", sources{env: map[string]string{"VECTOR_DB_REMOTE_HEADERS": "X: secret"}}, `environment: VECTOR_DB_REMOTE_HEADERS = (set, not shown): must be a JSON object of strings, such as {"Authorization": "Bearer ..."}`},
		{"DSN of another database", sources{env: map[string]string{"REVERIE_DSN": "mysql://u:p@h/d"}}, `environment: REVERIE_DSN = (set, not shown): must have the form postgres://user:password@host:5432/database, special characters of the password as %XX`},
		{"mistake behind a stronger value", sources{toml: "[log]\nlevel = 'loud'", env: map[string]string{"REVERIE_LOG_LEVEL": "info"}}, `HOME/config.toml: log.level = "loud": must be one of "debug", "info", "warn", "error"`},
		{"all at once", sources{toml: "memo_max_chars = 0\nfoo = 1\n[log]\nlevel = 'loud'"},
			"HOME/config.toml: foo: unknown key; the keys outside sections are short_term_expiry_days, long_term_expiry_days, per_session_memory_limit, memo_max_chars; the sections are identity, retrieval, privacy, storage, embedding, backup, vector_db, toolsets, log\n" +
				"HOME/config.toml: memo_max_chars = 0: is out of range, must be a whole number from 1 to 100000\n" +
				`HOME/config.toml: log.level = "loud": must be one of "debug", "info", "warn", "error"`},
		{"not TOML", sources{toml: "memo_max_chars = 5\n\nlog level = info\n"}, `HOME/config.toml:3: not valid TOML: expected '.' or '=', but got 'l' instead`},
		{"UTF-16", sources{toml: "\xff\xfem\x00e\x00"}, `HOME/config.toml:1: not valid TOML: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8`},
		{".env without a name", sources{dotenv: "A=1\nB=\"x\ny\"\njust words\nC=3"}, `HOME/.env:4: not valid: expected NAME=value, with the value in quotes if it has spaces or # in it`},
		{".env with an open quote", sources{dotenv: "A=1\nB=\"hunter2\nC=3\n"}, `HOME/.env:2: not valid: expected NAME=value, with the value in quotes if it has spaces or # in it`},
		{".env with a lone word at the end", sources{dotenv: "A=1\nREVERIE_USER"}, `HOME/.env:2: not valid: expected NAME=value, with the value in quotes if it has spaces or # in it`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, home, err := tt.in.load(t)
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.ReplaceAll(err.Error(), home+string(filepath.Separator), "HOME/")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !errors.Is(err, config.ErrInvalid) {
				t.Error("is not ErrInvalid")
			}
			var e *config.Error
			if !errors.As(err, &e) || e.Reason == "" {
				t.Error("has no *config.Error")
			}
		})
	}
}

func TestEnvFileNeverQuotesItself(t *testing.T) {
	_, _, err := sources{dotenv: "KEY=hunter2\nOTHER=\"hunter3\n"}.load(t)
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("error = %v", err)
	}
}

func TestWarnings(t *testing.T) {
	c, home, err := sources{dotenv: "OTHER=1\nEMBEDDING_MODEL_APIKEY=k\nREVERIE_USR=ann\nREVERIE_HOME=/x\nREVERIE_ROLE=owner"}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, config.EnvFileName)
	want := []string{
		path + `: EMBEDDING_MODEL_APIKEY has no effect; did you mean "EMBEDDING_MODEL_API_KEY"?`,
		path + ": REVERIE_HOME has no effect in the home itself; set it in the environment",
		path + `: REVERIE_USR has no effect; did you mean "REVERIE_USER"?`,
	}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever stands in the files, Load answers with a configuration or an error.
func FuzzLoad(f *testing.F) {
	f.Add("[log]\nlevel = 'info'\n[[identity]]\nuser = 1\n", "A=1\nB=\"x\ny\"\n")
	f.Add("a.b.\"c.d\" = {x = [1, {y = 2}]}\nlog = 1979-05-27", "export REVERIE_USER='x' # y\n=\n")
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, toml, dotenv string) {
		for name, text := range map[string]string{config.FileName: toml, config.EnvFileName: dotenv} {
			if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := config.Load(config.Options{HomeFlag: home, Getenv: func(string) string { return "" }})
		if (c == nil) == (err == nil) {
			t.Fatalf("Load = %v, %v", c, err)
		}
		if err != nil && !errors.Is(err, config.ErrInvalid) {
			t.Fatalf("not ErrInvalid: %v", err)
		}
	})
}
