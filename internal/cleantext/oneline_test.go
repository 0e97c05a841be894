package cleantext_test

import (
	"testing"

	"reverie/internal/cleantext"
)

func TestOneLine(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		max  int
		want string
	}{
		"plain":          {"model not found", 200, "model not found"},
		"lines":          {" a\r\n\tb\x00c ", 200, "a b c"},
		"escape":         {"\x1b[31mred", 200, "[31mred"},
		"direction":      {"abc\u202etxt.exe", 200, "abc txt.exe"},
		"not UTF-8":      {"a\xff\xfeb", 200, "a�b"},
		"exactly":        {"猫猫猫", 3, "猫猫猫"},
		"cut at a rune":  {"猫猫猫猫", 3, "猫猫猫…"},
		"nothing":        {"", 3, ""},
		"nothing but it": {"\n\n", 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cleantext.OneLine(tc.in, tc.max); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
