package embedding

import "time"

// Hasten makes a Remote wait milliseconds between tries instead of seconds.
func (r *Remote) Hasten() {
	for _, p := range []*pace{&r.query, &r.document} {
		p.first, p.most = time.Millisecond, 2*time.Millisecond
	}
}

// What tests measure by.
var (
	Cost     = cost
	FullCost = fullCost
)
