package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	catalogobjects "kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// editedKeys edits the keys good and bad of the ConfigMap a/keys at once.
func (w *world) editedKeys(value string) {
	cm := &corev1.ConfigMap{ObjectMeta: w.meta("a/keys"), Data: map[string]string{"good": value, "bad": value}}
	cm.UID = "keys"
	w.configMaps["a/keys"] = cm
	w.show("configmaps", cm)
}

// readsKey lets a Deployment run that reads one key of a/keys.
func (w *world) readsKey(name, key string, annotations map[string]string) {
	w.runs(name, annotations)
	w.changed(name, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers = []corev1.Container{catalogobjects.ReadsKey("keys", key, false)}
	})
}

func (w *world) readers(key string) (restarted []string) {
	for _, name := range w.restarted() {
		if strings.Contains(name, key) {
			restarted = append(restarted, name)
		}
	}
	return restarted
}

// One edit changes a good key and a bad one. Those that read the bad one have a longer grace period, so the others have
// finished when they ask.
func TestThoseThatHaveFinishedProveNothingForReadersOfOtherKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.editedKeys("1")
		for i := range 4 {
			w.readsKey(fmt.Sprintf("a/good-%d", i), "good", nil)
			w.readsKey(fmt.Sprintf("a/bad-%d", i), "bad", map[string]string{annotation.GracePeriodAnnotation: "10m"})
		}
		settle(w)
		time.Sleep(time.Hour)
		due := func() {
			changes, _ := w.controller.changes.TakeDue(time.Now(), time.Hour)
			for _, change := range changes {
				w.controller.due(change)
			}
			for w.work() {
			}
		}
		due()
		w.editedKeys("2")
		var delivered []string
		for range 30 {
			time.Sleep(15 * time.Second)
			due()
			for _, name := range w.readers("good") {
				if !slices.Contains(delivered, name) {
					w.changed(name, wholeStatus)
				}
				w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(name))
			}
		}
		due()
		if good, bad := w.readers("good"), w.readers("bad"); len(good) != 4 || len(bad) != 0 {
			t.Fatalf("%q and %q restarted first", good, bad)
		}
		time.Sleep(10 * time.Minute)
		due()
		if bad := w.readers("bad"); len(bad) != 1 {
			t.Errorf("%q restarted at once", bad)
		}
	})
}

// One edit changes a good key and a bad one. The leader is replaced by a standby, which has seen the edit, when only the readers of the
// good key have restarted.
func TestReadersOfOtherKeysProveNothingUnderTheNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var worlds []*world
		standby := gradual(t)
		time.Sleep(time.Second)
		leader := gradual(t)
		standby.controller.role.Leading.Store(false)
		worlds = []*world{leader, standby}
		for _, w := range worlds {
			w.editedKeys("1")
		}
		for i := range 4 {
			leader.readsKey(fmt.Sprintf("a/a-good-%d", i), "good", nil)
			leader.readsKey(fmt.Sprintf("a/bad-%d", i), "bad", held)
		}
		settle(leader)
		list(standby, "deployments", leader.deployments)
		time.Sleep(time.Minute)
		for _, w := range worlds {
			w.editedKeys("2")
		}
		settle(leader)
		for range 30 {
			for _, name := range leader.readers("good") {
				leader.changed(name, wholeStatus)
				leader.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(name))
			}
			time.Sleep(10 * time.Second)
			settle(leader)
		}
		before := len(leader.readers("bad"))
		pass, _ := succeed(t, leader, standby)
		pass(4 * time.Second)
		for i := range 4 { // an operator approves
			standby.changed(fmt.Sprintf("a/bad-%d", i), func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		}
		pass(4 * time.Second)
		if bad := standby.readers("bad"); len(bad) > max(1, before) {
			t.Errorf("%q restarted at once", bad)
		}
	})
}
