package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"reverie/config"
)

// configCmd groups the commands about the configuration.
type configCmd struct {
	Show configShowCmd `cmd:"" default:"withargs" help:"Print every key with its value and where it comes from (the default action)."`
	Init configInitCmd `cmd:"" help:"Write a commented config.toml."`
}

type configShowCmd struct{}

// Run prints the effective configuration.
func (configShowCmd) Run(e *env) error {
	entries := e.cfg.Show()
	if e.json {
		return e.printJSON(entries)
	}
	for _, x := range entries {
		e.printf("%-34s = %-24s # %s\n", x.Key, x.Text(), x.Origin)
	}
	return nil
}

type configInitCmd struct {
	Force bool `help:"Replace an existing config.toml; the old one is kept as config.toml.bak."`
}

// Run writes the file.
func (c *configInitCmd) Run(e *env) error {
	path := filepath.Join(e.cfg.Home, config.FileName)
	if c.Force {
		if err := os.Rename(path, path+".bak"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep the old config: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; nothing was changed (edit it, or use --force)", path)
	}
	if err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	_, err = f.Write(config.InitFile())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	if e.json {
		return e.printJSON(map[string]string{"wrote": path})
	}
	e.printf("wrote %s\n", path)
	return nil
}
