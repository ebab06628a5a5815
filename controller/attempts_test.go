package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// losingServer has one Deployment. It carries patches out, and loses answers.
type losingServer struct {
	deployment appsv1.Deployment
	// script says what becomes of each patch; those beyond it are answered.
	script []string
}

// What becomes of a patch.
const (
	neverArrives = "the request never arrives"
	answerLost   = "the answer is lost"
	serverFails  = "the server fails after it has been carried out"
)

// RoundTrip makes the server its own network.
func (s *losingServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPatch {
		return respond(http.StatusOK, &s.deployment)
	}
	fate := ""
	if len(s.script) > 0 {
		fate, s.script = s.script[0], s.script[1:]
	}
	if fate == neverArrives {
		return nil, errors.New("connection reset")
	}
	status := s.patch(r.Body)
	switch {
	case fate == answerLost:
		return nil, errors.New("connection reset")
	case fate == serverFails:
		failure := refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError)
		return respond(http.StatusInternalServerError, &failure)
	case status != nil:
		return respond(int(status.Code), status)
	}
	return respond(http.StatusOK, &s.deployment)
}

func (s *losingServer) patch(body io.Reader) *metav1.Status {
	var patch workloadPatch
	if err := json.NewDecoder(body).Decode(&patch); err != nil || patch.Metadata.ResourceVersion != s.deployment.ResourceVersion {
		conflict := refusal(http.StatusConflict, metav1.StatusReasonConflict)
		return &conflict
	}
	s.deployment.Annotations = maps.Clone(s.deployment.Annotations)
	maps.Copy(s.deployment.Annotations, patch.Metadata.Annotations)
	if patch.Spec != nil {
		s.deployment.Spec.Template.Annotations = patch.Spec.Template.Metadata.Annotations
	}
	s.deployment.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: annotation.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotation.BasisAnnotation + `":{}}}}`),
	}}
	s.write()
	return nil
}

// write gives the Deployment another version.
func (s *losingServer) write() {
	version, _ := strconv.Atoi(s.deployment.ResourceVersion)
	s.deployment.ResourceVersion = strconv.Itoa(version + 1)
}

func (s *losingServer) workload(t *testing.T) workload.Workload {
	t.Helper()
	return workloadOf(t, &s.deployment)
}

func TestAWriteWhoseAnswerIsLostIsReportedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		script []string
		// meanwhile happens after each attempt that fails.
		meanwhile func(*losingServer, *restarter, workload.Workload)
	}{
		"answered":                           {nil, nil},
		"never arrived, then answered":       {[]string{neverArrives}, nil},
		"lost, and the retry conflicts":      {[]string{answerLost}, nil},
		"lost, and the retry's answer, too":  {[]string{answerLost, answerLost}, nil},
		"lost at the second attempt":         {[]string{neverArrives, answerLost}, nil},
		"lost in a server that fails":        {[]string{serverFails}, nil},
		"lost, and the watch is faster":      {[]string{answerLost}, func(_ *losingServer, r *restarter, w workload.Workload) { r.catalog.ObserveWorkload(w) }},
		"lost, and another write comes next": {[]string{answerLost}, func(s *losingServer, _ *restarter, _ workload.Workload) { s.write() }},
	} {
		for _, outcome := range []decide.Outcome{decide.RecordOnly, decide.Restart} {
			t.Run(name+", "+string(outcome), func(t *testing.T) {
				server := &losingServer{deployment: watched()}
				recorder := record.NewFakeRecorder(10)
				var log strings.Builder
				r := refusedRestarter(t, server, recorder, &log)
				r.catalog.ListConfigs(names.ConfigMap, "", []*content.Config{new(settingsOf("v1"))}, time.Now(), true, func(names.ConfigRef) {})
				r.catalog.ObserveWorkload(server.workload(t))
				if outcome == decide.Restart {
					r.work(t.Context(), web) // records
					r.catalog.ObserveConfig(settingsOf("v2"), time.Now())
					log.Reset()
				}
				server.script = test.script
				before := countsOf(t, r)
				for range 6 {
					r.work(t.Context(), web)
					if test.meanwhile != nil {
						test.meanwhile(server, r, server.workload(t))
					}
				}
				requireReportedOnce(t, r, outcome, before, &log, eventsOf(recorder))
				if len(r.journal.attempts) != 0 {
					t.Errorf("%v are still remembered", r.journal.attempts)
				}
			})
		}
	}
}

func TestAttemptsAreForgottenWithTheirWorkload(t *testing.T) {
	server := &losingServer{deployment: watched(), script: []string{neverArrives, neverArrives}}
	var log strings.Builder
	r := refusedRestarter(t, server, record.NewFakeRecorder(10), &log)
	r.catalog.ListConfigs(names.ConfigMap, "", []*content.Config{new(settingsOf("v1"))}, time.Now(), true, func(names.ConfigRef) {})
	r.catalog.ObserveWorkload(server.workload(t))
	r.work(t.Context(), web)
	if len(r.journal.attempts) == 0 {
		t.Fatal("the attempt is not remembered")
	}
	r.catalog.ForgetWorkload(web)
	r.work(t.Context(), web)
	if len(r.journal.attempts) != 0 {
		t.Errorf("%v are still remembered", r.journal.attempts)
	}
}

func TestAttemptsThatFailForLongTakeLittleMemory(t *testing.T) {
	b := newJournal()
	for range 100 {
		decision := decide.Decision{Outcome: decide.Restart, Checksums: catalogrecord.Checksums{mapA: 1}}
		b.noteAttempt(web, attempt{decision: decision})
	}
	attempts := b.attempts[web]
	if len(attempts) != maxAttempts {
		t.Errorf("%d are remembered, want %d", len(attempts), maxAttempts)
	}
	for _, a := range attempts {
		if a.decision.Checksums != nil || a.decision.Outcome != decide.Restart {
			t.Errorf("decision %+v", a.decision)
		}
	}
}

type counts struct{ updates, restarts float64 }

func countsOf(t *testing.T, r *restarter) counts {
	t.Helper()
	return counts{valueOf(t, r.metrics.annotationUpdates), valueOf(t, r.metrics.restarts)}
}

func valueOf(t *testing.T, counter prometheus.Counter) float64 {
	t.Helper()
	var sample dto.Metric
	if err := counter.Write(&sample); err != nil {
		t.Fatal(err)
	}
	return sample.GetCounter().GetValue()
}

func requireReportedOnce(t *testing.T, r *restarter, outcome decide.Outcome, before counts, log *strings.Builder, events []string) {
	t.Helper()
	line, want := "msg=recorded", counts{before.updates + 1, before.restarts}
	if outcome == decide.Restart {
		line, want.restarts = "msg=restarted", before.restarts+1
		if len(events) != 1 || events[0] != "Normal Restarting restarting: configmap settings changed (keys: used)" {
			t.Errorf("events: %q", events)
		}
	}
	if got := countsOf(t, r); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if n := strings.Count(log.String(), line); n != 1 {
		t.Errorf("%q is %d times in the log:\n%s", line, n, log)
	}
}

// watched is a Deployment that reads the settings.
func watched() appsv1.Deployment {
	return appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: web.Namespace, Name: web.Name, UID: "u", ResourceVersion: "5",
			Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			}}}},
		},
	}
}

func settingsOf(value string) content.Config {
	return content.NewConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "settings"}, Data: map[string]string{"used": value},
	})
}

func TestTheAttemptsOfANamespaceTakeLittleMemory(t *testing.T) {
	j := newJournal()
	for range 100 {
		for i := range 300 {
			j.noteAttempt(workloadNamed(fmt.Sprint("web-", i)), attempt{written: time.Unix(int64(i), 0)})
		}
	}
	if n := j.attemptsIn["ns"]; n > maxAttemptsIn+300 || len(j.attempts) != 300 {
		t.Errorf("%d attempts of %d workloads are remembered", n, len(j.attempts))
	}
	other := web
	other.Namespace = "other"
	for range 100 {
		j.noteAttempt(other, attempt{})
	}
	if n := len(j.attempts[other]); n != maxAttempts {
		t.Errorf("%d attempts of a workload of another namespace are remembered", n)
	}
	for ref, attempts := range j.attempts {
		if last := attempts[len(attempts)-1]; ref != other && !j.hasAttempted(&workload.Workload{Ref: ref, Applied: catalogrecord.AppliedState{Written: last.written}}) {
			t.Errorf("the last attempt of %s is forgotten", ref)
		}
		j.forget(ref)
	}
	if len(j.attemptsIn) > 0 {
		t.Errorf("%v are left", j.attemptsIn)
	}
}
