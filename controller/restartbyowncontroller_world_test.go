package controller

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

var ofRollout = names.WorkloadRef{Kind: "rollouts.argoproj.io", Namespace: "ns", Name: "web"}

// rolloutWorld is a world with a Rollout ns/web that has the method evict, and with Argo Rollouts. Three pods belong to its
// ReplicaSet, and one that has the same labels to that of somebody else. The controller does not have the flag --evict.
type rolloutWorld struct {
	*customWorld
	made     int
	seen     string // the version that the watch has shown last
	replaced []string
	isAway   bool // Argo Rollouts does not run
	refuses  bool // it may not evict a pod
	crashes  bool // new pods do not become ready
}

func newRolloutWorld(t *testing.T) *rolloutWorld {
	w := &rolloutWorld{customWorld: newCustomWorld(t, "rollouts.v1alpha1.argoproj.io")}
	c := w.controller
	c.role.Leading.Store(true)
	c.deliveries.Policy = delivery.Policy{Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	w.answer = w.replicaSets
	for range 3 {
		w.makePod("rs")
	}
	w.makePod("other")
	w.edit("1")
	w.object = strings.Replace(objecttest.ObjectText("Rollout", "5", `"replicas": 3, `+objecttest.PodTemplateText, `"currentPodHash": "a", "stableRS": "a", "phase": "Healthy", "replicas": 3, "updatedReplicas": 3`),
		`"enabled"`, `"enabled", "`+annotation.MethodAnnotation+`": "evict"`, 1)
	w.pass(60)
	if w.controller.catalog.Workload(ofRollout).Record.Trusted != true {
		t.Fatal("it has no record")
	}
	w.bodies = nil
	return w
}

func (w *rolloutWorld) makePod(owner types.UID) {
	w.made++
	pod := w.pod(fmt.Sprintf("web-%d", w.made), nil)
	pod.UID, pod.CreationTimestamp = types.UID("uid of "+pod.Name), metav1.Time{Time: time.Now().Truncate(time.Second)}
	pod.OwnerReferences[0].UID, pod.Labels = owner, map[string]string{"rollouts-pod-template-hash": "a"}
	w.pods = append(w.pods, pod)
}

// replicaSets answers requests for those of the Rollout.
func (w *rolloutWorld) replicaSets(r *http.Request) *http.Response {
	if r.URL.Path != "/apis/apps/v1/namespaces/ns/replicasets" {
		return nil
	}
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	for name, owner := range map[string]types.UID{"rs": "u", "other": "other"} {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
		}})
	}
	return asJSON(http.StatusOK, mustEncode(w.t, list))
}

// change is what somebody else does to the Rollout.
func (w *rolloutWorld) change(do func(annotations, spec, status map[string]any)) {
	var object map[string]any
	if err := json.Unmarshal([]byte(w.object), &object); err != nil {
		w.t.Fatal(err)
	}
	meta, spec, status := object["metadata"].(map[string]any), object["spec"].(map[string]any), object["status"].(map[string]any)
	before, specBefore := mustEncode(w.t, object), mustEncode(w.t, spec)
	do(meta["annotations"].(map[string]any), spec, status)
	if mustEncode(w.t, object) == before {
		return
	}
	advance(w.t, meta, "resourceVersion")
	if mustEncode(w.t, spec) != specBefore {
		advance(w.t, meta, "generation")
	}
	w.object = mustEncode(w.t, object)
}

func mustEncode(t *testing.T, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// generation returns that of the spec.
func (w *rolloutWorld) generation() string {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(w.object), &object); err != nil {
		w.t.Fatal(err)
	}
	return strconv.FormatInt(object.Generation, 10)
}

// textOf returns a field that is a text, empty if it is missing.
func textOf(fields map[string]any, name string) string {
	text, _ := fields[name].(string)
	return text
}

func timeOf(fields map[string]any, name string) time.Time {
	at, _ := time.Parse(time.RFC3339, textOf(fields, name))
	return at
}

// restartAt returns that of the spec.
func (w *rolloutWorld) restartAt() (at time.Time) {
	w.change(func(_, spec, _ map[string]any) { at = timeOf(spec, "restartAt") })
	return at
}

// isOwn reports whether a pod belongs to the Rollout.
func isOwn(pod *corev1.Pod) bool { return pod.OwnerReferences[0].UID == "rs" }

// reconcile is what Argo Rollouts does: it replaces one pod that is older than restartAt if all are ready.
func (w *rolloutWorld) reconcile() {
	if w.isAway {
		return
	}
	generation := w.generation()
	w.change(func(_, spec, status map[string]any) {
		at, isPaused := timeOf(spec, "restartAt"), spec["paused"] == true
		ready, left := 0, -1
		for i := range w.pods {
			if pod := &w.pods[i]; isOwn(pod) {
				if podsight.IsReady(pod) {
					ready++
				}
				if pod.CreationTimestamp.Time.Before(at) {
					left = i
				}
			}
		}
		switch {
		case isPaused, at.IsZero(), textOf(spec, "restartAt") == textOf(status, "restartedAt"), !time.Now().After(at):
		case left < 0:
			status["restartedAt"] = spec["restartAt"]
		case ready == 3 && !w.refuses:
			w.replaced = append(w.replaced, w.pods[left].Name)
			w.pods = slices.Delete(w.pods, left, left+1)
			w.makePod("rs")
			setReady(&w.pods[len(w.pods)-1], false)
			ready--
		}
		status["availableReplicas"], status["observedGeneration"] = ready, generation
	})
}

// pass lets the world go on for a while: new pods become ready, and everybody looks at what has changed.
func (w *rolloutWorld) pass(seconds int) {
	c := w.controller
	for range seconds {
		time.Sleep(time.Second)
		for i := range w.pods {
			if !w.crashes {
				setReady(&w.pods[i], true)
			}
		}
		w.reconcile()
		if version := w.version(); version != w.seen {
			w.seen = version
			w.show(w.object)
		}
		for range 10 {
			changes, _ := c.changes.TakeDue(time.Now().Add(time.Hour), time.Hour)
			for _, change := range changes {
				c.due(change)
			}
			for ref, found := c.restarter.Queue.Get(); found; ref, found = c.restarter.Queue.Get() {
				c.restarter.Work(w.t.Context(), ref)
				c.restarter.Queue.Done(ref)
			}
		}
		drain(c.evictor.Queue, c.evictor.Work, w.t)
		drain(c.deliveries.Queue, c.deliveries.Look, w.t)
	}
}

func (w *rolloutWorld) requireReplaced(names ...string) {
	w.t.Helper()
	slices.Sort(w.replaced)
	if !slices.Equal(w.replaced, names) {
		w.t.Errorf("replaced %v, want %v", w.replaced, names)
	}
}

// asked returns how often the controller has set restartAt. It never changes anything else of the spec.
func (w *rolloutWorld) asked() (count int) {
	w.t.Helper()
	for _, body := range w.bodies {
		var patch struct {
			Metadata struct{ Annotations map[string]string }
			Spec     map[string]any
		}
		if err := json.Unmarshal([]byte(body), &patch); err != nil {
			w.t.Error(err)
		}
		switch _, sets := patch.Spec["restartAt"]; {
		case sets && len(patch.Spec) == 1 && patch.Metadata.Annotations == nil:
			count++
		case patch.Spec != nil:
			w.t.Errorf("patches %s", body)
		}
	}
	for _, request := range w.requests {
		if strings.HasPrefix(request, "POST ") {
			w.t.Errorf("it sends %s", request)
		}
	}
	return count
}

// outcomes returns what became of the last restarts.
func (w *rolloutWorld) outcomes() (all []string) {
	for _, restart := range w.controller.Overview("", time.Now()).Restarts.Items {
		all = append(all, string(restart.Outcome))
	}
	return all
}

// requireState fails the test unless a state of the Rollout, and its reason, are shown.
func (w *rolloutWorld) requireState(state, why string) {
	w.t.Helper()
	explained := w.controller.ExplainWorkload("rollouts.argoproj.io/ns/web", time.Now())
	if string(explained.State) != state || !strings.Contains(explained.Text, why) {
		w.t.Errorf("explained as %+v, want %s: %s", explained.Entry, state, why)
	}
}
