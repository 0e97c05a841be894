// Package config finds the home folder and reads the configuration in it.
//
// A value comes from the strongest source that has one:
//
//	command-line flag > environment > .env in the home > config.toml in the home > default
//
// All keys stand in one table, keys.go: name, type, default, bounds, environment variables and a line of help. From it
// come the defaults, the validation, what `config show` and `config init` print, and the table in the README, so that
// none of them can disagree. A key is there only if it has an effect in this version. To add one: a field in Config, a
// row in the table, and the README's table generated again.
//
// What is wrong in a file or variable is an error that names the source, the key, the value and what is allowed; all
// mistakes are reported at once. The package knows nothing of the parts it configures: package cli turns a Config into
// their Options.
package config
