// Package glob has the patterns by which annotations name configs, keys and namespaces.
//
// An asterisk stands for any characters, also for none, and a question mark for any one character. Anyone may write
// patterns, so matching takes no longer than reading the text: between two asterisks there are no question marks, and the
// parts of a pattern are looked for from left to right, never again.
package glob

import (
	"errors"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Check returns an error if a text is not a usable glob.
func Check(pattern string) error {
	if pattern == "" {
		return errors.New("a name is missing")
	}
	if len(pattern) > names.LongestName {
		return errors.New("a name is too long")
	}
	if strings.ContainsFunc(pattern, func(r rune) bool { return !isAllowed(r) }) {
		return errors.New("a name has a character that no name has")
	}
	first, last := strings.Index(pattern, "*"), strings.LastIndex(pattern, "*")
	if first >= 0 && strings.Contains(pattern[first:last], "?") {
		return errors.New("a question mark is between two asterisks")
	}
	return nil
}

// isAllowed reports whether a glob may have a character: those that names of configs and
// keys have, and the wildcards.
func isAllowed(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._*?", r)
}

// IsLiteral reports whether a pattern has no wildcards.
func IsLiteral(pattern string) bool { return !strings.ContainsAny(pattern, "*?") }

// Matches reports whether a text matches a glob.
func Matches(pattern, text string) bool {
	head, rest, isOpen := strings.Cut(pattern, "*")
	if !isOpen {
		return len(text) == len(head) && fits(head, text)
	}
	if len(text) < len(head) || !fits(head, text) {
		return false
	}
	text = text[len(head):]
	for {
		part, further, isMore := strings.Cut(rest, "*")
		if !isMore {
			return len(text) >= len(part) && fits(part, text[len(text)-len(part):])
		}
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text, rest = after, further
	}
}

// fits reports whether a text, which is no shorter than a part of a glob without asterisks, begins
// with it.
func fits(part, text string) bool {
	for i := range len(part) {
		if part[i] != '?' && part[i] != text[i] {
			return false
		}
	}
	return true
}

// CheckName returns an error if a text is not a name that a config or a namespace can have.
func CheckName(name string) error {
	if err := Check(name); err != nil {
		return err
	}
	if !IsLiteral(name) {
		return errors.New("it is a pattern, not a name")
	}
	return nil
}
