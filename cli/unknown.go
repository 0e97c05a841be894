package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"reverie/config"
)

// misspelt words a parse error: which command there is none of, which was probably meant,
// and whose help to read.
func misspelt(root *kong.Node, args []string, err error) error {
	node, path := root, "reverie"
	value := false // of the flag before it, perhaps
	for _, word := range args {
		if strings.HasPrefix(word, "-") {
			value = true
			continue
		}
		var names []string
		var next *kong.Node
		for _, c := range node.Children {
			if c.Name == word {
				next = c
			}
			if !c.Hidden {
				names = append(names, c.Name)
			}
		}
		if next != nil {
			node, path, value = next, path+" "+next.Name, false
			continue
		}
		if value {
			value = false
			continue
		}
		if len(names) > 0 && strings.Contains(err.Error(), "unexpected argument "+word) {
			return fmt.Errorf("no command %q%s (see: %s --help)", word, config.DidYouMean(word, names), path)
		}
		break
	}
	return fmt.Errorf("%w (see: %s --help)", err, path)
}

func isCommand(root *kong.Node, word string) bool {
	return slices.ContainsFunc(root.Children, func(c *kong.Node) bool { return c.Name == word })
}
