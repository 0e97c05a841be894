package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// wordStart is the mark of pieces that begin a word.
const wordStart = "\u2581"

// piece is an entry of the encoder's vocabulary: its text and ln p, 0 for the
// six reserved ones at the beginning.
type piece struct {
	text  string
	score float64
}

// readVocabulary reads a JSON array of pairs [text, score].
func readVocabulary(path string) ([]piece, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows [][2]any
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	pieces := make([]piece, len(rows))
	for i, row := range rows {
		text, ok := row[0].(string)
		score, ok2 := row[1].(float64)
		if !ok || !ok2 && row[1] != nil {
			return nil, fmt.Errorf("%s: piece %d is %v", path, i, row)
		}
		pieces[i] = piece{text, score}
	}
	return pieces, nil
}
