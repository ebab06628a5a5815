package restart_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// refusingServer has one Deployment, and refuses all patches of it.
type refusingServer struct {
	deployment appsv1.Deployment
	refusal    metav1.Status
	gone       bool
}

// RoundTrip makes the server its own network.
func (s *refusingServer) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodPatch:
		return objecttest.Respond(int(s.refusal.Code), &s.refusal)
	case s.gone:
		status := refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
		return objecttest.Respond(http.StatusNotFound, &status)
	default:
		return objecttest.Respond(http.StatusOK, &s.deployment)
	}
}

func refusal(code int32, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: "frozen",
	}
}

func TestADenialWithTheCodeOfAPassingRefusalIsReported(t *testing.T) {
	const decided, later = "5", "6"
	for name, test := range map[string]struct {
		refusal metav1.Status
		present string // the version of the workload when it is read again; empty if it is gone
		// from which attempt on it is reported; 0 for never.
		from   int
		reason string // of the metric
	}{
		"a conflict of versions":          {refusal(409, metav1.StatusReasonConflict), later, 0, "conflict"},
		"a denial with code 409":          {refusal(409, metav1.StatusReasonConflict), decided, failures.PassingFailures, "denied"},
		"a denial with code 409 and text": {refusal(409, "Frozen"), decided, failures.PassingFailures, "denied"},
		"a denial with code 404":          {refusal(404, metav1.StatusReasonNotFound), decided, 1, "denied"},
		"it was recreated":                {refusal(404, metav1.StatusReasonNotFound), later, 0, "notfound"},
		"it is gone":                      {refusal(404, metav1.StatusReasonNotFound), "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := appsv1.Deployment{
				TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
				ObjectMeta: metav1.ObjectMeta{
					Namespace: objecttest.Web.Namespace, Name: objecttest.Web.Name, UID: "u", ResourceVersion: decided,
					Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
				},
			}
			workload := controllertest.WorkloadOf(t, &object)
			server := &refusingServer{deployment: object, refusal: test.refusal, gone: test.present == ""}
			server.deployment.ResourceVersion = test.present
			var log strings.Builder
			recorder := record.NewFakeRecorder(10)
			r := refusedRestarter(t, server, recorder, &log)
			for attempt := 1; attempt <= failures.PassingFailures+1; attempt++ {
				r.Catalog.ObserveWorkload(workload) // as it was decided about
				r.Work(t.Context(), objecttest.Web)
				reported := len(objecttest.EventsOf(recorder)) > 0
				if want := test.from > 0 && attempt >= test.from; reported != want {
					t.Errorf("attempt %d: reported in an Event: %t, want %t", attempt, reported, want)
				}
				r.Catalog.ForgetWorkload(objecttest.Web)
			}
			if inLog := strings.Contains(log.String(), "level=ERROR"); inLog != (test.from > 0) {
				t.Errorf("an error in the log: %t\n%s", inLog, &log)
			}
		})
	}
}

func refusedRestarter(t *testing.T, server http.RoundTripper, recorder record.EventRecorder, log *strings.Builder) *restart.Restarter {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: server}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	known := catalog.New()
	return restart.NewRestarter(restart.Parts{
		Catalog: known, Deliveries: controllertest.Followed(known), Evictions: follow.NewEvictions(catalog.New(), tracker.New()), Gate: controllertest.OpenGate(known), Table: tracker.New(), Metrics: metrics.New(), Events: recorder,
		Queue: restart.NewQueue(), OptIns: optedin.NewOptIns(optin.Rules{}, nil), Workloads: restart.WorkloadWriter{Apps: clients.Apps.RESTClient(), Rules: &optin.Rules{}},
		Quarantine: quarantine.New(quarantine.Options{Log: slog.New(slog.DiscardHandler)}),
		Log:        slog.New(slog.NewTextHandler(log, nil)), KnowsConfigs: func(string) bool { return true },
	}, nil)
}
