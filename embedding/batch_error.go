package embedding

import (
	"errors"
	"fmt"
)

// ErrDimension is matched by errors of a model that answers vectors of another length
// than it did before: it was exchanged behind its name.
var ErrDimension = errors.New("the model's vectors have another dimension than before")

// BatchError says which texts of a batch the model refused. The results of the others,
// returned with it, are good.
type BatchError struct {
	Bad map[int]error // by position in the batch; not empty
}

// Error names the first bad text.
func (e *BatchError) Error() string {
	first := -1
	for i := range e.Bad {
		if first < 0 || i < first {
			first = i
		}
	}
	return fmt.Sprintf("%d texts could not be embedded, the first: %v", len(e.Bad), e.Bad[first])
}

// Unwrap returns the errors of the texts.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, 0, len(e.Bad))
	for _, err := range e.Bad {
		errs = append(errs, err)
	}
	return errs
}
