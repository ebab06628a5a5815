package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
	"kubernetes-deployment-restart-controller/internal/status"
)

// evictingWorld is a world whose Deployment a/web restarts by eviction. It has three pods of its own, and one of
// somebody else that has the same labels.
type evictingWorld struct {
	*world
	t       *testing.T
	made    int
	refusal *apierrors.StatusError // the answer to evictions, nil if they succeed
	evicted []string
	asked   int  // evictions
	crashes bool // whether new pods become ready
}

func newEvictingWorld(t *testing.T, annotations map[string]string) *evictingWorld {
	w := &evictingWorld{world: newWorld(t), t: t}
	c := w.controller
	c.gate.Evicts = true
	c.intake.Grace, c.restarter.Grace = time.Millisecond, time.Millisecond
	c.deliveries.Policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	c.role.Leading.Store(true)
	w.answer = w.respondTo
	w.edited("a/c", "1")
	d := w.deployment("a/web", "c")
	d.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
	d.Annotations[annotation.MethodAnnotation] = "evict"
	maps.Copy(d.Annotations, annotations)
	wholeStatus(d)
	w.deployments["a/web"] = d
	for range 3 {
		w.makePod(true)
	}
	other := w.pods["a/app=web"][0].DeepCopy()
	other.Name, other.UID, other.OwnerReferences[0].UID = "job", "job", "job"
	w.pods["a/app=web"] = append(w.pods["a/app=web"], *other)
	w.show("deployments", d)
	settle(w.world)
	time.Sleep(time.Minute)
	return w
}

func (w *evictingWorld) makePod(isReady bool) {
	if w.world.pods == nil {
		w.world.pods = make(map[string][]corev1.Pod)
	}
	w.made++
	yes := true
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("web-%d", w.made), UID: types.UID(fmt.Sprintf("pod-%d", w.made)), CreationTimestamp: metav1.Time{Time: time.Now().Truncate(time.Second)},
		OwnerReferences: []metav1.OwnerReference{{UID: "rs", Controller: &yes}},
	}}
	setReady(&pod, isReady)
	w.pods["a/app=web"] = append(w.pods["a/app=web"], pod)
}

func setReady(pod *corev1.Pod, isReady bool) {
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	if isReady {
		condition.Status = corev1.ConditionTrue
	}
	started := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: pod.CreationTimestamp}}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{condition},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: started}},
	}
}

// respondTo answers requests for ReplicaSets and evictions.
func (w *evictingWorld) respondTo(r *http.Request) (int, any) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/replicasets"):
		yes := true
		d := w.deployments["a/web"]
		owner := []metav1.OwnerReference{{UID: d.UID, Controller: &yes}}
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
			return http.StatusOK, metav1.PartialObjectMetadataList{
				TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
				Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "rs", UID: "rs", OwnerReferences: owner}}},
			}
		}
		return http.StatusOK, appsv1.ReplicaSetList{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSetList"},
			Items:    []appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Name: "rs", UID: "rs", OwnerReferences: owner}, Spec: appsv1.ReplicaSetSpec{Template: d.Spec.Template}}},
		}
	case strings.HasSuffix(r.URL.Path, "/eviction"):
		return w.evict(r)
	}
	return 0, nil
}

func (w *evictingWorld) evict(r *http.Request) (int, any) {
	var eviction struct {
		metav1.TypeMeta
		Metadata      metav1.ObjectMeta
		DeleteOptions metav1.DeleteOptions
	}
	if err := json.NewDecoder(r.Body).Decode(&eviction); err != nil || eviction.Kind != "Eviction" || r.Header.Get("Content-Type") != "application/json" {
		w.t.Errorf("not an eviction: %+v (%v)", eviction, err)
	}
	w.asked++
	if w.refusal != nil {
		return int(w.refusal.ErrStatus.Code), w.refusal.ErrStatus
	}
	pods := w.pods["a/app=web"]
	i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == *eviction.DeleteOptions.Preconditions.UID })
	if i < 0 || pods[i].Name != eviction.Metadata.Name || !strings.HasSuffix(r.URL.Path, "/pods/"+pods[i].Name+"/eviction") {
		w.t.Errorf("evicts no pod: %+v at %s", eviction, r.URL.Path)
		return http.StatusNotFound, metav1.Status{}
	}
	w.evicted = append(w.evicted, pods[i].Name)
	w.pods["a/app=web"] = slices.Delete(pods, i, i+1)
	w.makePod(false)
	return http.StatusCreated, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
}

// pass lets the world go on for a while: new pods become ready, and everybody looks at what has changed.
func (w *evictingWorld) pass(seconds int) {
	for range seconds {
		time.Sleep(time.Second)
		ready := int32(0)
		for i := range w.pods["a/app=web"] {
			pod := &w.pods["a/app=web"][i]
			if !w.crashes || pod.Status.Conditions[0].Status == corev1.ConditionTrue {
				setReady(pod, true)
			}
			if pod.Name != "job" && pod.Status.Conditions[0].Status == corev1.ConditionTrue {
				ready++
			}
		}
		if d := w.deployments["a/web"]; d.Status.AvailableReplicas != ready {
			w.changed("a/web", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = ready })
		}
		settle(w.world)
		drain(w.controller.evictor.Queue, w.controller.evictor.Work, w.t)
		drain(w.controller.deliveries.Queue, w.controller.deliveries.Look, w.t)
	}
}

func (w *evictingWorld) requireEvicted(names ...string) {
	w.t.Helper()
	if !slices.Equal(w.evicted, names) {
		w.t.Errorf("evicted %v, want %v", w.evicted, names)
	}
}

// beginEvicting edits the config, and lets the first pod go.
func (w *evictingWorld) beginEvicting() {
	w.t.Helper()
	w.edited("a/c", "2")
	w.pass(5)
	w.requireEvicted("web-1")
}

// inEvictingWorld runs a test in a world with a clock of its own.
func inEvictingWorld(t *testing.T, annotations map[string]string, play func(w *evictingWorld)) {
	synctest.Test(t, func(t *testing.T) { play(newEvictingWorld(t, annotations)) })
}

func TestARestartByEvictionReplacesThePodsAndLeavesTheTemplateAlone(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.edited("a/c", "2")
		w.pass(2)
		w.requireEvicted() // a new pod would be in doubt
		w.pass(60)
		w.requireEvicted("web-1", "web-2", "web-3")
		d := w.deployments["a/web"]
		if len(d.Spec.Template.Annotations) > 0 {
			t.Errorf("the pod template has the annotations %v", d.Spec.Template.Annotations)
		}
		w.pass(40)
		restarts := w.controller.Overview("", time.Now()).Restarts
		if len(restarts.Items) != 1 || restarts.Items[0].Outcome != status.Delivered {
			t.Errorf("the restarts are %+v", restarts.Items)
		}
		w.pass(600)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestOneEvictionWaitsForTheLastPodToBeReplaced(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.crashes = true
		w.edited("a/c", "2")
		w.pass(300)
		w.requireEvicted("web-1")
		explained := w.controller.ExplainWorkload("deployment/a/web", time.Now())
		if explained.Method != "evict" || explained.State != status.Rolling || explained.Pods.Updated != 1 || explained.Pods.Outdated != 2 {
			t.Errorf("explained as %+v with %+v", explained.Entry, explained.Pods)
		}
	})
}

func TestARefusedEvictionIsRepeatedAndReported(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.refusal = apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
		w.refusal.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "DisruptionBudget", Message: "The disruption budget web needs 3 healthy pods and has 3 currently"}}
		w.edited("a/c", "2")
		w.pass(60)
		overview := w.controller.Overview("", time.Now())
		if held := overview.Held.Items; len(held) != 1 || held[0].Reason != "eviction" || !strings.Contains(held[0].Text, "budget web needs 3 healthy pods") {
			t.Errorf("held are %+v", held)
		}
		if rolling := overview.Rolling.Items; len(rolling) != 1 || !strings.Contains(rolling[0].Text, "budget web") {
			t.Errorf("rolling are %+v", rolling)
		}
		w.pass(700) // longer than the restart is followed
		if restart := w.controller.deliveries.Of(objecttest.AWeb); restart != nil {
			t.Errorf("others wait for %+v", restart)
		}
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 1 {
			t.Errorf("held are %+v", held)
		}
		w.refusal = nil
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
		restarts := w.controller.Overview("", time.Now()).Restarts.Items
		if len(restarts) != 2 || restarts[0].Outcome != status.Delivered || restarts[1].Outcome != status.Unknown {
			t.Errorf("the restarts are %+v", restarts)
		}
	})
}

// Events are gone after an hour.
func TestARefusalThatLastsIsReportedInEachHour(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		events := record.NewFakeRecorder(1000)
		w.controller.evictor.Events = events
		w.refusal = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", nil)
		w.refusal.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.edited("a/c", "2")
		for hour := range 3 {
			for range 120 {
				time.Sleep(29 * time.Second)
				w.pass(1)
			}
			if reported := objecttest.EventsOf(events); len(reported) < 1 || len(reported) > 2 || !strings.Contains(reported[0], "PodNotEvicted") {
				t.Errorf("the Events of hour %d are %q", hour+1, reported)
			}
		}
	})
}

// A replacement that cannot be scheduled says nothing about the content, so the restart is given up after a while. But the
// pods that are left have the old content.
func TestARestartByEvictionThatNobodyFollowsIsShownUntilItIsOver(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.crashes = true
		w.edited("a/c", "2")
		w.pass(60)
		w.requireEvicted("web-1")
		w.controller.deliveries.Forget(objecttest.AWeb)
		w.pass(60)
		overview := w.controller.Overview("", time.Now())
		if rolling := overview.Rolling.Items; len(rolling) != 1 || rolling[0].Text != "a new pod is not ready" || rolling[0].For != "configmap/c: k" || rolling[0].Pods.Outdated != 2 {
			t.Errorf("rolling are %+v", rolling)
		}
		explained := w.controller.ExplainWorkload("deployment/a/web", time.Now())
		if explained.State != status.Rolling || explained.Text != "a new pod is not ready" || explained.Pods == nil || explained.Pods.Outdated != 2 {
			t.Errorf("explained as %+v with %+v", explained.Entry, explained.Pods)
		}
		w.crashes = false
		w.pass(200)
		w.requireEvicted("web-1", "web-2", "web-3")
		if rolling := w.controller.Overview("", time.Now()).Rolling.Items; len(rolling) != 0 {
			t.Errorf("afterwards, rolling are %+v", rolling)
		}
	})
}

// Anyone who may write the status of a workload may do so all the time.
func TestAnEvictionThatFailsIsNotRepeatedWithEachChangeOfTheStatus(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.refusal = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", nil)
		w.refusal.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.edited("a/c", "2")
		for range 300 {
			w.changed("a/web", func(d *appsv1.Deployment) { d.Status.CollisionCount = new(int32) })
			w.pass(1)
		}
		if w.asked < 4 || w.asked > 10 {
			t.Errorf("asked %d times", w.asked)
		}
	})
}

func TestAnotherProcessGoesOnWithARestartByEviction(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.controller.role.Leading.Store(false)
		w.controller.evictor.Forget(objecttest.AWeb)
		w.controller.deliveries.Forget(objecttest.AWeb)
		w.pass(100)
		w.requireEvicted("web-1")
		w.controller.beginToLead()
		w.controller.gate.SetHaltsTried()
		w.controller.gate.SetHaltsKnown(true)
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAHoldStopsARestartByEvictionThatIsUnderWay(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.HoldAnnotation] = "wait" })
		w.pass(100)
		w.requireEvicted("web-1")
		w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAnEditMeanwhileRestartsAllPodsOnceMore(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.edited("a/c", "3")
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3", "web-4")
	})
}

func TestARestartThatBeginsDuringTheLastLookAtThePodsIsNotLost(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.edited("a/c", "2")
		for len(w.evicted) < 3 {
			w.pass(1)
		}
		w.meanwhile = func() {
			w.edited("a/c", "3")
			settle(w.world)
			w.show("deployments", w.deployments["a/web"])
			shown, _ := w.controller.evictor.StatusOf(w.controller.catalog.Workload(objecttest.AWeb))
			if shown.Rollout.IsWhole() {
				t.Error("a restart that has just begun is complete")
			}
		}
		w.pass(600)
		w.requireEvicted("web-1", "web-2", "web-3", "web-4", "web-5", "web-6")
		if count := w.delivered(); count != 1 {
			t.Errorf("%d restarts are delivered, want the last one", count)
		}
	})
}

func TestARestartByEvictionThatTheEvictorDoesNotKnowIsNotComplete(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.controller.evictor.Forget(objecttest.AWeb)
		w.controller.deliveries.Observe(objecttest.AWeb)
		time.Sleep(5 * time.Minute)
		drain(w.controller.deliveries.Queue, w.controller.deliveries.Look, w.t)
		if count := w.delivered(); count != 0 {
			t.Errorf("%d restarts are delivered, but two pods have the old content", count)
		}
		shown, why := w.controller.evictor.StatusOf(w.controller.catalog.Workload(objecttest.AWeb))
		if shown.Rollout.IsWhole() || why == "" {
			t.Errorf("the status is %+v (%q)", shown.Rollout, why)
		}
	})
}

func TestAWorkloadThatAsksForEvictionsIsHeldWithoutTheFlag(t *testing.T) {
	for name, test := range map[string]struct{ method, why string }{
		"without the flag": {"evict", "flag --evict"},
		"another method":   {"delete", `cannot be read: "delete"`},
		"one that is long": {"\u202e\n" + strings.Repeat("x", 1000), `cannot be read: "\u202e\n` + strings.Repeat("x", 38) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			inEvictingWorld(t, map[string]string{annotation.MethodAnnotation: test.method}, func(w *evictingWorld) {
				w.controller.gate.Evicts = false
				w.edited("a/c", "2")
				w.pass(100)
				w.requireEvicted()
				explained := w.controller.ExplainWorkload("deployment/a/web", time.Now())
				if explained.State != status.Held || !strings.Contains(explained.Text, test.why) || len(explained.Mistakes) != 1 {
					t.Errorf("explained as %+v: %v", explained.Entry, explained.Mistakes)
				}
				if len(w.deployments["a/web"].Spec.Template.Annotations) > 0 {
					t.Error("the pod template was changed")
				}
			})
		})
	}
}

func TestARestartByEvictionWaitsForTheRolloutOfTheTemplate(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.changed("a/web", func(d *appsv1.Deployment) { d.Spec.Paused, d.Status.UpdatedReplicas = true, 0 })
		w.edited("a/c", "2")
		w.pass(60)
		w.requireEvicted()
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 1 || !strings.Contains(held[0].Text, "paused") {
			t.Errorf("held are %+v", held)
		}
		w.changed("a/web", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 3 }) // still paused
		w.pass(60)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAChangeOfTheMethodRestartsWhatIsLeft(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.MethodAnnotation) })
		w.pass(60)
		w.requireEvicted("web-1")
		if annotations := w.deployments["a/web"].Spec.Template.Annotations; annotations[annotation.TimestampAnnotation] == "" || !strings.Contains(annotations[annotation.CauseAnnotation], "k") {
			t.Errorf("the pod template has the annotations %v", annotations)
		}
	})
}

// drain works on everything that waits in a queue.
func drain[F comparable](queue *fairqueue.Queue[names.WorkloadRef, F], work func(context.Context, names.WorkloadRef), t *testing.T) {
	for ref, found := queue.Get(); found; ref, found = queue.Get() {
		work(t.Context(), ref)
		queue.Done(ref)
	}
}

// The pods that are left keep running with the old content, even if the one that was replaced runs after all.
func TestAHaltStopsARestartByEvictionThatIsUnderWay(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.controller.gate.FanOut = gatekeeper.FanOutOptions{Gradual: true, Limit: 50}
		w.controller.gate.Reset()
		w.controller.gate.SetHaltsTried()
		w.controller.gate.SetHaltsKnown(true)
		w.controller.gate.KnowsWorkloads = func(string) bool { return true }
		w.crashes = true
		w.edited("a/c", "2")
		w.pass(700) // longer than a rollout may make no progress
		w.requireEvicted("web-1")
		if halts := w.controller.Overview("", time.Now()).Halts.Items; len(halts) != 1 {
			t.Fatalf("the halts are %+v", halts)
		}
		w.crashes = false
		w.pass(300)
		w.requireEvicted("web-1")
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 1 || !strings.Contains(held[0].Text, "configmap/c has broken deployment/web") {
			t.Errorf("held are %+v", held)
		}
	})
}
