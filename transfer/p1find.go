package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reverie/vector/chroma"
)

// ErrNoCollection means that the server has no collection of the name.
var ErrNoCollection = errors.New("not found")

// P1Place is a database of a Chroma server, in which P1's collection may be.
type P1Place struct {
	Chroma           *chroma.Client // of this tenant and database
	Tenant, Database string
}

func (p P1Place) String() string {
	return fmt.Sprintf("tenant %s, database %s", clip(p.Tenant), clip(p.Database))
}

// maxNamed bounds the collections that an error names of one place.
const maxNamed = 20

// FindP1 returns the first of some places that has the collection; an empty name is
// [P1Collection]. The error is [ErrNoCollection], with what there is instead, or that of
// the server.
func FindP1(ctx context.Context, collection string, places ...P1Place) (P1Place, error) {
	if collection == "" {
		collection = P1Collection
	}
	var looked []string
	for _, p := range places {
		_, err := p.Chroma.Collection(ctx, collection)
		if err == nil {
			return p, nil
		}
		if !chroma.IsNotFound(err) {
			return P1Place{}, fmt.Errorf("collection %s: %w", collection, err)
		}
		have, err := p.Chroma.List(ctx)
		if err != nil && !chroma.IsNotFound(err) {
			return P1Place{}, fmt.Errorf("collections in %s: %w", p, err)
		}
		looked = append(looked, p.String()+instead(have))
	}
	return P1Place{}, fmt.Errorf("collection %s: %w: the server has no such collection in %s; name another place with --collection, --tenant and --database", clip(collection), ErrNoCollection, strings.Join(looked, ", nor in "))
}

// instead says which collections a place has.
func instead(have []chroma.Collection) string {
	if len(have) == 0 {
		return " (which has none)"
	}
	s := " (which has"
	for i, c := range have {
		if i == maxNamed {
			return s + fmt.Sprintf(" and %d more)", len(have)-i)
		}
		s += " " + clip(c.Name)
	}
	return s + ")"
}
