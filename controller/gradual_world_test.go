package controller

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// gradual returns a world whose controller leads, knows of no halts and restarts gradually. The named Deployments
// run with all their pods, and read one ConfigMap.
func gradual(t testing.TB, listed ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.beGradual()
	w.leads()
	w.edited("a/c", "1")
	for _, name := range listed {
		w.runs(name, nil, "c")
	}
	settle(w)
	return w
}

// beGradual makes the controller restart gradually.
func (w *world) beGradual() {
	c := w.controller
	c.intake.Grace, c.restarter.Grace, c.restarter.BackoffLimit = time.Millisecond, time.Millisecond, 0
	c.deliveries.Policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	c.gate.Deadline = c.deliveries.Policy.Deadline
	c.gate.FanOut = gatekeeper.FanOutOptions{Gradual: true, Limit: 50}
	c.gate.KnowsWorkloads = func(string) bool { return true }
	c.gate.KnowsWhatExists = func(names.ConfigKind, string) bool { return true }
	c.halts.KnowsConfigs = func(string) bool { return true }
}

// tick tells the gate that so much time has passed.
func (w *world) tick(after time.Duration) {
	w.controller.gate.Mu.Lock()
	defer w.controller.gate.Mu.Unlock()
	w.controller.gate.Ledger.Tick(time.Now().Add(after))
}

// runs creates a Deployment that runs with all its pods and reads the configs.
func (w *world) runs(name string, annotations map[string]string, configs ...string) {
	d := w.deployment(name, configs...)
	maps.Copy(d.Annotations, annotations)
	wholeStatus(d)
	w.deployments[name] = d
	w.show("deployments", d)
}

// log returns what the controller logs from now on, as far as fan-outs are concerned.
func (w *world) log() *strings.Builder {
	var text strings.Builder
	c, log := w.controller, slog.New(slog.NewTextHandler(&text, nil))
	c.intake.Log, c.intake.Mistakes.Log, c.intake.Unusable.Log = log, log, log
	c.restarter.Log, c.deliveries.Log, c.halts.Log, c.gate.Log, c.reports.Log = log, log, log, log, log
	c.reports.Notices.Log = log
	return &text
}

// restarted returns the names of the Deployments that were restarted, sorted.
func (w *world) restarted() (all []string) {
	for name, d := range w.deployments {
		if d.Spec.Template.Annotations[annotation.TimestampAnnotation] != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func failed(d *appsv1.Deployment) {
	d.Status.ObservedGeneration, d.Status.AvailableReplicas = d.Generation, 2
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
}

// removeConfig deletes a config, if it is there.
func (w *world) removeConfig(name string) {
	if w.configMaps[name] == nil {
		return
	}
	w.hide("configmaps", w.configMaps[name])
	delete(w.configMaps, name)
}

// createConfig creates a config, which has another UID than before.
func (w *world) createConfig(name, value string) {
	cm := &corev1.ConfigMap{ObjectMeta: w.meta(name), Data: map[string]string{"k": value}}
	cm.CreationTimestamp = metav1.Now()
	w.configMaps[name] = cm
	w.show("configmaps", cm)
}

// carryOut carries out the patch of a workload, whose answer is lost.
func (w *world) carryOut(t *testing.T, patch *http.Request) {
	t.Helper()
	parts := partsOf(patch)
	answer, err := w.patch(w.deployments[parts[len(parts)-3]+"/"+parts[len(parts)-1]], patch.Body)
	if err != nil {
		t.Error(err)
		return
	}
	_ = answer.Body.Close()
}

// lostAnswer is what comes instead of an answer.
func lostAnswer(code int) (int, any) {
	return code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Message: "lost"} //nolint:gosec // an HTTP code
}

// The config is deleted while the first reader restarts, and comes back with the same content after the deadline.
func TestAHaltEndsWhenTheWorkloadRunsAfterItsConfigCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		time.Sleep(time.Minute)
		w.edited("a/c", "2")
		settle(w)
		first := w.restarted()[0]
		time.Sleep(5 * time.Second)
		w.removeConfig("a/c")
		settle(w)
		time.Sleep(11 * time.Minute)
		w.fails(t, first) // it cannot start without the config
		settle(w)
		time.Sleep(time.Minute)
		w.createConfig("a/c", "2")
		settle(w)
		w.controller.halts.EndHalts()
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Fatalf("%d halts hold", len(halts))
		}
		w.delivers(t, first)
		w.delivers(t, first)
		settle(w)
		w.controller.halts.EndHalts()
		if halts := w.controller.gate.ActiveHalts(); len(halts) > 0 || len(w.restarted()) != 2 {
			t.Errorf("%s runs with the content, and %d halts are left; %q restarted", first, len(halts), w.restarted())
		}
	})
}

// The config is replaced by force by a good one, with which the container that crashes starts again, and by force by the bad one, by a tool.
func TestAHaltStaysWhenTheWorkloadRunsWithWhatTheConfigHadInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		time.Sleep(time.Minute)
		w.edited("a/c", "bad")
		settle(w)
		first := w.restarted()[0]
		time.Sleep(11 * time.Minute)
		w.fails(t, first)
		settle(w)
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Fatalf("%d halts hold", len(halts))
		}
		w.annotate("a/c", "x", "y")
		w.removeConfig("a/c")
		w.createConfig("a/c", "good")
		w.configMaps["a/c"].Annotations = map[string]string{annotation.HoldAnnotation: "look first"}
		w.show("configmaps", w.configMaps["a/c"])
		w.changed(first, wholeStatus) // the container has started again, and has read "good"
		w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(first))
		time.Sleep(10 * time.Second)
		w.removeConfig("a/c")
		w.createConfig("a/c", "bad")
		settle(w)
		w.controller.halts.EndHalts()
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Fatalf("%d halts hold again; restarted %q", len(halts), w.restarted())
		}
		w.delivers(t, first)
		w.delivers(t, first)
		settle(w)
		w.controller.halts.EndHalts()
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Errorf("%d halts are left; %q restarted", len(halts), w.restarted())
		}
	})
}
