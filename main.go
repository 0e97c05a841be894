// Command reverie is a long-term memory server for agents, IDEs and chat bots, spoken to
// over the Model Context Protocol.
package main

import (
	"os"

	"reverie/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
