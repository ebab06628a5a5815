// Package text makes texts from a cluster safe for a terminal. Whoever may write to an object
// chooses its annotations, and could otherwise move the cursor or reverse the direction of a line.
package text

import (
	"fmt"
	"strings"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// Safe returns a text in one line, in which every character is visible; see [brief.Safe].
func Safe(s string) string { return brief.Safe(s) }

// Join joins the parts that are not empty.
func Join(separator string, parts ...string) string {
	all := parts[:0]
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, separator)
}

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

// Middle returns the first and the last words of a text that has more characters.
func Middle(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	const longestWord = 20
	first, last := limit/3, len(runes)-limit+limit/3+3
	head, tail := string(runes[:first]), string(runes[last:])
	if i := strings.LastIndexByte(head, ' '); i > len(head)-longestWord && i > 0 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, ' '); i >= 0 && i < longestWord {
		tail = tail[i+1:]
	}
	return head + " … " + tail
}

// Short returns the first characters of a text that has more.
func Short(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}
