package controller

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestTheRemedyIsInTheEventAndTheStatusAndIsNotCutOff(t *testing.T) {
	for name, text := range map[string]string{
		"short": "no", "long": strings.Repeat("x", 10_000), "hostile": strings.Repeat("\x1b", 10_000),
	} {
		c, _ := newIdleController(t)
		events := record.NewFakeRecorder(1)
		c.restarter.Events = events
		c.restarter.Backlogs.Note(pending.ObservedChange{Workload: objecttest.Web, Count: 1, Due: time.Now()})
		c.catalog.ObserveWorkload(workload.Workload{Object: workload.Object{Ref: objecttest.Web, UID: objecttest.UIDOf(1), ResourceVersion: "1"}})
		c.restarter.Failed(objecttest.Web, objecttest.RefusalWith(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "a" denied the request: `+text))
		if event := <-events.Events; !strings.HasSuffix(event, string(status.ChangePolicy)) || len(event) > 4096 {
			t.Errorf("%s: the Event has %d bytes: %s", name, len(event), event)
		}
		if got := c.restarter.Backlogs.Of(objecttest.Web).Failure; got.Remedy != status.ChangePolicy || !strings.HasPrefix(got.Problem, "patch web: ") || len(got.Problem) > tracker.LongestFailure {
			t.Errorf("%s: kept is %+v", name, got)
		}
	}
}
