package cli

import (
	"context"
	"errors"
)

// benchRetrievalCmd measures how well search answers.
type benchRetrievalCmd struct {
	Sets string `arg:"" help:"Folder with *_corpus.jsonl and *_queries.jsonl." type:"existingdir"`
}

// Run measures.
func (b *benchRetrievalCmd) Run(ctx context.Context, e *env) error {
	return errors.New("bench retrieval is not wired yet")
}
