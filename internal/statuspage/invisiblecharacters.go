package statuspage

import (
	"bytes"
	"strings"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// What tenants write is shown as the plugin shows it: whoever chooses a text must not make it read other than it is, by
// characters that are invisible or change the direction of writing. Pages and JSON are looked at as a whole, so that no
// part of a page and no field is forgotten.

// visibleHTML returns a page with such characters replaced, apart from line breaks and tabs.
func visibleHTML(page []byte) []byte {
	if !bytes.ContainsFunc(page, func(r rune) bool { return r != '\n' && r != '\t' && brief.IsUnsafe(r) }) {
		return page
	}
	lines := strings.Split(string(page), "\n")
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(brief.Safe(line), `\u0009`, "\t")
	}
	return []byte(strings.Join(lines, "\n"))
}
