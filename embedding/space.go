package embedding

import (
	"crypto/sha256"
	"encoding/hex"
)

// Passages are the unit vectors of one text, one for each passage of it that fits the
// model's input. A text in which the model finds no meaning has none.
type Passages [][]float32

// Space identifies vectors that may be compared with one another.
type Space struct {
	Protocol string // builtin, ...
	Model    string
	BaseURL  string // empty for the built-in model
	Dim      int
	Version  string // of whatever else shapes the vectors
}

// Fingerprint is the lower-case hexadecimal SHA-256 of "protocol|model|base_url".
func (s Space) Fingerprint() string {
	sum := sha256.Sum256([]byte(s.Protocol + "|" + s.Model + "|" + s.BaseURL))
	return hex.EncodeToString(sum[:])
}
