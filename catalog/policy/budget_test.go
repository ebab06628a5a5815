package policy

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestWithoutAGracePeriodTheSpacingBeginsWithASecond(t *testing.T) {
	if got := (Budget{freeRestarts + 1, objecttest.Noon}).Wait(Spacing{Limit: time.Hour}, objecttest.Noon); got != 2*time.Second {
		t.Errorf("waits %s, want 2s", got)
	}
}
