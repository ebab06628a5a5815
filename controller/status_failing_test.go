package controller

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestTheStatusSaysWhyAttemptsFailAndWhenTheNextFollows(t *testing.T) {
	w := gradual(t, "a/one")
	w.refuse = http.StatusForbidden
	w.edited("a/c", "2")
	settle(w)
	o := w.overview()
	if o.Retrying.Total != 1 || o.Waiting.Total != 0 {
		t.Fatalf("retrying: %+v, waiting: %+v", o.Retrying, o.Waiting)
	}
	e := o.Retrying.Items[0]
	if e.State != status.Retrying || !strings.HasPrefix(e.Error, "patch deployment/a/one") || e.Attempts < 1 || e.Since.IsZero() || !e.Until.After(e.Since) {
		t.Errorf("retrying: %+v", e)
	}
	if c := w.controller.ExplainConfig("configmap/a/c", time.Now()); c.States[status.Retrying] != 1 {
		t.Errorf("its config: %+v", c.States)
	}
	if got := w.controller.ExplainWorkload(e.Workload, time.Now()); got.Error != e.Error || got.Attempts != e.Attempts {
		t.Errorf("explained: %+v", got.Entry)
	}

	w.controller.restarter.Queue.Add(objecttest.DeploymentNamed("a/one"), names.ConfigRef{})
	settle(w)
	if again := w.overview().Retrying.Items[0]; again.Attempts != e.Attempts+1 || !again.Since.Equal(e.Since) {
		t.Errorf("after another attempt: %+v", again)
	}

	w.refuse = 0
	w.controller.restarter.Queue.Add(objecttest.DeploymentNamed("a/one"), names.ConfigRef{})
	settle(w)
	if o := w.overview(); o.Retrying.Total != 0 || o.Rolling.Total != 1 {
		t.Errorf("after a success: %+v, %+v", o.Retrying, o.Rolling)
	}
}

func TestTheStatusSaysWhatADecisionWaitsFor(t *testing.T) {
	w := gradual(t, "a/one")
	w.controller.restarter.KnowsConfigs = func(string) bool { return false }
	w.edited("a/c", "2")
	settle(w)
	o := w.overview()
	if o.Waiting.Total != 1 || o.Retrying.Total != 0 {
		t.Fatalf("waiting: %+v, retrying: %+v", o.Waiting, o.Retrying)
	}
	if e := o.Waiting.Items[0]; e.State != status.Deciding || e.Text != failures.ErrConfigsUnknown.Error() || e.Error != "" {
		t.Errorf("waiting: %+v", e)
	}
}

func TestTheStatusShowsHoldsAlthoughNothingIsDue(t *testing.T) {
	w := gradual(t, "a/one")
	w.runs("a/held", map[string]string{annotation.HoldAnnotation: "migration"}, "c")
	w.runs("b/held", map[string]string{annotation.HoldAnnotation: "elsewhere"})
	w.annotate("a/c", annotation.HoldAnnotation, "approval")
	w.show("configmaps", w.configMaps["a/c"])
	settle(w)
	want := status.List[status.Hold]{Total: 2, Items: []status.Hold{
		{On: "configmap/a/c", IsConfig: true, Text: "approval", Release: "kubectl annotate -n a configmap/c com.xing.deployment-restart.hold-"},
		{On: "deployment/a/held", Text: "migration", Release: "kubectl annotate -n a deployment/held com.xing.deployment-restart.hold-"},
	}}
	o := w.controller.Overview("a", time.Now())
	if diff := cmp.Diff(want, o.Holds); diff != "" || o.Held.Total != 0 {
		t.Errorf("held: %v, holds (-want +got):\n%s", o.Held, diff)
	}
	if all := w.overview().Holds; all.Total != 3 {
		t.Errorf("of all namespaces: %+v", all)
	}
}
