package apiclient_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/apiclient"
)

func TestAShortTextStaysAndALongOneIsCutBetweenItsCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringN(1, 8, -1).Draw(t, "unit")
		text := strings.Repeat(unit, rapid.IntRange(0, 1600).Draw(t, "times"))
		brief := apiclient.Brief(text)
		begin, isCut := strings.CutSuffix(brief, " [cut]")
		switch {
		case len(text) <= 4096:
			if brief != text {
				t.Fatalf("got %q", brief)
			}
		case len(brief) > 4096, len(brief) < 4070, !isCut, !strings.HasPrefix(text, begin), utf8.ValidString(text) && !utf8.ValidString(brief):
			t.Fatalf("got %q", brief)
		}
	})
}
