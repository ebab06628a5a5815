package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func TestTheRecordSaysWhatTheLastRestartWasForUntilThePodTemplateChanges(t *testing.T) {
	w := started(t)
	w.changed("a/web", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers = w.deployment("a/other", "c", "later").Spec.Template.Spec.Containers
	})
	restarted := func() []record.Restarted {
		settle(w)
		applied := w.controller.catalog.Workload(objecttest.AWeb).Record
		if !applied.Trusted {
			t.Fatalf("record %+v", applied)
		}
		return applied.RestartedFor
	}
	expect := func(step string, keys ...string) {
		t.Helper()
		var want []record.Restarted
		if len(keys) > 0 {
			want = []record.Restarted{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}, Keys: keys}}
		}
		if diff := cmp.Diff(want, restarted(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	expect("recorded at first")
	w.edited("a/c", "2")
	expect("restarted", "k")
	w.edited("a/later", "1")
	expect("another config appeared", "k")
	if recorded := w.controller.catalog.Workload(objecttest.AWeb).Record.Checksums; len(recorded) != 2 {
		t.Errorf("the config that appeared is not recorded: %v", recorded)
	}
	w.changed("a/web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
	expect("released")
}
