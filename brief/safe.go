package brief

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
	if !strings.ContainsFunc(s, IsUnsafe) {
		return s
	}
	var safe strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&safe, `\x%02x`, s[i])
		case IsUnsafe(r) && r > 0xffff:
			fmt.Fprintf(&safe, `\U%08x`, r)
		case IsUnsafe(r) && r != utf8.RuneError:
			fmt.Fprintf(&safe, `\u%04x`, r)
		default:
			safe.WriteRune(r)
		}
	}
	return safe.String()
}

// IsUnsafe reports whether [Safe] replaces a character, also if it stands for invalid UTF-8.
func IsUnsafe(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
