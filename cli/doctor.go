package cli

import (
	"context"
	"errors"
)

// doctorCmd checks the database, and saves what a damaged one still holds.
type doctorCmd struct {
	Repair bool `help:"Write a fresh database with everything that can still be read; the damaged files are kept aside."`
}

// Run checks or repairs.
func (d *doctorCmd) Run(ctx context.Context, e *env) error {
	return errors.New("doctor is not wired yet")
}
