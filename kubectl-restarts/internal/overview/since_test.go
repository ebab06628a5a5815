package overview

import (
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestTheTablesSayWhatMayHaveBegunEarlier(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	since := now.Add(-42 * time.Second)
	l := &FromLeader{Overview: &status.Overview{
		FanOuts:  status.List[status.FanOut]{Total: 1, Items: []status.FanOut{{Config: "configmap/shop/a", Beginning: status.Beginning{Since: since, AtLeast: true}}}},
		Retrying: status.List[status.Entry]{Total: 1, Items: []status.Entry{{Workload: "deployment/shop/web", State: status.Retrying, Beginning: status.Beginning{Since: since, AtLeast: true}}}},
		Waiting:  status.List[status.Entry]{Total: 1, Items: []status.Entry{{Workload: "deployment/shop/known", State: status.Waiting, Beginning: status.Beginning{Since: since}}}},
	}}
	var out strings.Builder
	if err := l.print(&out, printers.PrintOptions{}, now); err != nil || strings.Count(out.String(), "at least 42s") != 2 || strings.Count(out.String(), "42s") != 3 {
		t.Errorf("%v\n%s", err, &out)
	}
}
