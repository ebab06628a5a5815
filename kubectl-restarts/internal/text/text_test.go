package text_test

import (
	"testing"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

func TestOneIsAndManyAre(t *testing.T) {
	t.Parallel()
	if one, many := text.Are(1), text.Are(0)+text.Are(2); one != "is" || many != "areare" {
		t.Errorf("one %s, many %s", one, many)
	}
}
