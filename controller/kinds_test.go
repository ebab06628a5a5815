package controller

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

func TestEachKindOfKubernetesHasARow(t *testing.T) {
	for _, kind := range names.KubernetesKinds {
		if !slices.ContainsFunc(kinds.WorkloadKinds, func(k *kinds.WorkloadKind) bool { return k.Workload == kind }) {
			t.Errorf("no row of kinds.WorkloadKinds watches %ss", kind)
		}
	}
}

func TestStatefulSetsAndDaemonSetsAreReadLikeDeployments(t *testing.T) {
	d := objecttest.Watched()
	want := controllertest.WorkloadOf(t, &d)
	exceptStatus := cmpopts.IgnoreFields(workload.Workload{}, "Rollout") // see TestARolloutIsReadFromTheStatusOfEachKind

	want.Ref.Kind = names.StatefulSet
	s := &appsv1.StatefulSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.StatefulSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template}}
	if diff := cmp.Diff(want, controllertest.WorkloadOf(t, s), exceptStatus); diff != "" {
		t.Errorf("StatefulSet (-want +got):\n%s", diff)
	}
	want.Ref.Kind = names.DaemonSet
	ds := &appsv1.DaemonSet{
		ObjectMeta: d.ObjectMeta, Spec: appsv1.DaemonSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template},
		Status: appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: 1},
	}
	if diff := cmp.Diff(want, controllertest.WorkloadOf(t, ds), exceptStatus); diff != "" {
		t.Errorf("DaemonSet (-want +got):\n%s", diff)
	}
}

func TestAWorkloadThatWantsNoPodsIsIdle(t *testing.T) {
	daemonSet := func(generation, observed int64, desired int32) bool {
		return controllertest.WorkloadOf(t, &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Generation: generation},
			Status:     appsv1.DaemonSetStatus{ObservedGeneration: observed, DesiredNumberScheduled: desired},
		}).Idle
	}
	replicas := func(n *int32) (deployment, statefulSet bool) {
		return controllertest.WorkloadOf(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: n}}).Idle,
			controllertest.WorkloadOf(t, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: n}}).Idle
	}
	type idle struct{ absent, zero, one, statefulAbsent, statefulZero, statefulOne, daemonNone, daemonUnobserved, daemonOne bool }
	var got idle
	got.absent, got.statefulAbsent = replicas(nil)
	got.zero, got.statefulZero = replicas(new(int32(0)))
	got.one, got.statefulOne = replicas(new(int32(1)))
	got.daemonNone = daemonSet(2, 2, 0)
	got.daemonUnobserved = daemonSet(2, 1, 0)
	got.daemonOne = daemonSet(2, 2, 1)
	want := idle{zero: true, statefulZero: true, daemonNone: true}
	if got != want {
		t.Errorf("idle: %+v, want %+v", got, want)
	}
}

func TestAHoldSaysWhatKeepsAPatchFromRestarting(t *testing.T) {
	deployment := func(paused bool) workload.Hold {
		return controllertest.WorkloadOf(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: paused}}).Hold
	}
	statefulSet := func(strategy appsv1.StatefulSetUpdateStrategy) workload.Hold {
		return controllertest.WorkloadOf(t, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: strategy}}).Hold
	}
	daemonSet := func(kind appsv1.DaemonSetUpdateStrategyType) workload.Hold {
		return controllertest.WorkloadOf(t, &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: kind}}}).Hold
	}
	partition := func(n *int32) appsv1.StatefulSetUpdateStrategy {
		return appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: n},
		}
	}
	got := []workload.Hold{
		deployment(false), deployment(true),
		statefulSet(appsv1.StatefulSetUpdateStrategy{}),
		statefulSet(appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}),
		statefulSet(partition(nil)), statefulSet(partition(new(int32(0)))), statefulSet(partition(new(int32(2)))),
		daemonSet(appsv1.RollingUpdateDaemonSetStrategyType), daemonSet(appsv1.OnDeleteDaemonSetStrategyType),
	}
	want := []workload.Hold{
		workload.NoHold, workload.Paused, workload.NoHold, workload.OnDelete, workload.NoHold, workload.NoHold, workload.Partitioned, workload.NoHold, workload.OnDelete,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holds (-want +got):\n%s", diff)
	}
}

// Below a partition, evicted pods come back from the earlier template.
func TestARestartByEvictionReplacesAllPodsOfAStatefulSetWithAPartition(t *testing.T) {
	for partition, awaits := range map[int32]bool{0: false, 2: true, 3: true} {
		s := &appsv1.StatefulSet{
			Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
			}},
			Status: appsv1.StatefulSetStatus{Replicas: 3, UpdatedReplicas: 3 - partition, AvailableReplicas: 3, CurrentRevision: "a", UpdateRevision: "b"},
		}
		s.Annotations = map[string]string{annotation.EnabledAnnotation: annotation.Enabled, annotation.MethodAnnotation: "evict"}
		w := controllertest.WorkloadOf(t, s)
		if w.Rollout.Wanted != 3 || w.AwaitsRollout() != awaits {
			t.Errorf("partition %d: %d pods, awaits its rollout: %t", partition, w.Rollout.Wanted, w.AwaitsRollout())
		}
	}
}

func TestOfAStatefulSetWithAPartitionThePodsFromItUpRestart(t *testing.T) {
	for updated, wantOutdated := range map[int32]int32{0: 3, 1: 2, 3: 0, 5: 0} {
		w := controllertest.WorkloadOf(t, &appsv1.StatefulSet{
			Spec: appsv1.StatefulSetSpec{Replicas: new(int32(5)), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))},
			}},
			Status: appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: updated, AvailableReplicas: 5},
		})
		if w.Hold != workload.PartlyPartitioned || w.CannotRoll() {
			t.Errorf("the hold is %d", w.Hold)
		}
		if got := w.Rollout.Outdated; got != wantOutdated || w.Rollout.IsWhole() != (got == 0) {
			t.Errorf("%d pods are updated: %d outdated, want %d: %+v", updated, got, wantOutdated, w.Rollout)
		}
	}
}

// gadget is a kind of workload that exists only here.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector *metav1.LabelSelector  `json:"selector"`
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object. It copies no more than the test modifies.
func (g *gadget) DeepCopyObject() runtime.Object {
	object := *g
	g.ObjectMeta.DeepCopyInto(&object.ObjectMeta)
	g.Spec.Template.DeepCopyInto(&object.Spec.Template)
	return &object
}

// replaceKinds replaces the tables by those of a cluster in which containers read their
// ConfigMaps from ServiceAccounts, and gadgets are workloads.
func replaceKinds(t *testing.T) {
	t.Helper()
	configs, workloads := kinds.ConfigKinds, kinds.WorkloadKinds
	t.Cleanup(func() { kinds.ConfigKinds, kinds.WorkloadKinds = configs, workloads })
	kinds.ConfigKinds = []*kinds.ConfigKind{{
		Config: names.ConfigMap, Name: "ServiceAccount", Resource: "serviceaccounts", FieldSelector: "metadata.name!=default",
		Read: kinds.Reader(func(a *corev1.ServiceAccount) content.Config {
			return content.NewConfigMap(&corev1.ConfigMap{ObjectMeta: a.ObjectMeta, Data: a.Annotations})
		}),
	}}
	apiclient.Scheme.AddKnownTypeWithName(appsv1.SchemeGroupVersion.WithKind("Gadget"), &gadget{})
	kinds.WorkloadKinds = append(slices.Clone(kinds.WorkloadKinds), &kinds.WorkloadKind{
		Workload: "Gadget", Resource: "gadgets", Revisions: kinds.ControllerRevisions,
		Parts: kinds.Reader(func(g *gadget) workload.Parts {
			return workload.Parts{Meta: &g.ObjectMeta, Selector: g.Spec.Selector, Template: &g.Spec.Template}
		}),
	})
}

// madeUpServer has one workload of the made-up kind and a pod that has run for an hour.
type madeUpServer struct {
	workload *gadget
	requests []string
}

func (s *madeUpServer) RoundTrip(r *http.Request) (*http.Response, error) {
	request := r.Method + " " + r.URL.Path
	s.requests = append(s.requests, request)
	owner := *metav1.NewControllerRef(s.workload, appsv1.SchemeGroupVersion.WithKind("Gadget"))
	switch request {
	case "GET /api/v1/namespaces/ns/pods":
		hourAgo := metav1.NewTime(time.Now().Add(-time.Hour))
		return s.answer(&corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "app-1", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{owner}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &hourAgo, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: hourAgo}}},
			}},
		}}})
	case "GET /apis/apps/v1/namespaces/ns/controllerrevisions":
		return s.answer(&appsv1.ControllerRevisionList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevisionList"}})
	case "PATCH /apis/apps/v1/namespaces/ns/gadgets/app":
		var patch restart.WorkloadPatch
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			return nil, err
		}
		s.workload.Annotations = patch.Metadata.Annotations
		s.workload.Annotations[annotation.EnabledAnnotation] = annotation.Enabled
		s.workload.Spec.Template.Annotations = patch.Spec.Template.Metadata.Annotations
		s.workload.ResourceVersion = "9"
		return s.answer(s.workload)
	}
	return objecttest.Respond(http.StatusNotFound, &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound})
}

func (s *madeUpServer) answer(object any) (*http.Response, error) {
	body, err := json.Marshal(object)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

func TestAKindIsServedBecauseItHasARow(t *testing.T) {
	replaceKinds(t)
	app := &gadget{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Gadget"}}
	d := objecttest.Watched()
	app.ObjectMeta, app.Spec.Selector, app.Spec.Template = d.ObjectMeta, d.Spec.Selector, d.Spec.Template
	app.Namespace, app.Name = "ns", "app"
	server := &madeUpServer{workload: app}
	recorder := record.NewFakeRecorder(10)
	recorder.IncludeObject = true
	c, err := newControllerWith(Options{
		API: &rest.Config{Host: "http://api", Transport: server}, QPS: 1e6, Burst: 1e6, Configs: []names.ConfigKind{names.ConfigMap}, Log: slog.New(slog.DiscardHandler),
	}, recorder)
	if err != nil {
		t.Fatal(err)
	}
	c.gate.SetHaltsTried()
	c.gate.SetHaltsKnown(true)
	t.Cleanup(c.events.Shutdown)
	c.restarter.KnowsConfigs = func(string) bool { return true }
	var watches []string
	watching := make(map[string]*intake.ResourceWatch)
	for _, w := range c.watches.All {
		watches = append(watches, w.Status().Resource)
		watching[w.Status().Resource] = w
	}
	if diff := cmp.Diff([]string{"serviceaccounts", "deployments", "statefulsets", "daemonsets", "gadgets"}, watches); diff != "" {
		t.Errorf("watches (-want +got):\n%s", diff)
	}

	for _, version := range []string{"1", "2"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "settings", ResourceVersion: version, Annotations: map[string]string{"key": "v" + version},
		}}
		watching["serviceaccounts"].Observe(mustReduce(t, account))
		app.ResourceVersion = version
		watching["gadgets"].Observe(mustReduce(t, app))
	}
	ref := names.WorkloadRef{Kind: "Gadget", Namespace: "ns", Name: "app"}
	c.restarter.Work(t.Context(), ref)
	want := []string{
		"GET /api/v1/namespaces/ns/pods", "GET /apis/apps/v1/namespaces/ns/controllerrevisions", "PATCH /apis/apps/v1/namespaces/ns/gadgets/app",
	}
	if diff := cmp.Diff(want, server.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := testutil.ToFloat64(c.restarter.Metrics.RestartsByKind.WithLabelValues("Gadget")); got != 1 {
		t.Errorf("%v restarts are counted, want 1", got)
	}
	if events := objecttest.EventsOf(recorder); len(events) != 1 || !strings.Contains(events[0], "kind=Gadget,apiVersion=apps/v1") {
		t.Errorf("events: %q", events)
	}

	c.restarter.Quarantine.Try(quarantine.Intake, mustReduce(t, app).Name(), func() { panic("canary") })
	if _, found := c.catalog.View(ref); found {
		t.Error("one that cannot be taken in is still known")
	}
}

func TestThePermissionsThatARowNeedsAreChecked(t *testing.T) {
	replaceKinds(t)
	c, _ := newIdleController(t)
	var got []apiclient.Permission
	for _, permission := range c.Permissions() {
		if slices.Contains([]string{"configmaps", "secrets", "serviceaccounts", "gadgets"}, permission.Resource) {
			got = append(got, permission)
		}
	}
	want := []apiclient.Permission{
		{Verb: "list", Resource: "serviceaccounts", Impact: "no workload restarts unless the API server streams lists, because the controller must know all ServiceAccounts first"},
		{Verb: "watch", Resource: "serviceaccounts", Impact: "the controller notices edits of ServiceAccounts late"},
		{Verb: "list", Group: "apps", Resource: "gadgets", Impact: "Gadgets do not restart unless the API server streams lists"},
		{Verb: "watch", Group: "apps", Resource: "gadgets", Impact: "the controller notices new and changed Gadgets late"},
		{Verb: "get", Group: "apps", Resource: "gadgets", Impact: "a Gadget that changes while the controller decides about it restarts late"},
		{Verb: "patch", Group: "apps", Resource: "gadgets", Impact: "Gadgets neither restart nor get a record"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}
