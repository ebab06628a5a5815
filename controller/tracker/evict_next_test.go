package tracker

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// What broke the pods is still there after a restart for something else.
func TestARestartThatTakesOverTheLastOneMendsNothing(t *testing.T) {
	c, d := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}, names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "d"}
	failed := &RollingRestart{HasFailed: true, Decision: decide.Decision{Causes: []decide.Cause{{Config: c, Keys: []string{"k"}}}}}
	for name, test := range map[string]struct {
		next decide.Decision
		want bool
	}{
		"for another config": {decide.Decision{Causes: []decide.Cause{{Config: d, Keys: []string{"k"}}}}, false},
		"for the same one":   {decide.Decision{Causes: []decide.Cause{{Config: c, Keys: []string{"k"}}}}, true},
	} {
		test.next.Include(&failed.Decision)
		if got := failed.IsMendedBy(&test.next); got != test.want || len(failed.BrokenAfter(&test.next)) > 0 == test.want {
			t.Errorf("%s: mended: %t, still broken by %+v", name, got, failed.BrokenAfter(&test.next))
		}
	}
}
