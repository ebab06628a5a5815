package controller

import (
	"log/slog"
	"net/http"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// newIdleController returns a controller that talks to nobody, and its watches by
// the names of their resources.
func newIdleController(t testing.TB) (*Controller, map[string]*intake.ResourceWatch) {
	t.Helper()
	c, err := New(Options{API: &rest.Config{Host: "http://127.0.0.1"}, GracePeriod: time.Hour, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.events.Shutdown)
	watches := make(map[string]*intake.ResourceWatch)
	for _, w := range c.watches.All {
		watches[w.Status().Resource] = w
	}
	return c, watches
}

func mustReduce(t *testing.T, object any) *kinds.Observation {
	t.Helper()
	o, err := controllertest.Reduce(object, &optin.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func configMapWith(t *testing.T, value, resourceVersion string) *kinds.Observation {
	t.Helper()
	return mustReduce(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: resourceVersion},
		Data:       map[string]string{"key": value},
	})
}

// What is there before the controller watches is no change of a config, but it is
// one of the workloads that use it.
func TestTheFirstListOfConfigsIsNoChangeAndLaterOnesAre(t *testing.T) {
	c, watches := newIdleController(t)
	watches["deployments"].Replace([]*kinds.Observation{mustReduce(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", ResourceVersion: "2", Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
		},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", EnvFrom: []corev1.EnvFromSource{{
				ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}},
			}}}},
		}}},
	})}, "2")
	watches["configmaps"].Replace([]*kinds.Observation{configMapWith(t, "one", "1")}, "3")
	requirePending(t, c, objecttest.Web.String())
	watches["configmaps"].Replace([]*kinds.Observation{configMapWith(t, "two", "4")}, "4")
	requirePending(t, c, objecttest.MapA.String(), objecttest.Web.String())
}

func requirePending(t *testing.T, c *Controller, want ...string) {
	t.Helper()
	var got []string
	for _, row := range c.Table.All() {
		for _, change := range row.Changes.All() {
			got = append(got, change.Subject.String())
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEachWatchCountsTheResourceVersionsThatItShows(t *testing.T) {
	c, watches := newIdleController(t)
	count := 0
	w := watches["configmaps"]
	w.Versions.Inc = func() { count++ }
	w.Replace([]*kinds.Observation{configMapWith(t, "one", "3"), configMapWith(t, "one", "2")}, "5")
	w.Observe(configMapWith(t, "two", "6"))
	w.Observe(configMapWith(t, "two", "6")) // shown again
	w.Forget(configMapWith(t, "two", "7"))
	w.Replace([]*kinds.Observation{configMapWith(t, "one", "7"), configMapWith(t, "one", "8")}, "9")
	w.Observe(configMapWith(t, "one", "8"))
	if count != 5 {
		t.Errorf("counted %d distinct versions, want 5", count)
	}
	if configs, _ := c.catalog.Size(); configs != 1 {
		t.Errorf("%d configs are known, want 1", configs)
	}
}

// What a workload read before it opted in is its owner's own affair, also if the watch had a
// gap when that happened.
func TestAnEditFromBeforeTheOptInDoesNotCountAfterAListThatFollowsAGap(t *testing.T) {
	deploymentWith := func(annotations map[string]string, resourceVersion string) *kinds.Observation {
		d := objecttest.Watched()
		d.Annotations, d.ResourceVersion = annotations, resourceVersion
		if annotations != nil {
			d.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: "kubectl", Time: &metav1.Time{Time: time.Now()}, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotation.EnabledAnnotation + `":{}}}}`),
			}}
		}
		return mustReduce(t, &d)
	}
	c, watches := newIdleController(t)
	settings := func(value string) *kinds.Observation {
		config := objecttest.SettingsOf(value)
		return &kinds.Observation{Config: &config}
	}
	watches["configmaps"].Replace([]*kinds.Observation{settings("v1")}, "1")
	watches["deployments"].Replace(nil, "1")
	watches["configmaps"].Observe(settings("v2"))
	watches["deployments"].Observe(deploymentWith(nil, "2"))
	watches["deployments"].Replace([]*kinds.Observation{deploymentWith(map[string]string{annotation.EnabledAnnotation: annotation.Enabled}, "3")}, "3")
	view, _ := c.catalog.View(objecttest.Web)
	if decision := decide.Decide(view); decision.Outcome != decide.RecordOnly {
		t.Errorf("%s, because %s; want %s", decision.Outcome, decision.Reason, decide.RecordOnly)
	}
}

// After the many failed attempts, the next one is half a minute away when Secrets can be listed at last.
func TestWhatWaitsForAListIsDecidedOnceItIsThere(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1] // the others sleep until the time of the real clock
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one")
		c, secrets := w.controller, w.watches["secrets"]
		c.watches = &intake.Watches{All: []*intake.ResourceWatch{secrets}}
		c.restarter.KnowsConfigs = c.watches.KnowConfigs
		var isGranted atomic.Bool
		w.answer = func(r *http.Request) (int, any) {
			query := r.URL.Query()
			if path.Base(r.URL.Path) != "secrets" {
				return 0, nil
			}
			if query.Has("watch") && !query.Has("sendInitialEvents") { // it streams nothing
				<-r.Context().Done()
			}
			switch {
			case query.Has("sendInitialEvents"):
				return http.StatusUnprocessableEntity, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid}
			case !isGranted.Load() || query.Has("watch"):
				return http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
			}
			return http.StatusOK, corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
		}
		go secrets.Run(t.Context())
		go c.watches.GoOnOnceListed(t.Context(), c.restarter.AskUnknown)
		w.edited("a/c", "2")
		for range 600 {
			time.Sleep(time.Second)
			settle(w)
		}
		isGranted.Store(true)
		for i := 0; i < 15 && !secrets.Status().Synced; i++ {
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		settle(w)
		if got := w.restarted(); !slices.Equal(got, []string{"a/one"}) {
			waits := c.restarter.Backlogs.Of(objecttest.DeploymentNamed("a/one"))
			t.Errorf("restarted %v a second after the list; the workload waits: %s", got, waits.Failure.Unknown)
		}
	})
}

// A restart that waits for a config goes on to wait when an API server restarts, and not for ever if nobody may watch.
func TestWhatDoesNotExistIsKnownWhileTheWatchIsBroken(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1] // the others sleep until the time of the real clock
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.runs("a/web", nil, "s")
		secrets := w.watches["secrets"]
		known := func() bool {
			known := (&intake.Watches{All: []*intake.ResourceWatch{secrets}}).KnowWhatExists(names.Secret, "a")
			config := w.controller.ExplainConfig("secret/a/s", time.Now()).Exists
			for _, exists := range []*bool{config, w.controller.ExplainWorkload("deployment/a/web", time.Now()).Reads.Items[0].Exists} {
				if (exists != nil) != known || known && *exists {
					t.Errorf("what exists is known: %t; it is shown as %v", known, exists)
				}
			}
			return known
		}
		var refusal atomic.Value
		refusal.Store(apierrors.NewServiceUnavailable("").Status())
		w.answer = func(r *http.Request) (int, any) {
			refused := refusal.Load().(metav1.Status)
			switch query := r.URL.Query(); {
			case path.Base(r.URL.Path) != "secrets":
				return 0, nil
			case query.Has("sendInitialEvents"):
				refused = apierrors.NewInvalid(schema.GroupKind{}, "", nil).Status()
			case !query.Has("watch"):
				return http.StatusOK, corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
			}
			refused.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			return int(refused.Code), refused
		}
		if known() {
			t.Error("known before the list")
		}
		go secrets.Run(t.Context())
		time.Sleep(time.Hour)
		if s := secrets.Status(); !s.Synced || s.BrokenSince.IsZero() || !known() {
			t.Errorf("known %t with %s", known(), s)
		}
		refusal.Store(apierrors.NewForbidden(schema.GroupResource{}, "", nil).Status())
		time.Sleep(time.Hour)
		if known() {
			t.Errorf("known with %s", secrets.Status())
		}
	})
}
