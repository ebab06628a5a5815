package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
)

// awaitMetric waits until a metric of the controller has a value.
func (s *scene) awaitMetric(name string, labels map[string]string, want float64) {
	s.Helper()
	s.eventually("metric "+name, s.hasMetric(name, labels, want))
}

// hasMetric is the condition that a metric of the controller has a value.
func (s *scene) hasMetric(name string, labels map[string]string, want float64) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := s.controller.Metric(ctx, name, labels)
		if err == nil && got != want {
			err = fmt.Errorf("%s%v is %v, want %v", name, labels, got, want)
		}
		return err
	}
}

// makeHelmRelease makes a Secret as Helm keeps its releases in.
func (s *scene) makeHelmRelease(name string) {
	s.Helper()
	release := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       "helm.sh/release.v1",
		Data:       map[string][]byte{"release": []byte("all of a chart")},
	}
	_, err := s.client.CoreV1().Secrets(s.namespace).Create(s.Context(), release, metav1.CreateOptions{})
	s.must(err)
}

func TestTheSevenMetricsOfTheOriginalHaveTheirNamesAndTypes(t *testing.T) {
	s := newScene(t)
	want := map[string]dto.MetricType{
		"deployment_restart_controller_resource_versions_total":             dto.MetricType_COUNTER,
		"deployment_restart_controller_configs_total":                       dto.MetricType_GAUGE,
		"deployment_restart_controller_deployments_total":                   dto.MetricType_GAUGE,
		"deployment_restart_controller_deployment_annotation_updates_total": dto.MetricType_COUNTER,
		"deployment_restart_controller_deployment_restarts_total":           dto.MetricType_COUNTER,
		"deployment_restart_controller_changes_processed_total":             dto.MetricType_COUNTER,
		"deployment_restart_controller_changes_waiting_total":               dto.MetricType_GAUGE,
	}
	metrics, err := s.controller.Metrics(s.Context())
	s.must(err)
	got := map[string]dto.MetricType{}
	for name := range want {
		family, found := metrics[name]
		if !found {
			t.Errorf("%s is missing", name)
			continue
		}
		got[name] = family.GetType()
		if series := family.GetMetric(); len(series) != 1 || len(series[0].GetLabel()) != 0 {
			t.Errorf("%s has %d series, want one without labels", name, len(series))
		}
		if family.GetHelp() == "" {
			t.Errorf("%s has no help text", name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func TestTheOtherMetricsAreThere(t *testing.T) {
	s := newScene(t)
	s.settle() // so that each has happened once
	metrics, err := s.controller.Metrics(s.Context())
	s.must(err)
	for name, want := range map[string]struct {
		kind   dto.MetricType
		labels []string
	}{
		"deployment_restart_controller_restarts_total":                       {dto.MetricType_COUNTER, []string{"kind"}},
		"deployment_restart_controller_dry_run_restarts_total":               {dto.MetricType_COUNTER, []string{"kind"}},
		"deployment_restart_controller_decisions_total":                      {dto.MetricType_COUNTER, []string{"outcome"}},
		"deployment_restart_controller_change_to_patch_seconds":              {dto.MetricType_HISTOGRAM, nil},
		"deployment_restart_controller_due_to_patch_seconds":                 {dto.MetricType_HISTOGRAM, nil},
		"deployment_restart_controller_stale_workloads":                      {dto.MetricType_GAUGE, []string{"namespace"}},
		"deployment_restart_controller_longest_wait_seconds":                 {dto.MetricType_GAUGE, []string{"namespace"}},
		"deployment_restart_controller_held_workloads_exposed":               {dto.MetricType_GAUGE, []string{"namespace", "reason"}},
		"deployment_restart_controller_slowed_workloads":                     {dto.MetricType_GAUGE, []string{"config"}},
		"deployment_restart_controller_queue_depth":                          {dto.MetricType_GAUGE, nil},
		"deployment_restart_controller_slow_requests":                        {dto.MetricType_GAUGE, nil},
		"deployment_restart_controller_leader":                               {dto.MetricType_GAUGE, nil},
		"deployment_restart_controller_watch_up":                             {dto.MetricType_GAUGE, []string{"namespace", "resource"}},
		"deployment_restart_controller_watch_broken_since_timestamp_seconds": {dto.MetricType_GAUGE, []string{"namespace", "resource"}},
		"deployment_restart_controller_build_info":                           {dto.MetricType_GAUGE, []string{"commit", "go_version", "version"}},
		"go_goroutines":                 {dto.MetricType_GAUGE, nil},
		"process_resident_memory_bytes": {dto.MetricType_GAUGE, nil},
	} {
		family, found := metrics[name]
		if !found || len(family.GetMetric()) == 0 {
			t.Errorf("%s is missing", name)
			continue
		}
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		slices.Sort(labels)
		if family.GetType() != want.kind || !slices.Equal(labels, want.labels) {
			t.Errorf("%s is a %s with the labels %v, want a %s with %v", name, family.GetType(), labels, want.kind, want.labels)
		}
	}
}

func TestTheMetricsCountWhatHappens(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.settle()                               // the marker is one workload with two configs
	s.awaitMetric("stale_workloads", nil, 0) // and may have to restart for each of them
	configs, versions := s.metric("configs_total", nil), s.metric("resource_versions_total", nil)
	s.awaitMetric("deployments_total", nil, 1)
	processed := s.metric("changes_processed_total", nil)
	updates, restarts := s.metric("deployment_annotation_updates_total", nil), s.metric("deployment_restarts_total", nil)

	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	pod := podOf(envFrom(settings))
	app := s.run("app", pod)
	stateful, daemons := s.runStateful("stateful", pod), s.runDaemons("daemons", pod)
	s.run("bystander", pod, func(d *appsv1.Deployment) { d.Annotations = nil })
	states := map[workload]state{app: s.started(app), stateful: s.started(stateful), daemons: s.started(daemons)}
	s.awaitMetric("configs_total", nil, configs+2)
	s.awaitMetric("deployments_total", nil, 4)
	s.awaitMetric("deployment_annotation_updates_total", nil, updates+3)
	s.awaitMetric("deployment_restarts_total", nil, restarts)
	ofKind := map[string]float64{}
	for w := range states {
		ofKind[w.kind] = s.metric("restarts_total", map[string]string{"kind": w.kind})
	}

	s.edit(settings, set("used", "v2"))
	for w, before := range states {
		s.awaitRestart(w, before)
		s.awaitMetric("restarts_total", map[string]string{"kind": w.kind}, ofKind[w.kind]+1)
	}
	s.awaitMetric("deployment_restarts_total", nil, restarts+3)
	s.awaitMetric("deployment_annotation_updates_total", nil, updates+6)
	s.awaitMetric("stale_workloads", nil, 0)
	s.eventually("the controller is idle", s.controller.Idle)
	for name, before := range map[string]float64{"resource_versions_total": versions, "changes_processed_total": processed} {
		if got := s.metric(name, nil); got <= before {
			t.Errorf("%s is %v, was %v before", name, got, before)
		}
	}
	if got := s.metric("decisions_total", map[string]string{"outcome": "restart"}); got < 3 {
		t.Errorf("decisions_total of restarts is %v, want at least 3", got)
	}
	if got := s.metric("change_to_patch_seconds", nil); got < 3 {
		t.Errorf("change_to_patch_seconds has %v observations, want at least 3", got)
	}
}

// A webhook chooses the reason of its denial, and the API server passes it on.
func TestAWebhookThatDeniesWithANewReasonEachTimeMakesOneSeriesAndAnOverdueWorkload(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	before := s.started(app)
	var denials atomic.Int64
	allow := s.ask(registrationv1.Update, "deployments", func(_ context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if !isOfController(request) {
			return &admissionv1.AdmissionResponse{Allowed: true}
		}
		reason := fmt.Sprintf("%s for the %dth time", denial, denials.Add(1))
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReason(reason)}}
	})
	s.awaitFrozen(app)

	s.edit(settings, set("used", "v2"))
	ofNamespace := map[string]string{"namespace": s.namespace}
	s.awaitMetric("stale_workloads", ofNamespace, 1)
	s.eventually("several denials are counted and make the restart overdue", func(ctx context.Context) error {
		denied, err1 := s.controller.Metric(ctx, "patch_errors_total", map[string]string{"reason": "denied"})
		overdue, err2 := s.controller.Metric(ctx, "longest_wait_seconds", ofNamespace)
		if err := errors.Join(err1, err2); err != nil || denied >= 5 && overdue > 0 {
			return err
		}
		return fmt.Errorf("%v denials, overdue for %v seconds", denied, overdue)
	})
	metrics, err := s.controller.Metrics(s.Context())
	s.must(err)
	if series := metrics["deployment_restart_controller_patch_errors_total"].GetMetric(); len(series) > 2 { // a conflict may be another
		t.Errorf("%d denials make %d series", denials.Load(), len(series))
	}
	allow()
	s.awaitRestart(app, before)
	s.awaitMetric("stale_workloads", nil, 0)
	s.awaitMetric("longest_wait_seconds", nil, 0)
}
