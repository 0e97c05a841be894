package embedding

import (
	"crypto/sha256"
	"encoding/hex"
)

// Space is where vectors live: only vectors of the same space can be compared.
type Space struct {
	Protocol string // how the model is reached: "builtin"
	Model    string // the model's name
	BaseURL  string // where it is reached, empty for the built-in one
	Dim      int    // numbers a vector
	Version  string // what is known of the model behind the name
}

// Fingerprint identifies a space by what the user configures: the lower-case
// hexadecimal SHA-256 of protocol|model|base_url.
func (s Space) Fingerprint() string {
	sum := sha256.Sum256([]byte(s.Protocol + "|" + s.Model + "|" + s.BaseURL))
	return hex.EncodeToString(sum[:])
}

// Passages are the unit vectors of one document, in the order of its text.
// None means that the document has nothing the model could read.
type Passages [][]float32
