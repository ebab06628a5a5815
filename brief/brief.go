// Package brief bounds texts that somebody else chooses, before they are logged, written or kept.
package brief

import "unicode/utf8"

const (
	// maxText is how long a text may be. A refusal of the API server's own can name an object of
	// 253 characters several times.
	maxText = 4 << 10
	// cutMark is the end of a text that was cut.
	cutMark = " [cut]"
)

// Text returns a text as logs, Events, conditions and memory may have it: whole up to 4 KiB,
// and otherwise its beginning with a mark that it was cut. An admission webhook denies requests
// in as many words as it likes. The beginning does not keep the whole text in memory.
func Text(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText - len(cutMark)
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(text[end]) {
			break
		}
		end--
	}
	return text[:end] + cutMark
}
