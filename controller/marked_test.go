package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/optin"
)

// marked lets the watch show a ConfigMap with the mark that Reloader searches for, or without it.
func (w *world) marked(name, value string, isMarked bool) {
	config := &corev1.ConfigMap{ObjectMeta: w.meta(name), Data: map[string]string{"k": value}}
	if isMarked {
		metav1.SetMetaDataAnnotation(&config.ObjectMeta, "reloader.stakater.com/match", "true")
	}
	w.show("configmaps", config)
}

func TestAWorkloadThatSearchesRestartsForMarkedConfigsOnly(t *testing.T) {
	w := ruled(t, understands(optin.Reloader))
	w.marked("a/c", "1", false)
	w.marked("a/d", "1", true)
	w.marked("a/e", "1", false)
	w.runsForeign("a/searches", map[string]string{"reloader.stakater.com/search": "true"}, "c", "d")
	w.runsForeign("a/names", map[string]string{"reloader.stakater.com/search": "true", "configmap.reloader.stakater.com/reload": "e"}, "c", "e")
	w.runsForeign("a/late", map[string]string{"reloader.stakater.com/search": "true"}, "c")
	settle(w)
	w.marked("a/c", "2", false)
	w.requireRestarted(t, "after an edit without the mark")
	if explained := w.controller.ExplainWorkload("deployment/a/searches", time.Now()); !explained.Reads.Items[0].Ignored || explained.Reads.Items[1].Ignored {
		t.Errorf("explained: %+v", explained.Reads.Items)
	}
	w.marked("a/c", "2", true)
	w.requireRestarted(t, "when it is marked")
	w.marked("a/e", "2", false)
	w.requireRestarted(t, "after an edit of the named one", "a/names")
	w.marked("a/d", "2", true)
	w.requireRestarted(t, "after an edit with the mark", "a/names", "a/searches")
	w.marked("a/c", "3", true)
	w.requireRestarted(t, "after an edit with the new mark", "a/late", "a/names", "a/searches")
}
