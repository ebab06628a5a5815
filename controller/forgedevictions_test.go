//go:build !race

package controller

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// A tenant pretends that restarts by eviction of its workloads are under way, one each five minutes, for the content of a group.
func TestForgedEvictionsKeepNoOtherNamespaceWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.controller.gate.FanOut.Groups = []names.ConfigRef{groupOfC}
		for _, config := range []string{"h/c", "v/c"} {
			w.edited(config, "1")
		}
		w.runs("v/web", nil, "c")
		name := func(i int) string { return fmt.Sprintf("h/w%d", i%3) }
		for i := range 3 {
			d := w.deployment(name(i), "c")
			d.Annotations[annotation.MethodAnnotation] = "evict"
			w.deployments[name(i)] = d
			w.show("deployments", d)
		}
		settle(w)
		time.Sleep(w.controller.gate.Deadline + time.Minute)
		w.edited("h/c", "2")
		pretend := func(i int) {
			w.changed(name(i), func(d *appsv1.Deployment) { forgeEviction(t, w, d) })
			w.controller.deliveries.FollowEviction(w.controller.catalog.Workload(objecttest.DeploymentNamed(name(i))), time.Now(), time.Now())
		}
		pretend(0)
		w.edited("v/c", "2")
		for minute := range 30 {
			if w.deployments["v/web"].Spec.Template.Annotations[annotation.TimestampAnnotation] != "" {
				return
			}
			time.Sleep(time.Minute)
			settle(w)
			w.tick(0)
			if minute%5 == 4 {
				pretend(minute/5 + 1)
			}
		}
		t.Error("another namespace has not had its turn in half an hour")
	})
}

// forgeEviction writes the record of a restart by eviction, as whoever may write to a workload can.
func forgeEviction(t *testing.T, w *world, d *appsv1.Deployment) {
	t.Helper()
	view, found := w.controller.catalog.View(names.WorkloadRef{Kind: names.Deployment, Namespace: d.Namespace, Name: d.Name})
	if !found {
		t.Fatal("not found")
	}
	decision := decide.Decide(view)
	written, err := decision.Delivers().Annotations(record.Basis{
		Template: view.Workload.Template, Written: time.Now(), Ran: record.AllRan, Evict: record.EvictNow,
		RestartedFor: []record.Restarted{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: d.Namespace, Name: "c"}, Keys: []string{"k"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(d.Annotations, written)
	d.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: annotation.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.Now()), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:%s":{},"f:%s":{}}}}`, annotation.ChecksumsAnnotation, annotation.BasisAnnotation)),
	}}
}
