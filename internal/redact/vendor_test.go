package redact

import "testing"

func TestEveryVendorMayBegin(t *testing.T) {
	for _, v := range vendors {
		if !mayBeginKey(v.prefix) {
			t.Errorf("mayBeginKey does not know %q", v.prefix)
		}
	}
}
