package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/vector"
)

// id is the id of a record: the same where it can be, else one that follows from it, so
// that the same record again is the same memory.
func (p *p1Import) id(old string) string {
	id := strings.ToLower(strings.ReplaceAll(old, "-", ""))
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		sum := sha256.Sum256([]byte("p1\x00" + old))
		id = hex.EncodeToString(sum[:16])
	}
	if id != old {
		p.remark(id, "its id was %q", clip(old))
	}
	return id
}

// tags makes a set of P1's one string: a JSON list, or words between commas and their
// kin, or words with a number sign.
func (p *p1Import) tags(id, s string) []string {
	var list []string
	if json.Unmarshal([]byte(s), &list) != nil {
		sep := func(r rune) bool { return strings.ContainsRune(",，、;；|\n", r) }
		if strings.HasPrefix(strings.TrimSpace(s), "#") {
			sep = func(r rune) bool { return strings.ContainsRune(",，、;；|\n #", r) }
		}
		list = strings.FieldsFunc(s, sep)
	}
	out := []string{}
	for _, t := range list {
		t = strings.TrimSpace(t)
		switch n := utf8.RuneCountInString(t); {
		case t == "" || slices.Contains(out, t):
		case n > vector.MaxTagRunes:
			p.remark(id, "a tag of %d characters was left out; the limit is %d", n, vector.MaxTagRunes)
		case len(out) == vector.MaxTags:
			p.remark(id, "more than %d tags; those after were left out", vector.MaxTags)
			return out
		default:
			out = append(out, t)
		}
	}
	return out
}

// p1Text reads a value of metadata as text: ids of digits may have become numbers.
func p1Text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return ""
}

// p1Time reads a time as Python writes it, in UTC if it does not say.
func p1Time(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil && t.Year() > 1970 {
			return t.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}
