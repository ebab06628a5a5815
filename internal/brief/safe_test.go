package brief_test

import (
	"strings"
	"testing"
	"unicode"

	"kubernetes-deployment-restart-controller/internal/brief"
)

func TestOnlyVisibleCharactersReachTheTerminal(t *testing.T) {
	for given, want := range map[string]string{
		"migration under way": "migration under way",
		"Umzug läuft 移行 🚚":    "Umzug läuft 移行 🚚",
		"\x1b[31mred\x1b[0m":  `\u001b[31mred\u001b[0m`,
		"two\nlines\r":        `two\u000alines\u000d`,
		"\u202egnp.exe":       `\u202egnp.exe`,
		"a\u3164b\u2800":      `a\u3164b\u2800`,
		"\u26a0\ufe0f":        "\u26a0\ufe0f",
		"\u009b31m":           `\u009b31m`,
		"a\u200bb":            `a\u200bb`,
		"\xff\xfe":            `\xff\xfe`,
		"\U000e0041":          `\U000e0041`,
		"\ufffd":              "\ufffd",
	} {
		if got := brief.Safe(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func FuzzASafeTextIsVisible(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\a\xc0")
	f.Fuzz(func(t *testing.T, given string) {
		safe := brief.Safe(given)
		if strings.ContainsFunc(safe, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q became %q", given, safe)
		}
		if brief.Safe(safe) != safe {
			t.Errorf("%q is not stable", safe)
		}
	})
}
