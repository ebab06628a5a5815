package controller

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

// judged lets the controller judge all workloads.
func (w *world) judged(t *testing.T) {
	t.Helper()
	w.controller.staleness.NoteEverything()
	w.controller.staleness.Update(t.Context(), time.Minute)
}

func TestAWorkloadWhoseRequiredConfigIsDeletedLacksIt(t *testing.T) {
	w := gradual(t, "a/one", "a/two")
	w.judged(t)
	if o := w.overview(); o.Lacking.Total != 0 {
		t.Fatalf("before: %+v", o.Lacking)
	}
	w.hide("configmaps", w.configMaps["a/c"])
	settle(w)
	w.judged(t)
	o := w.overview()
	if o.Lacking.Total != 2 {
		t.Fatalf("lacking: %+v", o.Lacking)
	}
	if e := o.Lacking.Items[0]; e.State != status.Lacking || e.Text != "configmap/c does not exist" || e.Since.IsZero() || e.Remedy != status.CreateConfig {
		t.Errorf("lacking: %+v", e)
	}
	if states := w.controller.ExplainConfig("configmap/a/c", time.Now()).States; states[status.Lacking] != 2 {
		t.Errorf("its readers: %v", states)
	}
	w.show("configmaps", w.configMaps["a/c"])
	settle(w)
	w.judged(t)
	if o := w.overview(); o.Lacking.Total != 0 {
		t.Errorf("after it is back: %+v", o.Lacking)
	}
}
