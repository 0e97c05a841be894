package vector_test

import (
	"testing"
	"time"

	"reverie/vector"
)

// Of two memories that say the same, one private and one not, either may be replaced by a
// later import that brings it alone: the two stay beside each other.
func TestImportOneOfAPair(t *testing.T) {
	later := at(day.Add(time.Hour))
	tests := []struct {
		name  string
		bring vector.Memory
	}{
		{"the private one", given(2, "a", private, later)},
		{"the public one", given(4, "a", later)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t, vector.Options{})
			h.bring(t, vector.ImportOptions{}, given(2, "a", private), given(4, "a"))
			r := h.bring(t, vector.ImportOptions{OnConflict: vector.ReplaceAll}, tt.bring)
			if got, want := counts(r), "added 0 known 0 replaced 1 kept 0 refused 0 live 2"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			all := h.all(t)
			if len(all) != 2 || !all[id(2)].Private || all[id(4)].Private || !all[tt.bring.ID].UpdatedAt.Equal(tt.bring.UpdatedAt) {
				t.Errorf("%+v", all)
			}
		})
	}
}
