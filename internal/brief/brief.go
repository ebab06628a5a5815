// Package brief limits the length of texts from others before they are logged, written or kept, and makes them safe to
// show.
package brief

import "unicode/utf8"

const (
	// maxText is how long a text may be. A refusal from the API server itself can contain an
	// object name of 253 characters several times.
	maxText = 4 << 10
	// cutMark is the end of a shortened text.
	cutMark = " [cut]"
)

// Text returns a text in the length that logs, Events, conditions and memory may have: up to 4
// KiB unchanged, and otherwise its beginning with a mark that it was cut. The text of an
// admission webhook's denial can be arbitrarily long. The beginning does not keep the whole text
// in memory.
func Text(text string) string { return Within(maxText, text) }

// Within is like [Text] with another limit, in bytes, of at least 10.
func Within(limit int, text string) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(cutMark)
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(text[end]) {
			break
		}
		end--
	}
	return text[:end] + cutMark
}
