package text_test

import (
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

func TestOneIsAndManyAre(t *testing.T) {
	t.Parallel()
	if one, many := text.Are(1), text.Are(0)+text.Are(2); one != "is" || many != "areare" {
		t.Errorf("one %s, many %s", one, many)
	}
}

func TestTheMiddleOfALongTextIsLeftOut(t *testing.T) {
	for whole, want := range map[string]string{
		"short":                          "short",
		"30 characters, äöü, of no more": "30 characters, äöü, of no more",
		"patch web x: forbidden by a policy: it is Friday": "patch web … it is Friday",
		strings.Repeat("x", 40):                            "xxxxxxxxxx … xxxxxxxxxxxxxxxxx",
	} {
		if got := text.Middle(whole, 30); got != want {
			t.Errorf("got %q (%d), want %q", got, len([]rune(got)), want)
		}
	}
}
