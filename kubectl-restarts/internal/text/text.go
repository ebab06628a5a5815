// Package text makes texts from a cluster safe for a terminal. Whoever may write to an object
// chooses its annotations, and could otherwise move the cursor or reverse the direction of a line.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe returns a text in one line, in which every character is visible: control characters, line
// breaks, invisible characters and those that change the direction of writing are replaced by
// escapes such as \u001b. Letters of all scripts stay as they are.
func Safe(s string) string {
	if !strings.ContainsFunc(s, isUnsafe) {
		return s
	}
	var safe strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&safe, `\x%02x`, s[i])
		case isUnsafe(r) && r > 0xffff:
			fmt.Fprintf(&safe, `\U%08x`, r)
		case isUnsafe(r) && r != utf8.RuneError:
			fmt.Fprintf(&safe, `\u%04x`, r)
		default:
			safe.WriteRune(r)
		}
	}
	return safe.String()
}

// isUnsafe also selects the character that stands for invalid UTF-8.
func isUnsafe(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// Are returns the verb for that many.
func Are(count int) string {
	if count == 1 {
		return "is"
	}
	return "are"
}

// Count returns a number and what is counted, such as "1 workload" or "2 workloads".
func Count[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List joins the first parts of a list with commas, and counts the others.
func List(parts []string, limit int) string {
	if len(parts) <= limit {
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(parts[:limit], ", "), len(parts)-limit)
}

// longestCell is how many characters a cell shows: more than any name in Kubernetes has.
const longestCell = 600

// Cell returns a text for a cell of a table that is not the last one of its row: safe, and not very long. The printer
// makes the column in all rows as wide as in the widest.
func Cell(s string) string { return Safe(Short(s, longestCell)) }

// Short returns the first characters of a text that has more.
func Short(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}
