package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrInvalid is matched, by errors.Is, by every error that the user can cure by editing a file, a variable or a flag.
var ErrInvalid = errors.New("invalid configuration")

// Names of the files in the home folder.
const (
	FileName    = "config.toml"
	EnvFileName = ".env"
)

// Config has the effective value of every key. It is not changed after Load and may be read concurrently.
type Config struct {
	Home string // absolute path of the home folder

	ShortTermExpiryDays   int // days after its last use when a memory of low importance expires
	LongTermExpiryDays    int // the same for medium importance
	PerSessionMemoryLimit int // memories per partition
	MemoMaxChars          int // characters of a memo

	Identity  Identity
	Retrieval Retrieval
	Privacy   Privacy
	Storage   Storage
	Embedding Embedding
	Backup    Backup
	VectorDB  VectorDB
	Toolsets  Toolsets
	Log       Log

	// Warnings are about settings that have no effect, one sentence each. They are for the log.
	Warnings []string

	origins  map[string]string // key to where its value comes from; a key that is missing has its default
	homeFrom string
}

// Identity says who is calling when the host does not.
type Identity struct {
	User         string // never empty
	Group        string // "" in a private chat
	Role         string // "", member, admin or owner
	Platform     string // first part of partition keys: letters and digits only
	Conversation string
}

// Retrieval is about finding memories.
type Retrieval struct {
	Expiry  string // off or archive
	CacheMB int    // MiB of memory for the indexes of partitions
}

// Privacy is about what is shown and kept.
type Privacy struct {
	UserMemoriesInGroups string // allow or deny
	RedactSecrets        bool
}

// Storage is about the database.
type Storage struct {
	Synchronous   string // full or normal
	BusyTimeoutMS int    // milliseconds to wait for another process
	DSN           string // of a PostgreSQL database; empty: SQLite
}

// Embedding is about turning text into vectors.
type Embedding struct {
	Protocol       string // builtin, ollama-embed or openai
	ModelName      string // auto: the protocol's own choice
	ModelURL       string // "": the protocol's usual one
	APIKey         string // sent to ModelURL only
	Dimensions     int    // 0: the model's own
	QueryPrefix    string // auto: what is known of the model
	DocumentPrefix string
	TimeoutSeconds int // for a batch
	CheckOnStartup bool
	MismatchPolicy string // ask, auto or never
	BatchSize      int    // texts a request when re-embedding
}

// Backup is about copies of everything.
type Backup struct {
	Keep int // automatic backups kept, at least 1
}

// VectorDB is about the Chroma server to which vectors are mirrored.
type VectorDB struct {
	Type       string // local (none) or remote
	Server     string
	Port       int
	SSL        bool
	Headers    string // a JSON object of strings
	Tenant     string
	Database   string
	Collection string // first part of the collections' names
	Buckets    int
}

// Toolsets is about which tools clients see.
type Toolsets struct {
	Enabled []string // names, each once; "all" is replaced by the names it stands for
}

// Log is about what goes to stderr.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // text or json
}

// Options are the sources of a configuration. The zero value reads the real environment and no flags.
type Options struct {
	// HomeFlag is the value of --home, "" if it was not given.
	HomeFlag string

	// Flags has the values given on the command line by key name ("toolsets.enabled"), in the form that an
	// environment variable would have. An empty value counts as not given.
	Flags map[string]string

	// Getenv looks up environment variables; nil means os.Getenv. An empty value counts as unset.
	Getenv func(string) string

	// DataHome is the folder in which the default home lies; "" means that of the platform.
	DataHome string
}

// Load finds the home folder, creates it if need be (mode 0700), and reads the configuration in it. The error joins
// all mistakes, one a line; errors.Is with ErrInvalid tells them from failures to read.
func Load(o Options) (*Config, error) {
	home, from, err := ResolveHome(o)
	if err != nil {
		return nil, err
	}
	if err := EnsureHome(home); err != nil {
		return nil, err
	}
	c := &Config{Home: home, homeFrom: from, origins: map[string]string{}}
	for _, k := range keys() {
		k.assign(c, k.def)
	}

	file, err := readTOML(filepath.Join(home, FileName))
	if err != nil {
		return nil, err
	}
	env, err := readEnvFile(filepath.Join(home, EnvFileName))
	if err != nil {
		return nil, err
	}
	problems := c.apply(o, file, env)
	problems = append(problems, unknownFlags(o.Flags)...)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	c.Warnings = envWarnings(env)
	return c, nil
}

// apply takes each key's value from the strongest source that has one. Weaker sources are checked all the same, so
// that a mistake in a file does not lie in wait for the day a variable is unset.
func (c *Config) apply(o Options, file *tomlFile, env *envFile) []error {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	problems := file.problems()
	for _, k := range keys() {
		take := func(where, name, origin string, v any, err error) {
			if err != nil {
				problems = append(problems, &Error{Where: where, Key: name, Value: k.quotable(fmt.Sprint(v)), Reason: err.Error()})
				return
			}
			k.assign(c, v)
			c.origins[k.name] = origin
		}
		if raw, ok := file.values[k.name]; ok {
			v, err := k.fromTOML(raw)
			if err != nil {
				v = show(raw)
			}
			take(file.path, k.name, FileName, v, err)
		}
		fromText := func(where, name, origin, text string) {
			v, err := k.fromText(text)
			if err != nil {
				v = show(text)
			}
			take(where, name, origin, v, err)
		}
		// The last one wins, so the aliases go first.
		for i := len(k.env) - 1; i >= 0; i-- {
			if text := env.values[k.env[i]]; text != "" {
				fromText(env.path, k.env[i], EnvFileName, text)
			}
		}
		for i := len(k.env) - 1; i >= 0; i-- {
			if text := getenv(k.env[i]); text != "" {
				fromText("environment", k.env[i], "environment "+k.env[i], text)
			}
		}
		if text := o.Flags[k.name]; text != "" {
			fromText("command line", k.flagName(), "flag "+k.flagName(), text)
		}
	}
	c.separateIdentities()
	return problems
}

// separateIdentities keeps group and role from reaching a user, and a role from reaching
// a group or platform, that a stronger source names: REVERIE_USER=bo must not make bo the owner that
// config.toml speaks of.
func (c *Config) separateIdentities() {
	user, group, role := c.strength("identity.user"), c.strength("identity.group"), c.strength("identity.role")
	platform := c.strength("identity.platform")
	if group < user {
		c.Identity.Group = ""
		delete(c.origins, "identity.group")
	}
	if role < max(user, group, platform) {
		c.Identity.Role = ""
		delete(c.origins, "identity.role")
	}
}

// strength orders the sources of a key's value: 0 for the default, 4 for a flag.
func (c *Config) strength(key string) int {
	kind, _, _ := strings.Cut(c.origins[key], " ")
	return slices.Index([]string{"", FileName, EnvFileName, "environment", "flag"}, kind)
}

// Error is one mistake in the configuration.
type Error struct {
	Where  string // path of the file, or "environment" or "command line"
	Key    string // key, variable or flag as it is written there
	Value  string // the value as it would be written in TOML, "" if the key itself is the mistake
	Reason string // what is wrong and what is allowed
}

// Error returns "where: key = value: reason".
func (e *Error) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s: %s", e.Where, e.Key, e.Reason)
	}
	return fmt.Sprintf("%s: %s = %s: %s", e.Where, e.Key, e.Value, e.Reason)
}

// Is makes every Error match [ErrInvalid].
func (e *Error) Is(target error) bool { return target == ErrInvalid }
