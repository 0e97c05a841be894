package embedding

import "testing"

func TestStatement(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"Where does Ann live?":         "Ann live",
		"What's the plan, and why?":    "the plan, and",
		"What?":                        "What?",
		"why how when":                 "why how when",
		"I know whose hat this is.":    "I know hat this is.",
		"somewhere, whatever":          "somewhere, whatever",
		"Did he say \"who\", did Ann?": "he say Ann",
	} {
		if got := statement(in); got != want {
			t.Errorf("statement(%q) = %q, want %q", in, got, want)
		}
	}
}
