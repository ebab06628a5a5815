package controller

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// The leader lists the pods, which takes 5 seconds. Meanwhile a config is edited, a pod starts,
// and the config is edited back. The leader records, and dies.
func TestAStandbyKnowsWhatCameWhileTheLeaderListedPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, standby := newWorld(t), newWorld(t)
		worlds := map[string]*world{"leader": leader, "standby": standby}
		edit := func(content string) {
			config := &corev1.ConfigMap{ObjectMeta: leader.meta("ns/c"), Data: map[string]string{"a": content}}
			config.CreationTimestamp = metav1.Unix(1, 0)
			for _, w := range worlds {
				w.show("configmaps", config)
			}
		}
		show := func() {
			for _, w := range worlds {
				w.show("deployments", leader.deployments["ns/web"])
			}
		}
		leader.deployments["ns/web"] = leader.deployment("ns/web", "c")
		edit("A")
		show()
		time.Sleep(10 * time.Second)
		edit("B")
		time.Sleep(10 * time.Second)
		var started time.Time
		leader.meanwhile = func() {
			time.Sleep(2 * time.Second)
			edit("C")
			time.Sleep(time.Second)
			started = time.Now()
			time.Sleep(time.Second)
			edit("B")
			time.Sleep(1100 * time.Millisecond)
		}
		if err := leader.controller.restarter.Handle(t.Context(), objecttest.Web); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		show()
		pod := decide.Pod{Mounted: started, Started: []decide.Start{{Container: "app", At: started}}}
		for name, w := range worlds {
			view, _ := w.controller.catalog.View(objecttest.Web)
			if decision := decide.ByPods(view, []decide.Pod{pod}); decision.Outcome != decide.Restart {
				t.Errorf("the %s says %s: %s", name, decision.Outcome, decision.Reason)
			}
		}
	})
}

// Half of a list may be all that a decision sees of several edits. It would be made again.
func TestNothingIsDecidedWhileAListOfConfigsIsTakenIn(t *testing.T) {
	w := newWorld(t)
	w.deployments["ns/web"] = w.deployment("ns/web", "c")
	w.show("deployments", w.deployments["ns/web"])
	config := content.NewConfigMap(&corev1.ConfigMap{ObjectMeta: w.meta("ns/c"), Data: map[string]string{"a": "1"}})
	var during error
	w.controller.catalog.ListConfigs(names.ConfigMap, "", []*content.Config{&config}, time.Now(), false, func(names.ConfigRef) {
		during = w.controller.restarter.Handle(t.Context(), objecttest.Web)
	})
	if afterwards := w.controller.restarter.Handle(t.Context(), objecttest.Web); !errors.Is(during, failures.ErrConfigsUnknown) || afterwards != nil {
		t.Errorf("during: %v, afterwards: %v", during, afterwards)
	}
}
