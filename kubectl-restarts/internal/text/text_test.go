package text_test

import (
	"strings"
	"testing"
	"unicode"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

func TestOnlyVisibleCharactersReachTheTerminal(t *testing.T) {
	for given, want := range map[string]string{
		"migration under way": "migration under way",
		"Umzug läuft 移行 🚚":    "Umzug läuft 移行 🚚",
		"\x1b[31mred\x1b[0m":  `\u001b[31mred\u001b[0m`,
		"two\nlines\r":        `two\u000alines\u000d`,
		"\u202egnp.exe":       `\u202egnp.exe`,
		"\u009b31m":           `\u009b31m`,
		"a\u200bb":            `a\u200bb`,
		"\xff\xfe":            `\xff\xfe`,
		"\U000e0041":          `\U000e0041`,
		"\ufffd":              "\ufffd",
	} {
		if got := text.Safe(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func FuzzASafeTextIsVisible(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\a\xc0")
	f.Fuzz(func(t *testing.T, given string) {
		safe := text.Safe(given)
		if strings.ContainsFunc(safe, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q became %q", given, safe)
		}
		if text.Safe(safe) != safe {
			t.Errorf("%q is not stable", safe)
		}
	})
}

func TestOneIsAndManyAre(t *testing.T) {
	t.Parallel()
	if one, many := text.Are(1), text.Are(0)+text.Are(2); one != "is" || many != "areare" {
		t.Errorf("one %s, many %s", one, many)
	}
}
