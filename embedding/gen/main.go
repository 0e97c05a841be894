// Command gen makes the data files of the built-in embedder from their
// published sources: the encoder's weights and vocabulary
// (embedding/data/use_q8.bin) and the Chinese-English dictionary
// (internal/gloss/data/zh_gloss.bin), each with its SHA-256 beside it.
//
// It is run by hand when a source or a layout changes, through
// scripts/embedder-data.sh, which fetches the pinned sources:
//
//	go run ./embedding/gen -model DIR -cedict FILE -jieba FILE
//
// The same sources give the same bytes on every machine.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var in sources
	flag.StringVar(&in.model, "model", "", "`folder` with model.json, vocab.json and the weight shards")
	flag.StringVar(&in.cedict, "cedict", "", "CC-CEDICT `file` all.js")
	flag.StringVar(&in.jieba, "jieba", "", "jieba's word frequency `file` dict.txt")
	flag.StringVar(&in.overrides, "overrides", "embedding/gen/zh_overrides.tsv", "`file` of hand-made glosses")
	root := flag.String("root", ".", "root `folder` of the module to write into")
	flag.Parse()
	if err := run(in, *root); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// sources are the paths of the inputs.
type sources struct{ model, cedict, jieba, overrides string }

func run(in sources, root string) error {
	vocab, err := readVocabulary(filepath.Join(in.model, "vocab.json"))
	if err != nil {
		return err
	}
	dict, err := buildDictionary(in, vocab)
	if err != nil {
		return fmt.Errorf("build dictionary: %w", err)
	}
	if err := write(filepath.Join(root, "internal/gloss/data"), "zh_gloss.bin", dict); err != nil {
		return err
	}
	model, err := buildModel(in.model, vocab)
	if err != nil {
		return fmt.Errorf("build model: %w", err)
	}
	return write(filepath.Join(root, "embedding/data"), "use_q8.bin", model)
}

// write stores a data file and its sum in the form sha256sum -c reads.
func write(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		return err
	}
	sum := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name)
	fmt.Printf("%9d bytes  %s", len(data), sum)
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sum), 0o644)
}
