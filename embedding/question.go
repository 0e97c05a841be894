package embedding

import "strings"

// statement drops the question words and marks of an English text. The encoder
// puts questions apart from statements, and what is searched are statements. A
// text of nothing else stays as it is.
func statement(question string) string {
	words := strings.Fields(strings.ReplaceAll(question, "?", " "))
	kept := words[:0]
	for _, w := range words {
		if !isQuestionWord(w) {
			kept = append(kept, w)
		}
	}
	if len(kept) == 0 {
		return question
	}
	return strings.Join(kept, " ")
}

func isQuestionWord(w string) bool {
	switch strings.ToLower(strings.Trim(w, ",.!;:\"'")) {
	case "what", "when", "where", "who", "whom", "whose", "which", "why", "how", "do", "does", "did", "what's":
		return true
	}
	return false
}
