package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// world is an API server with ConfigMaps, Secrets and Deployments, and a controller that
// knows of them what its watches were made to show. There are no pods unless a test makes some.
type world struct {
	controller  *Controller
	watches     map[string]*intake.ResourceWatch
	version     int
	configMaps  map[string]*corev1.ConfigMap
	secrets     map[string]*corev1.Secret
	deployments map[string]*appsv1.Deployment
	pods        map[string][]corev1.Pod                    // by namespace and selector
	listings    []string                                   // of pods, likewise
	refuse      int                                        // the code of the answer to the next patches, 0 if they are accepted
	refusedWith string                                     // the message of that answer, empty for any
	refusePods  int                                        // likewise for lists of pods
	meanwhile   func()                                     // what happens while the pods are listed next
	patched     func()                                     // what happens before the answer to the next patch arrives
	answer      func(*http.Request) (code int, object any) // to what the world does not know, unless the code is 0
	converted   func(object any) (string, any)             // the resource and the object that the API has for one of the world, nil if it has the same
	standby     *world                                     // of a process that does not lead, whose watches show the same
	passed      atomic.Int64                               // makes what a test does visible to the goroutines of the controller
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, optin.Rules{})
}

func newWorldWith(t testing.TB, rules optin.Rules) *world {
	t.Helper()
	return newWorldOf(t, Options{OptIns: rules})
}

// newWorldOf is a world whose controller has further options.
func newWorldOf(t testing.TB, options Options) *world {
	t.Helper()
	w := &world{
		watches: make(map[string]*intake.ResourceWatch), configMaps: make(map[string]*corev1.ConfigMap),
		secrets: make(map[string]*corev1.Secret), deployments: make(map[string]*appsv1.Deployment),
	}
	options.API = &rest.Config{Host: "http://world", Transport: w}
	options.QPS, options.Burst, options.GracePeriod, options.BackoffLimit = 1e6, 1e6, time.Second, time.Minute
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	c, err := newControllerWith(options, &record.FakeRecorder{})
	if err != nil {
		t.Fatal(err)
	}
	c.gate.SetHaltsTried()
	c.gate.SetHaltsKnown(true)
	t.Cleanup(c.events.Shutdown)
	w.controller = c
	c.restarter.KnowsConfigs = func(string) bool { return true }
	for _, watch := range c.watches.All {
		w.watches[watch.Status().Resource] = watch
	}
	return w
}

// newControllerWith is [New] with another recorder of Events.
func newControllerWith(options Options, events record.EventRecorder) (*Controller, error) {
	to, err := connect(&options)
	if err != nil {
		return nil, err
	}
	if to.recorder = events; len(to.custom) > 0 {
		to.recorder = kinds.SpelledRecorder{EventRecorder: events, Kinds: to.custom}
	}
	return assemble(options, to)
}

// recordOwn records the Events about what objects are, apart from what becomes of restarts.
func (c *Controller) recordOwn(events record.EventRecorder) {
	c.intake.Events, c.intake.Mistakes.Events, c.intake.Unusable.Events, c.absences.Events = events, events, events, events
}

func (w *world) nextVersion() string {
	w.version++
	return strconv.Itoa(w.version)
}

func nameOf(meta metav1.Object) string { return meta.GetNamespace() + "/" + meta.GetName() }

func (w *world) meta(name string) metav1.ObjectMeta {
	namespace, name, _ := strings.Cut(name, "/")
	version := w.nextVersion()
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(version), ResourceVersion: version}
}

// deployment is one that opted in and reads the named configs: all keys of ConfigMaps, and
// of Secrets, whose names begin with an s.
func (w *world) deployment(name string, configs ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: w.meta(name), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}}}
	d.Annotations = map[string]string{annotation.EnabledAnnotation: annotation.Enabled}
	container := corev1.Container{Name: "app"}
	for _, config := range configs {
		var from corev1.EnvFromSource
		if strings.HasPrefix(config, "s") {
			from.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}
		} else {
			from.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}
		}
		container.EnvFrom = append(container.EnvFrom, from)
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{container}
	return d
}

// show lets the watch of a resource show an object.
func (w *world) show(resource string, object any) {
	if w.standby != nil {
		w.standby.show(resource, object)
	}
	resource, object = w.convert(resource, object)
	if o, err := controllertest.Reduce(object, &w.controller.optIns.Rules); err == nil {
		w.watches[resource].Observe(o)
	}
}

// hide lets the watch of a resource show that an object is gone.
func (w *world) hide(resource string, object any) {
	if w.standby != nil {
		w.standby.hide(resource, object)
	}
	resource, object = w.convert(resource, object)
	if o, err := controllertest.Reduce(object, &w.controller.optIns.Rules); err == nil {
		w.watches[resource].Forget(o)
	}
}

// list lets the watch of a resource show all objects.
func list[T any](w *world, resource string, objects map[string]T) {
	all := map[string][]*kinds.Observation{resource: nil}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		resource, object := w.convert(resource, objects[name])
		if o, err := controllertest.Reduce(object, &w.controller.optIns.Rules); err == nil {
			all[resource] = append(all[resource], o)
		}
	}
	for resource, listed := range all {
		w.watches[resource].Replace(listed, w.nextVersion())
	}
}

// convert returns what the API has for an object of the world.
func (w *world) convert(resource string, object any) (string, any) {
	if w.converted == nil {
		return resource, object
	}
	return w.converted(object)
}

// takeChanges makes all changes due, which nobody has noted then.
func (w *world) takeChanges() []pending.ObservedChange {
	changes, _ := w.controller.changes.TakeDue(time.Now().Add(time.Hour), time.Hour)
	return changes
}

// work lets a worker decide about the next workload, and returns false if no workload
// waits.
func (w *world) work() bool {
	queue := w.controller.restarter.Queue
	workload, found := queue.Get()
	if found {
		w.controller.restarter.Work(context.Background(), workload)
		w.controller.staleness.NoteWorkload(workload)
		queue.Done(workload)
	}
	return found
}

// RoundTrip answers the controller's requests.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.passed.Load()
	path := partsOf(r)
	resource, name := path[len(path)-1], path[len(path)-3]+"/"+path[len(path)-1]
	if w.answer != nil {
		if code, object := w.answer(r); code != 0 {
			return w.respond(code, object)
		}
	}
	switch {
	case resource == "events": // which a goroutine of their own sends
		return w.respond(http.StatusCreated, corev1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}})
	case resource == "configmaps":
		_, wanted, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "=")
		found := corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
		if cm := w.configMaps[path[len(path)-2]+"/"+wanted]; cm != nil {
			found.Items = append(found.Items, *cm)
		}
		return w.respond(http.StatusOK, found)
	case resource == "pods":
		if happen := w.meanwhile; happen != nil {
			w.meanwhile = nil
			happen()
		}
		of := path[len(path)-2] + "/" + r.URL.Query().Get("labelSelector")
		if w.listings = append(w.listings, of); w.refusePods != 0 {
			return w.status(w.refusePods, "refused")
		}
		return w.respond(http.StatusOK, corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: append(slices.Clip(w.pods[of]), w.hangingPods(path[len(path)-2])...)})
	case resource == "replicasets":
		return w.respond(http.StatusOK, appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSetList"}, Items: w.presentReplicaSets(path[len(path)-2])})
	case r.Method == http.MethodPatch && w.refuse != 0:
		return w.respond(w.refuse, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(w.refuse), Reason: "refused", Message: w.refusedWith, //nolint:gosec // an HTTP code
		})
	case w.deployments[name] == nil:
		return w.status(http.StatusNotFound, string(metav1.StatusReasonNotFound))
	case r.Method == http.MethodPatch:
		return w.patch(w.deployments[name], r.Body)
	}
	return w.respond(http.StatusOK, w.deployments[name])
}

// partsOf returns those of the path of a request.
func partsOf(r *http.Request) []string { return strings.Split(strings.Trim(r.URL.Path, "/"), "/") }

// hangingPods returns a pod of each Deployment of a namespace that has given up its rollout, of which a container has
// started.
func (w *world) hangingPods(namespace string) (pods []corev1.Pod) {
	for _, d := range w.deployments {
		if d.Namespace != namespace || !slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Reason == "ProgressDeadlineExceeded" }) {
			continue
		}
		began, _ := time.Parse(time.RFC3339Nano, d.Spec.Template.Annotations[annotation.TimestampAnnotation])
		started := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: began}}}
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: d.Name + "-hangs", Namespace: namespace, UID: "pod-" + d.UID, CreationTimestamp: metav1.Time{Time: began},
				OwnerReferences: []metav1.OwnerReference{{UID: "rs-" + d.UID, Controller: new(true)}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: started}}},
		})
	}
	return pods
}

// presentReplicaSets returns the ReplicaSets of the present templates of a namespace.
func (w *world) presentReplicaSets(namespace string) (sets []appsv1.ReplicaSet) {
	for _, d := range w.deployments {
		if d.Namespace == namespace {
			sets = append(sets, appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: namespace, UID: "rs-" + d.UID, OwnerReferences: []metav1.OwnerReference{{UID: d.UID, Controller: new(true)}}},
				Spec:       appsv1.ReplicaSetSpec{Template: d.Spec.Template},
			})
		}
	}
	return sets
}

// patch applies a patch of the controller's, and lets it own the record.
func (w *world) patch(d *appsv1.Deployment, body io.Reader) (*http.Response, error) {
	var patch restart.WorkloadPatch
	if err := json.NewDecoder(body).Decode(&patch); err != nil {
		return nil, err
	}
	if patch.Metadata.ResourceVersion != d.ResourceVersion {
		return w.status(http.StatusConflict, string(metav1.StatusReasonConflict))
	}
	patched := d.DeepCopy()
	maps.Copy(patched.Annotations, patch.Metadata.Annotations)
	if patch.Spec != nil {
		patched.Generation++
		if patched.Spec.Template.Annotations == nil {
			patched.Spec.Template.Annotations = make(map[string]string)
		}
		maps.Copy(patched.Spec.Template.Annotations, patch.Spec.Template.Metadata.Annotations)
	}
	patched.ResourceVersion = w.nextVersion()
	patched.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: annotation.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Now()},
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:%s":{},"f:%s":{}}}}`,
			annotation.ChecksumsAnnotation, annotation.BasisAnnotation)),
	}}
	w.deployments[nameOf(d)] = patched
	if happen := w.patched; happen != nil {
		w.patched = nil
		happen()
	}
	return w.respond(http.StatusOK, patched)
}

func (w *world) status(code int, reason string) (*http.Response, error) {
	return w.respond(code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: metav1.StatusReason(reason), //nolint:gosec // an HTTP code
	})
}

func (w *world) respond(code int, object any) (*http.Response, error) {
	if d, is := object.(*appsv1.Deployment); is {
		d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
		_, object = w.convert("deployments", d)
	}
	body, err := json.Marshal(object)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// rowsThat returns the workloads whose row is of a kind.
func rowsThat(table *tracker.Table, isOne func(*tracker.Row) bool) (found []names.WorkloadRef) {
	for ref, row := range table.All() {
		if isOne(&row) {
			found = append(found, ref)
		}
	}
	return found
}

func isFollowed(row *tracker.Row) bool { return row.Rolling != nil }

func isUnmended(row *tracker.Row) bool { return row.Unmended }
