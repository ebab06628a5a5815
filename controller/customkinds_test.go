package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	toolsrecord "k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// customWorld is an API server with one workload of a custom kind and its pods, and a controller that was asked for the kind.
type customWorld struct {
	t          *testing.T
	controller *Controller
	watch      *intake.ResourceWatch
	recorder   *toolsrecord.FakeRecorder
	path       string // of the workload in the API
	object     string
	pods       []corev1.Pod
	requests   []string
	bodies     []string
	slow       time.Duration                      // how long a list of pods takes
	answer     func(*http.Request) *http.Response // to what this world does not know; nil if nothing answers
}

func newCustomWorld(t *testing.T, kindText string) *customWorld {
	t.Helper()
	return newCustomWorldWith(t, kindText, optin.Rules{})
}

func newCustomWorldWith(t *testing.T, kindText string, rules optin.Rules) *customWorld {
	t.Helper()
	kind, err := custom.ParseKind(kindText)
	if err != nil {
		t.Fatal(err)
	}
	w := &customWorld{t: t, path: "/apis/" + kind.Group + "/" + kind.Version + "/namespaces/ns/" + kind.Resource + "/web"}
	w.recorder = toolsrecord.NewFakeRecorder(100)
	w.recorder.IncludeObject = true
	c, err := newControllerWith(Options{
		API: &rest.Config{Host: "http://api", Transport: w}, QPS: 1e6, Burst: 1e6, Workloads: []custom.Kind{kind}, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		RestartSoak: 0, RestartDeadline: time.Minute, OptIns: rules,
	}, w.recorder)
	if err != nil {
		t.Fatal(err)
	}
	c.gate.SetHaltsTried()
	c.gate.SetHaltsKnown(true)
	t.Cleanup(c.events.Shutdown)
	w.controller = c
	c.restarter.KnowsConfigs = func(string) bool { return true }
	c.gate.KnowsWorkloads = func(string) bool { return true }
	w.watch = c.watches.All[len(c.watches.All)-1]
	return w
}

// RoundTrip answers the controller's requests.
func (w *customWorld) RoundTrip(r *http.Request) (*http.Response, error) {
	w.requests = append(w.requests, r.Method+" "+r.URL.Path)
	if w.answer != nil {
		if answer := w.answer(r); answer != nil {
			return answer, nil
		}
	}
	switch {
	case r.URL.Path == "/api/v1/namespaces/ns/pods":
		time.Sleep(w.slow)
		return objecttest.Respond(http.StatusOK, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: w.pods})
	case r.URL.Path == w.path && r.Method == http.MethodPatch:
		body, err := io.ReadAll(r.Body)
		if !strings.Contains(string(body), `"resourceVersion":"`+w.version()+`"`) {
			return asJSON(http.StatusConflict, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409, "reason": "Conflict"}`), err
		}
		w.bodies = append(w.bodies, string(body))
		w.object = w.patched(body, r.URL.Query().Get("fieldManager"))
		return asJSON(http.StatusOK, w.object), err
	case r.URL.Path == w.path:
		return asJSON(http.StatusOK, w.object), nil
	}
	return objecttest.Respond(http.StatusNotFound, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotFound})
}

func asJSON(code int, text string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}
}

// version returns the ResourceVersion of the workload.
func (w *customWorld) version() string {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(w.object), &object); err != nil {
		w.t.Error(err)
	}
	return object.ResourceVersion
}

// patched applies a merge patch that adds members only. It dates what the field manager owns.
func (w *customWorld) patched(body []byte, manager string) string {
	var object, patch map[string]any
	if err := json.Unmarshal([]byte(w.object), &object); err != nil {
		w.t.Error(err)
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		w.t.Error(err)
	}
	merge(object, patch)
	meta := object["metadata"].(map[string]any)
	advance(w.t, meta, "resourceVersion")
	if patch["spec"] != nil {
		advance(w.t, meta, "generation")
	}
	if manager == annotation.FieldManager { // of other managers, nobody needs to know what they own
		meta["managedFields"] = []any{map[string]any{
			"manager": manager, "operation": "Update", "time": time.Now().UTC().Format(time.RFC3339), "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{
				"f:" + annotation.ChecksumsAnnotation: map[string]any{}, "f:" + annotation.BasisAnnotation: map[string]any{},
			}}},
		}}
	}
	text, err := json.Marshal(object)
	if err != nil {
		w.t.Error(err)
	}
	return string(text)
}

// advance increments a number, which may be a text.
func advance(t *testing.T, meta map[string]any, name string) {
	number, err := strconv.Atoi(fmt.Sprint(meta[name]))
	if err != nil {
		t.Error(err)
	}
	if _, isText := meta[name].(string); isText {
		meta[name] = strconv.Itoa(number + 1)
	} else {
		meta[name] = float64(number + 1)
	}
}

func merge(into, from map[string]any) {
	for name, value := range from {
		inner, isObject := value.(map[string]any)
		known, wasObject := into[name].(map[string]any)
		switch {
		case isObject && wasObject:
			merge(known, inner)
		default:
			into[name] = value
		}
	}
}

// show lets the watch show the workload.
func (w *customWorld) show(object string) {
	w.t.Helper()
	w.object = object
	decoded := &custom.Object{}
	if err := utiljson.Unmarshal([]byte(object), decoded); err != nil {
		w.t.Fatal(err)
	}
	o, err := w.watch.Workload.Reduce(decoded, &w.controller.optIns.Rules)
	if err != nil {
		w.t.Fatal(err)
	}
	w.watch.Observe(o)
}

// edit shows the ConfigMap that the workload reads with new content. The first version is older than the pods.
func (w *customWorld) edit(version string) {
	w.t.Helper()
	o := mustReduce(w.t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "settings", UID: "c", ResourceVersion: version, CreationTimestamp: metav1.NewTime(time.Now().Add(-2 * time.Hour)),
		},
		Data: map[string]string{"key": version},
	})
	if version == "1" {
		w.controller.watches.All[0].Replace([]*kinds.Observation{o}, version)
		return
	}
	w.controller.watches.All[0].Observe(o)
}

// pod is one that has run for a while.
func (w *customWorld) pod(name string, annotations map[string]string) corev1.Pod {
	started := metav1.NewTime(time.Now().Add(-time.Hour))
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Owner", Name: "o", UID: "u", Controller: new(true)}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &started, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}}},
		},
	}
}

func TestACustomKindRestartsAtThePathOfItsTemplate(t *testing.T) {
	w := newCustomWorld(t, "gadgets.v1.example.com=.spec.job.template")
	w.pods = []corev1.Pod{w.pod("web-1", nil)}
	w.edit("1")
	w.show(objecttest.ObjectText("Gadget", "5", `"job": {`+objecttest.PodTemplateText+`}`, ""))
	ref := names.WorkloadRef{Kind: "gadgets.example.com", Namespace: "ns", Name: "web"}
	w.controller.restarter.Work(t.Context(), ref) // records
	w.edit("2")
	w.requests, w.bodies = nil, nil
	w.controller.restarter.Work(t.Context(), ref)

	if diff := cmp.Diff([]string{"GET /api/v1/namespaces/ns/pods", "PATCH " + w.path}, w.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	var patch struct {
		Spec struct {
			Job struct {
				Template struct {
					Metadata metav1.ObjectMeta `json:"metadata"`
				} `json:"template"`
			} `json:"job"`
		} `json:"spec"`
	}
	if err := json.Unmarshal([]byte(strings.Join(w.bodies, "")), &patch); err != nil || patch.Spec.Job.Template.Metadata.Annotations[annotation.TimestampAnnotation] == "" {
		t.Errorf("patches %s, %v", w.bodies, err)
	}
	if got := testutil.ToFloat64(w.controller.restarter.Metrics.RestartsByKind.WithLabelValues("gadgets.example.com")); got != 1 {
		t.Errorf("%v restarts are counted, want 1", got)
	}
	if events := objecttest.EventsOf(w.recorder); len(events) != 1 || !strings.Contains(events[0], "kind=Gadget,apiVersion=example.com/v1") {
		t.Errorf("events: %q", events)
	}
	if known := w.controller.catalog.Workload(ref); known == nil || known.Record.Ran != record.AllRan {
		t.Errorf("the record does not say that all pods ran: %+v", known)
	}
}

func TestACustomWorkloadThatCannotBeTakenInIsForgotten(t *testing.T) {
	w := newCustomWorld(t, "gadgets.v1.example.com")
	w.show(objecttest.ObjectText("Gadget", "5", objecttest.PodTemplateText, ""))
	ref := names.WorkloadRef{Kind: "gadgets.example.com", Namespace: "ns", Name: "web"}
	w.controller.restarter.Quarantine.Try(quarantine.Intake, kinds.NameOfWorkload(ref), func() { panic("canary") })
	if _, found := w.controller.catalog.View(ref); found {
		t.Error("it is still known")
	}
	if events := objecttest.EventsOf(w.recorder); len(events) != 1 || !strings.Contains(events[0], "kind=Gadget,apiVersion=example.com/v1") {
		t.Errorf("events: %q", events)
	}
}

// Anyone who may write the status of a workload may do so all the time, and its selector may select very many pods.
func TestThePodsOfAKindWithoutAPresetAreCountedATenthOfTheTimeAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCustomWorld(t, "gadgets.v1.example.com")
		w.pods = []corev1.Pod{w.pod("web-1", nil)}
		w.edit("1")
		w.show(objecttest.ObjectText("Gadget", "5", objecttest.PodTemplateText, ""))
		ref := names.WorkloadRef{Kind: "gadgets.example.com", Namespace: "ns", Name: "web"}
		w.controller.restarter.Work(t.Context(), ref)
		w.edit("2")
		w.controller.restarter.Work(t.Context(), ref)
		w.requests, w.slow = nil, 2*time.Second
		for begin := time.Now(); time.Since(begin) < 50*time.Second; time.Sleep(time.Second) { // as its status changes
			w.controller.deliveries.Look(t.Context(), ref)
		}
		if got := len(w.requests); got < 2 || got > 4 {
			t.Errorf("%d requests: %q", got, w.requests)
		}
	})
}

// The pods of a kind without a preset show how its restart goes.
func TestARestartOfAKindWithoutAPresetIsDeliveredWhenItsPodsAreReplaced(t *testing.T) {
	w := newCustomWorld(t, "gadgets.v1.example.com")
	w.pods = []corev1.Pod{w.pod("web-1", nil), w.pod("web-2", nil)}
	w.edit("1")
	w.show(objecttest.ObjectText("Gadget", "5", `"replicas": 2, `+objecttest.PodTemplateText, ""))
	ref := names.WorkloadRef{Kind: "gadgets.example.com", Namespace: "ns", Name: "web"}
	w.controller.restarter.Work(t.Context(), ref)
	w.edit("2")
	w.controller.restarter.Work(t.Context(), ref)
	restarted := map[string]string{annotation.TimestampAnnotation: w.controller.catalog.Workload(ref).Timestamp}
	if restarted[annotation.TimestampAnnotation] == "" {
		t.Fatal("it has not restarted")
	}
	delivered := func() float64 {
		w.controller.deliveries.Of(ref).NotBefore = time.Time{}
		w.controller.deliveries.Look(context.Background(), ref)
		return testutil.ToFloat64(w.controller.restarter.Metrics.Delivered.WithLabelValues(string(ref.Kind)))
	}
	for _, step := range []struct {
		name string
		pods []corev1.Pod
		want float64
	}{
		{"both pods are those of before", w.pods, 0},
		{"one pod is", []corev1.Pod{w.pods[0], w.pod("web-3", restarted)}, 0},
		{"both pods are new, and one of before is left", []corev1.Pod{w.pods[0], w.pod("web-3", restarted), w.pod("web-4", restarted)}, 0},
		{"both pods are new", []corev1.Pod{w.pod("web-3", restarted), w.pod("web-4", restarted)}, 1},
	} {
		if w.pods = step.pods; delivered() != step.want {
			t.Errorf("%s: delivered %t", step.name, step.want == 0)
		}
	}
}

func TestThePodsOfTheStatusRevisionAreThoseOfThePresentTemplate(t *testing.T) {
	w := newCustomWorld(t, "rollouts.v1alpha1.argoproj.io")
	status := `"observedGeneration": "2", "currentPodHash": "new"`
	w.show(objecttest.ObjectText("Rollout", "5", objecttest.PodTemplateText, status))
	ref := names.WorkloadRef{Kind: "rollouts.argoproj.io", Namespace: "ns", Name: "web"}
	known := w.controller.catalog.Workload(ref)
	isPresent := func() map[string]bool {
		recognizes, err := w.controller.Board.Custom.Row(ref.Kind).Revisions.Present(kinds.PodReader{}, t.Context(), known)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]bool{"new": recognizes(kinds.Origin{Revision: "new"}), "old": recognizes(kinds.Origin{Revision: "old"}), "restarted": recognizes(kinds.Origin{Revision: "old", Unrestarted: true})}
	}
	if diff := cmp.Diff(map[string]bool{"new": true, "old": false, "restarted": false}, isPresent()); diff != "" {
		t.Errorf("with a status (-want +got):\n%s", diff)
	}
	// Without one, the restart timestamp decides, which the template does not have.
	w.object = objecttest.ObjectText("Rollout", "5", objecttest.PodTemplateText, strings.ReplaceAll(status, `"2"`, `"1"`))
	if diff := cmp.Diff(map[string]bool{"new": true, "old": true, "restarted": false}, isPresent()); diff != "" {
		t.Errorf("with the status of an earlier generation (-want +got):\n%s", diff)
	}
	// The object has moved on, so its status is about another template than the one that is being judged.
	w.object = objecttest.ObjectText("Rollout", "6", strings.ReplaceAll(objecttest.PodTemplateText, "web", "other"), status)
	if diff := cmp.Diff(map[string]bool{"new": true, "old": true, "restarted": false}, isPresent()); diff != "" {
		t.Errorf("with another template (-want +got):\n%s", diff)
	}
}

func TestAWorkloadThatUpdatesPodsInPlaceIsHeldAndNeverCountsAsRestarted(t *testing.T) {
	w := newCustomWorld(t, "clonesets.v1alpha1.apps.kruise.io")
	inPlace := objecttest.PodTemplateText + `, "updateStrategy": {"type": "InPlaceIfPossible"}`
	w.edit("1")
	w.show(objecttest.ObjectText("CloneSet", "5", inPlace, ""))
	ref := names.WorkloadRef{Kind: "clonesets.apps.kruise.io", Namespace: "ns", Name: "web"}
	w.controller.restarter.Work(t.Context(), ref)
	w.edit("2")
	w.bodies = nil
	w.controller.restarter.Work(t.Context(), ref)
	for _, body := range w.bodies { // the record may be marked
		if strings.Contains(body, `"spec"`) {
			t.Errorf("patches the template: %s", body)
		}
	}
	if !w.controller.restarter.Backlogs.Of(ref).IsDeliberate() {
		t.Error("it is not held")
	}
	if events := objecttest.EventsOf(w.recorder); len(events) != 1 || !strings.Contains(events[0], "RestartHeld") || !strings.Contains(events[0], "updates pods in place") {
		t.Errorf("events: %q", events)
	}
}

func TestAWorkloadThatCannotBeRestartedIsReportedOnce(t *testing.T) {
	var log bytes.Buffer
	w := newCustomWorld(t, "rollouts.v1alpha1.argoproj.io")
	w.controller.intake.Unusable.Log = slog.New(slog.NewTextHandler(&log, nil))
	w.controller.role.Leading.Store(true)
	bad := func(version string) string {
		return objecttest.ObjectText("Rollout", version, `"workloadRef": {"kind": "Deployment", "name": "web"}`, "")
	}
	report := func() (events, lines int) {
		lines = strings.Count(log.String(), "cannot restart a workload that is enabled")
		log.Reset()
		return len(objecttest.EventsOf(w.recorder)), lines
	}
	for _, step := range []struct {
		name, object  string
		events, lines int
	}{
		{"is new", bad("5"), 1, 1},
		{"has another status", bad("6"), 0, 0},
		{"does not opt in", strings.Replace(bad("7"), "enabled", "no", 1), 0, 0},
		{"opts in again", bad("8"), 1, 1},
		{"has another problem", objecttest.ObjectText("Rollout", "9", `"template": {}`, ""), 1, 1},
		{"is right", objecttest.ObjectText("Rollout", "10", objecttest.PodTemplateText, ""), 1, 0},
		{"is wrong again", bad("11"), 1, 1},
	} {
		w.show(step.object)
		if events, lines := report(); events != step.events || lines != step.lines {
			t.Errorf("one that %s: %d Events and %d lines, want %d and %d", step.name, events, lines, step.events, step.lines)
		}
	}
	if _, known := w.controller.catalog.View(names.WorkloadRef{Kind: "rollouts.argoproj.io", Namespace: "ns", Name: "web"}); known {
		t.Error("one that is wrong again is known as it was")
	}
	w.watch.Replace(nil, "12")
	if w.controller.intake.Unusable.Known.Size() != 0 {
		t.Error("one that is gone is remembered")
	}
}

func TestThePermissionsForACustomKindAreCheckedOnlyIfItIsAskedFor(t *testing.T) {
	count := func(c *Controller) (n int) {
		for _, permission := range c.Permissions() {
			if permission.Group == "argoproj.io" {
				n++
			}
		}
		return n
	}
	c, _ := newIdleController(t)
	if got := count(c); got != 0 {
		t.Errorf("%d permissions without being asked for", got)
	}
	if got := count(newCustomWorld(t, "rollouts.v1alpha1.argoproj.io").controller); got != 4 {
		t.Errorf("%d permissions, want list, watch, get and patch", got)
	}
}
