package restart_test

import (
	"encoding/json"
	"errors"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
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
		return objecttest.Respond(http.StatusOK, &s.deployment)
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
		return objecttest.Respond(http.StatusInternalServerError, &failure)
	case status != nil:
		return objecttest.Respond(int(status.Code), status)
	}
	return objecttest.Respond(http.StatusOK, &s.deployment)
}

func (s *losingServer) patch(body io.Reader) *metav1.Status {
	var patch restart.WorkloadPatch
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
	return controllertest.WorkloadOf(t, &s.deployment)
}

func TestAWriteWhoseAnswerIsLostIsReportedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		script []string
		// meanwhile happens after each attempt that fails.
		meanwhile func(*losingServer, *restart.Restarter, workload.Workload)
	}{
		"answered":                           {nil, nil},
		"never arrived, then answered":       {[]string{neverArrives}, nil},
		"lost, and the retry conflicts":      {[]string{answerLost}, nil},
		"lost, and the retry's answer, too":  {[]string{answerLost, answerLost}, nil},
		"lost at the second attempt":         {[]string{neverArrives, answerLost}, nil},
		"lost in a server that fails":        {[]string{serverFails}, nil},
		"lost, and the watch is faster":      {[]string{answerLost}, func(_ *losingServer, r *restart.Restarter, w workload.Workload) { r.Catalog.ObserveWorkload(w) }},
		"lost, and another write comes next": {[]string{answerLost}, func(s *losingServer, _ *restart.Restarter, _ workload.Workload) { s.write() }},
	} {
		for _, outcome := range []decide.Outcome{decide.RecordOnly, decide.Restart} {
			t.Run(name+", "+string(outcome), func(t *testing.T) {
				server := &losingServer{deployment: objecttest.Watched()}
				recorder := record.NewFakeRecorder(10)
				var log strings.Builder
				r := refusedRestarter(t, server, recorder, &log)
				r.Catalog.ListConfigs(names.ConfigMap, "", []*content.Config{new(objecttest.SettingsOf("v1"))}, time.Now(), true, func(names.ConfigRef) {})
				r.Catalog.ObserveWorkload(server.workload(t))
				if outcome == decide.Restart {
					r.Work(t.Context(), objecttest.Web) // records
					r.Catalog.ObserveConfig(objecttest.SettingsOf("v2"), time.Now())
					log.Reset()
				}
				server.script = test.script
				before := countsOf(t, r)
				for range 6 {
					r.Work(t.Context(), objecttest.Web)
					if test.meanwhile != nil {
						test.meanwhile(server, r, server.workload(t))
					}
				}
				requireReportedOnce(t, r, outcome, before, &log, objecttest.EventsOf(recorder))
				if len(r.Table.Of(objecttest.Web).Attempts) != 0 {
					t.Errorf("%v are still remembered", r.Table.Of(objecttest.Web).Attempts)
				}
			})
		}
	}
}

func TestAttemptsAreForgottenWithTheirWorkload(t *testing.T) {
	server := &losingServer{deployment: objecttest.Watched(), script: []string{neverArrives, neverArrives}}
	var log strings.Builder
	r := refusedRestarter(t, server, record.NewFakeRecorder(10), &log)
	r.Catalog.ListConfigs(names.ConfigMap, "", []*content.Config{new(objecttest.SettingsOf("v1"))}, time.Now(), true, func(names.ConfigRef) {})
	r.Catalog.ObserveWorkload(server.workload(t))
	r.Work(t.Context(), objecttest.Web)
	if len(r.Table.Of(objecttest.Web).Attempts) == 0 {
		t.Fatal("the attempt is not remembered")
	}
	r.Catalog.ForgetWorkload(objecttest.Web)
	r.Work(t.Context(), objecttest.Web)
	if len(r.Table.Of(objecttest.Web).Attempts) != 0 {
		t.Errorf("%v are still remembered", r.Table.Of(objecttest.Web).Attempts)
	}
}

type counts struct{ updates, restarts float64 }

func countsOf(t *testing.T, r *restart.Restarter) counts {
	t.Helper()
	return counts{valueOf(t, r.Metrics.AnnotationUpdates), valueOf(t, r.Metrics.Restarts)}
}

func valueOf(t *testing.T, counter prometheus.Counter) float64 {
	t.Helper()
	var sample dto.Metric
	if err := counter.Write(&sample); err != nil {
		t.Fatal(err)
	}
	return sample.GetCounter().GetValue()
}

func requireReportedOnce(t *testing.T, r *restart.Restarter, outcome decide.Outcome, before counts, log *strings.Builder, events []string) {
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
