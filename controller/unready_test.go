package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAWorkloadWhosePodNeverCameIsNotSettled(t *testing.T) {
	w := gradual(t, "a/one")
	look := func() *status.Workload { return w.controller.ExplainWorkload("deployment/a/one", time.Now()) }
	if got := look(); got.State != status.Settled || got.Text != "" {
		t.Errorf("while all run: %s %q", got.State, got.Text)
	}
	w.changed("a/one", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 })
	if got := look(); got.State != status.Unready || got.Text != "not all of its pods run, and why is not known here" || got.Pods.Available != 2 || got.Remedy != status.LookAtPods || !got.Since.IsZero() {
		t.Errorf("while one is missing: %s %q, %+v since %s", got.State, got.Text, got.Pods, got.Since)
	}
	if states := w.controller.ExplainConfig("configmap/a/c", time.Now()).States; states[status.Unready] != 1 || states[status.Settled] != 0 {
		t.Errorf("the readers: %v", states)
	}
	began := time.Now().Add(-time.Hour)
	history := &w.controller.deliveries.History
	history.Begin(objecttest.DeploymentNamed("a/one"), "id", "configmap/c: k", began)
	history.End(objecttest.DeploymentNamed("a/one"), "id", status.Unknown, "no progress for 10m0s: pod one-x: no container has started", time.Now())
	if got := look(); got.State != status.Unready || !strings.HasSuffix(got.Text, ": no progress for 10m0s: pod one-x: no container has started") || !got.Since.Equal(began.UTC()) {
		t.Errorf("after a restart: %s %q since %s", got.State, got.Text, got.Since)
	}
	w.changed("a/one", wholeStatus)
	if got := look(); got.State != status.Settled {
		t.Errorf("when all run: %s %q", got.State, got.Text)
	}
}

func TestAWorkloadThatCrashesAfterItsRestartWasDeliveredIsOnThePage(t *testing.T) {
	w := gradual(t, "a/one", "a/two")
	w.changed("a/one", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 })
	w.judged(t)
	list := w.overview().Unready
	if list.Total != 1 || list.Items[0].Workload != "deployment/a/one" || list.Items[0].Text != "not all of its pods run, and why is not known here" || list.Items[0].Since.IsZero() || list.Items[0].Pods == nil {
		t.Errorf("the list is %+v", list)
	}
	if got := w.controller.ExplainWorkload("deployment/a/one", time.Now()); !got.Since.Equal(list.Items[0].Since) {
		t.Errorf("explained since %s", got.Since)
	}
	w.edited("a/c", "2")
	settle(w)
	if o := w.overview(); o.Unready.Total != 0 {
		t.Errorf("while a restart is under way or due: %+v", o.Unready)
	}
	w.changed("a/one", wholeStatus)
	w.judged(t)
	if _, isNoted := w.controller.Board.Resting.Unsettled.Find("a", objecttest.DeploymentNamed("a/one")); isNoted {
		t.Error("it is kept although all its pods run")
	}
}
