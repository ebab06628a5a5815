package controller

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/judge"
)

// exposing returns a world in which the pods of held workloads are looked at, until the test ends.
func exposing(t *testing.T) *world {
	t.Helper()
	w := gradual(t)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { w.controller.exposures.Run(ctx) })
	t.Cleanup(func() {
		stop()
		group.Wait()
	})
	return w
}

// runsWithPods runs Deployments that read the ConfigMap c of their namespaces, have a pod each, and are held.
func (w *world) runsWithPods(annotations map[string]string, names ...string) {
	w.pods = make(map[string][]corev1.Pod)
	for _, name := range names {
		namespace, app, _ := strings.Cut(name, "/")
		if w.configMaps[namespace+"/c"] == nil {
			w.edited(namespace+"/c", "1")
		}
		w.startsPod(name)
		w.runs(name, annotations, "c")
		w.changed(name, func(d *appsv1.Deployment) {
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		})
	}
	settle(w)
	w.pass(time.Minute)
}

// startsPod makes another pod of a Deployment run from now on.
func (w *world) startsPod(name string) {
	of := strings.Replace(name, "/", "/app=", 1)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "a-replicaset", Controller: new(true)}}}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: time.Now()}, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}}
	w.pods[of] = append(w.pods[of], pod)
}

// pass lets time pass, and what happens then. What the test has done before is visible to all goroutines, and what
// they do is visible to the test.
func (w *world) pass(d time.Duration) {
	w.passed.Add(1)
	time.Sleep(d)
	synctest.Wait()
}

var held = map[string]string{annotation.HoldAnnotation: "an incident"}

// requireExposed compares the series of the metric, "namespace/reason value" each.
func (w *world) requireExposed(t *testing.T, when string, want ...string) {
	t.Helper()
	var expected strings.Builder
	for _, series := range append(want, "other/other 0") {
		of, value, _ := strings.Cut(series, " ")
		namespace, reason, _ := strings.Cut(of, "/")
		fmt.Fprintf(&expected, "deployment_restart_controller_held_workloads_exposed{namespace=%q,reason=%q} %s\n", namespace, reason, value)
	}
	const name = "deployment_restart_controller_held_workloads_exposed"
	header := fmt.Sprintf("# HELP %s The number of workloads whose restart is held although pods of theirs were found to have read the new content, by what it waits for.\n# TYPE %s gauge\n", name, name)
	if err := testutil.CollectAndCompare(w.controller, strings.NewReader(header+expected.String()), name); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

func TestAHeldWorkloadCountsAsExposedFromWhenAPodHasReadTheNewContentUntilItIsNotHeldAnyMore(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		reason      string
		ends        func(*world)
	}{
		"the hold is removed": {held, "hold", func(w *world) {
			w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		}},
		"the content is reverted, and the pod that has read it waits for its restart": {held, "hold", func(w *world) {
			w.edited("a/c", "1")
			settle(w)
			w.pass(20 * time.Second) // until its pods are looked at again
		}},
		"it is deleted": {held, "hold", func(w *world) { w.hide("deployments", w.deployments["a/web"]) }},
		"its window opens": {map[string]string{annotation.WindowAnnotation: "0 2 1 1 * 1h"}, "window", func(w *world) {
			w.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.WindowAnnotation] = "@daily 24h" })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := exposing(t)
				w.runsWithPods(test.annotations, "a/web", "a/other", "b/web")
				w.edited("a/c", "2")
				settle(w)
				w.pass(20 * time.Second)
				w.requireExposed(t, "with pods from before the edit")
				w.startsPod("a/web")
				w.pass(20 * time.Second)
				w.requireExposed(t, "with a pod from after the edit", "a/"+test.reason+" 1")
				test.ends(w)
				settle(w)
				w.requireExposed(t, "in the end")
			})
		})
	}
}

func TestPodsAreListedOnceASecondAndInTurnsByNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := exposing(t)
		names := []string{"b/web"}
		for i := range 20 {
			names = append(names, fmt.Sprintf("a/web-%d", i))
		}
		w.runsWithPods(held, names...)
		if w.listings = nil; w.controller.gate.Ledger.UnderWay() > 0 {
			t.Fatal("something rolls")
		}
		w.pass(time.Minute)
		if len(w.listings) > 0 {
			t.Errorf("%d lists although nothing is held", len(w.listings))
		}
		w.edited("a/c", "2")
		w.edited("b/c", "2")
		settle(w)
		w.pass(2 * time.Minute)
		ofB := 0
		of := make(map[string]int)
		for _, listed := range w.listings {
			if of[listed]++; listed == "b/app=web" {
				ofB++
			}
		}
		if len(w.listings) > 120 || len(w.listings) < 110 {
			t.Errorf("%d lists in two minutes", len(w.listings))
		}
		if len(of) != 21 || ofB < 20 {
			t.Errorf("lists: %v", of)
		}
		for _, n := range of {
			if n < 4 {
				t.Errorf("not all had their turns: %v", of)
			}
		}
	})
}

// A workload may be held for days, and may have thousands of pods.
func TestPodsThatTakeLongToListAreListedForATenthOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := exposing(t)
		w.runsWithPods(held, "a/web")
		w.edited("a/c", "2")
		settle(w)
		w.listings = nil
		var takeLong func()
		takeLong = func() {
			time.Sleep(10 * time.Second)
			w.meanwhile = takeLong
		}
		w.meanwhile = takeLong
		w.pass(time.Hour)
		if n := len(w.listings); n < 30 || n > 37 {
			t.Errorf("%d lists of 10 seconds in an hour", n)
		}
	})
}

func TestWhatWasFoundOutStaysWhileThePodsCannotBeListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := exposing(t)
		w.runsWithPods(held, "a/web")
		w.edited("a/c", "2")
		settle(w)
		w.pass(5 * time.Second)
		w.startsPod("a/web")
		w.pass(20 * time.Second)
		w.refusePods = http.StatusForbidden
		w.pass(time.Minute)
		w.requireExposed(t, "while the pods cannot be listed", "a/hold 1")
		w.refusePods, w.pods = 0, nil
		w.pass(time.Minute)
		w.requireExposed(t, "without pods")
	})
}

func TestTheSeriesOfExposedWorkloadsDoNotGrowWithNamespaces(t *testing.T) {
	c, _ := newIdleController(t)
	for i := range 1000 {
		ref := names.WorkloadRef{Kind: names.Deployment, Namespace: fmt.Sprint("namespace-", i), Name: "web"}
		c.restarter.Backlogs.PutOff(ref, nil, gate.Answer{Reason: gate.Hold}, time.Now())
		c.restarter.Backlogs.NoteExposed(ref, true)
	}
	if got := testutil.CollectAndCount(c, "deployment_restart_controller_held_workloads_exposed"); got != judge.NamedNamespaces+1 {
		t.Errorf("%d series, want %d", got, judge.NamedNamespaces+1)
	}
}
