package vector

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ParseImportance reads a grade; the empty string stays empty.
func ParseImportance(s string) (Importance, error) {
	switch i := Importance(s); i {
	case "", Low, Medium, High:
		return i, nil
	}
	return "", fmt.Errorf("%w: importance %q; allowed: low, medium, high", ErrInvalid, s)
}

// grade orders importances: 0 low, 1 medium, 2 high.
func (i Importance) grade() uint8 {
	switch i {
	case Low:
		return 0
	case High:
		return 2
	}
	return 1
}

// checkTags returns the tags as a set: cleaned, without repeats, in the order given.
func (s *Service) checkTags(tags []string) ([]string, error) {
	out := []string{}
	for _, t := range tags {
		t, _, err := s.opts.Clean(t)
		if err != nil {
			return nil, fmt.Errorf("%w: tag %q: %w", ErrInvalid, t, err)
		}
		t = strings.Join(strings.Fields(t), " ")
		if n := utf8.RuneCountInString(t); n > MaxTagRunes {
			return nil, fmt.Errorf("%w: a tag has %d characters; the limit is %d", ErrInvalid, n, MaxTagRunes)
		}
		if t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if len(out) > MaxTags {
		return nil, fmt.Errorf("%w: %d tags; the limit is %d", ErrInvalid, len(out), MaxTags)
	}
	return out, nil
}

// checkContent cleans a content and holds it to its limits.
func (s *Service) checkContent(content string) (string, []string, error) {
	clean, notices, err := s.opts.Clean(content)
	if err != nil {
		return "", nil, fmt.Errorf("%w: content: %w", ErrInvalid, err)
	}
	clean = strings.TrimSpace(clean)
	n := utf8.RuneCountInString(clean)
	switch {
	case clean == "" && strings.TrimSpace(content) == "":
		return "", nil, fmt.Errorf("%w: content is empty; give the fact to remember in 1 to %d characters", ErrInvalid, MaxContentRunes)
	case clean == "":
		return "", nil, fmt.Errorf("%w: nothing of the content is left to store (%s); give the fact itself in 1 to %d characters", ErrInvalid, strings.Join(notices, "; "), MaxContentRunes)
	case n > MaxContentRunes:
		how := ""
		if len(notices) > 0 {
			how = " as it would be stored (" + strings.Join(notices, "; ") + ")"
		}
		return "", nil, fmt.Errorf("%w: content has %d characters%s; the limit is %d: shorten it, or split it into several memories", ErrInvalid, n, how, MaxContentRunes)
	}
	return clean, notices, nil
}

// checkID tells a malformed id from a missing one.
func checkID(id string) error {
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		shown := id
		if utf8.RuneCountInString(id) > 40 {
			shown = string([]rune(id)[:40]) + "..."
		}
		return fmt.Errorf("%w: id %q is not a memory id; ids are 32 lower-case hexadecimal digits, as returned with each memory", ErrInvalid, shown)
	}
	return nil
}
