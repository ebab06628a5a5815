package brief

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
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
	safe.Grow(len(s)) // of a whole page, for example
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
func IsUnsafe(r rune) bool { return r == utf8.RuneError || !isVisible(r) }

// isVisible reports whether a character shows, or changes how the one before it looks, as in emojis. Some letters show nothing: those
// that Unicode lets programs ignore, such as the Hangul filler, and the empty pattern of Braille.
func isVisible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != '\u2800'
}

// Line returns a text of others as logs, Events and status lines show it: in one line, as [Safe] shows it, and in the
// length of [Text]. White space around line breaks becomes a space, because the denials of some webhooks have paragraphs.
func Line(text string) string {
	text = Within(2*maxText, text) // whoever writes it chooses its length
	if strings.ContainsFunc(text, IsUnsafe) {
		text = Safe(strings.Join(strings.Fields(text), " "))
	}
	return Text(text)
}

// JSON returns the same JSON with the characters that [Safe] replaces written as escapes, which mean the same. Only strings
// can have them; line breaks between values stay.
func JSON(text []byte) []byte {
	stays := func(r rune) bool { return r == '\n' || isVisible(r) }
	if !bytes.ContainsFunc(text, func(r rune) bool { return !stays(r) }) {
		return text
	}
	visible := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if stays(r) {
			visible = utf8.AppendRune(visible, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			visible = fmt.Appendf(visible, `\u%04x`, unit)
		}
	}
	return visible
}
