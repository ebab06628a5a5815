package controller

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func TestAWorkloadThatCannotBeRestartedIsReportedByAProcessThatNoticedItBeforeItLed(t *testing.T) {
	w := newCustomWorld(t, "rollouts.v1alpha1.argoproj.io")
	bad := objecttest.ObjectText("Rollout", "5", `"workloadRef": {"kind": "Deployment", "name": "web"}`, "")
	w.show(bad)
	if events := objecttest.EventsOf(w.recorder); len(events) > 0 {
		t.Errorf("a standby sends %q", events)
	}
	w.controller.beginToLead()
	if events := objecttest.EventsOf(w.recorder); len(events) != 1 || !strings.Contains(events[0], "NotSupported") || !strings.Contains(events[0], "workloadRef") {
		t.Errorf("as it begins to lead, it sends %q", events)
	}
	w.show(strings.Replace(bad, `"5"`, `"6"`, 1))
	if events := objecttest.EventsOf(w.recorder); len(events) > 0 {
		t.Errorf("when the status changes, it sends %q", events)
	}
	w.show(objecttest.ObjectText("Rollout", "7", objecttest.PodTemplateText, ""))
	if events := objecttest.EventsOf(w.recorder); len(events) != 1 || !strings.HasPrefix(events[0], "Normal NotSupported ") {
		t.Errorf("when it can be restarted, it sends %q", events)
	}
	w.controller.beginToLead()
	if events := objecttest.EventsOf(w.recorder); len(events) > 0 {
		t.Errorf("about a workload that can be restarted, it sends %q", events)
	}
}

func TestVeryManyWorkloadsThatCannotBeRestartedAreReportedInBounds(t *testing.T) {
	w := newCustomWorld(t, "rollouts.v1alpha1.argoproj.io")
	recorder := record.NewFakeRecorder(100 * gatekeeper.MaxReportsOf)
	w.controller.recordOwn(recorder)
	for i := range 10 * gatekeeper.MaxReportsOf {
		bad := objecttest.ObjectText("Rollout", "5", `"template": {}`, "")
		w.show(strings.Replace(bad, `"name": "web"`, fmt.Sprintf(`"name": "web-%d"`, i), 1))
	}
	w.controller.beginToLead()
	if n := len(recorder.Events); n != gatekeeper.MaxReportsOf {
		t.Errorf("%d Events", n)
	}
}
