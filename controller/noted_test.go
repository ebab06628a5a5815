package controller

import (
	"fmt"
	"testing"

	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/notes"
)

func TestWhatAWorkloadLacksIsSaidHoweverManyLackSomething(t *testing.T) {
	var names []string
	for i := range 2 * notes.MaxOf {
		names = append(names, fmt.Sprintf("a/web-%03d", i))
	}
	w := gradual(t, names...)
	w.hide("configmaps", w.configMaps["a/c"])
	settle(w)
	w.judged(t)
	o := w.overview()
	if o.Lacking.Total != len(names) {
		t.Errorf("%d workloads lack it, want %d", o.Lacking.Total, len(names))
	}
	for _, e := range o.Lacking.Items {
		if e.Text != "configmap/c does not exist" {
			t.Errorf("%s: %q", e.Workload, e.Text)
		}
	}
	for _, name := range names {
		ref := objecttest.DeploymentNamed(name)
		if s := w.controller.Board.StandingOf(ref); s.By.Text != "configmap/c does not exist" {
			t.Fatalf("%s: %+v", name, s)
		}
	}
	if kept := len(w.controller.absences.Of.All()); kept != notes.MaxOf {
		t.Errorf("%d texts are kept", kept)
	}
}
