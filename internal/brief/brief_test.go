package brief_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/internal/brief"
)

func TestAShortTextStaysAndALongOneIsCutBetweenItsCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringN(1, 8, -1).Draw(t, "unit")
		text := strings.Repeat(unit, rapid.IntRange(0, 1600).Draw(t, "times"))
		got := brief.Text(text)
		begin, isCut := strings.CutSuffix(got, " [cut]")
		switch {
		case len(text) <= 4096:
			if got != text {
				t.Fatalf("got %q", got)
			}
		case len(got) > 4096, len(got) < 4070, !isCut, !strings.HasPrefix(text, begin), utf8.ValidString(text) && !utf8.ValidString(got):
			t.Fatalf("got %q", got)
		}
	})
}
