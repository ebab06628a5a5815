package controller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAHoldIsShownWithWhenItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.runs("a/early", map[string]string{annotation.HoldAnnotation: "wait"}, "c")
		w.runs("a/late", nil, "c")
		start := time.Now()
		go passTime(t.Context(), w.controller.catalog)
		time.Sleep(time.Hour)
		w.changed("a/late", holdIt)
		set := time.Now()
		w.annotate("a/c", annotation.HoldAnnotation, "wait")
		w.show("configmaps", w.configMaps["a/c"])
		time.Sleep(time.Minute)
		synctest.Wait()
		holds := make(map[string]status.Hold)
		for _, h := range w.overview().Holds.Items {
			holds[h.On] = h
		}
		if h := holds["deployment/a/early"]; !h.AtLeast || !h.Since.Equal(start) {
			t.Errorf("from before this process: %+v", h)
		}
		for _, name := range []string{"deployment/a/late", "configmap/a/c"} {
			if h := holds[name]; h.AtLeast || h.Since.Sub(set).Abs() > holdPeriod {
				t.Errorf("%s, seen when it was set at %s: %+v", name, set, h)
			}
		}
		if of := w.controller.ExplainWorkload("deployment/a/late", time.Now()).Holds; !slices.Equal(of.Items, []status.Hold{holds["configmap/a/c"], holds["deployment/a/late"]}) {
			t.Errorf("of a workload: %+v", of)
		}
		w.changed("a/late", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		time.Sleep(time.Minute)
		synctest.Wait()
		if since, atLeast := w.controller.catalog.HeldSince(objecttest.DeploymentNamed("a/late")); !since.IsZero() || atLeast {
			t.Errorf("a hold that has ended is remembered since %s", since)
		}
	})
}
