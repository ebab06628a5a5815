package controller

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
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
		return respond(int(s.refusal.Code), &s.refusal)
	case s.gone:
		status := refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
		return respond(http.StatusNotFound, &status)
	default:
		return respond(http.StatusOK, &s.deployment)
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
		"a denial with code 409":          {refusal(409, metav1.StatusReasonConflict), decided, passingFailures, "denied"},
		"a denial with code 409 and text": {refusal(409, "Frozen"), decided, passingFailures, "denied"},
		"a denial with code 404":          {refusal(404, metav1.StatusReasonNotFound), decided, 1, "denied"},
		"it was recreated":                {refusal(404, metav1.StatusReasonNotFound), later, 0, "notfound"},
		"it is gone":                      {refusal(404, metav1.StatusReasonNotFound), "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := appsv1.Deployment{
				TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
				ObjectMeta: metav1.ObjectMeta{
					Namespace: web.Namespace, Name: web.Name, UID: "u", ResourceVersion: decided,
					Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
				},
			}
			workload := workloadOf(t, &object)
			server := &refusingServer{deployment: object, refusal: test.refusal, gone: test.present == ""}
			server.deployment.ResourceVersion = test.present
			var log strings.Builder
			recorder := record.NewFakeRecorder(10)
			r := refusedRestarter(t, server, recorder, &log)
			for attempt := 1; attempt <= passingFailures+1; attempt++ {
				r.catalog.ObserveWorkload(workload) // as it was decided about
				r.work(t.Context(), web)
				reported := len(eventsOf(recorder)) > 0
				if want := test.from > 0 && attempt >= test.from; reported != want {
					t.Errorf("attempt %d: reported in an Event: %t, want %t", attempt, reported, want)
				}
				r.catalog.ForgetWorkload(web)
			}
			if inLog := strings.Contains(log.String(), "level=ERROR"); inLog != (test.from > 0) {
				t.Errorf("an error in the log: %t\n%s", inLog, &log)
			}
		})
	}
}

// followed follows restarts in a catalog, until somebody looks.
func followed(known *catalog.Catalog) *deliveries {
	open := openGate(known)
	return newDeliveries(deliveriesParts{catalog: known, evictions: newEvictions(known), gate: open, halted: newSignal(), notices: open.notices})
}

// openGate returns a gatekeeper that holds no restart back but for its budget.
func openGate(known *catalog.Catalog) *gatekeeper {
	g := newGatekeeper(gatekeeperOptions{
		options: FanOutOptions{Limit: 50}, catalog: known, wake: func(names.WorkloadRef) {}, knowsWorkloads: func(string) bool { return true },
		knowsWhatExists: func(names.ConfigKind, string) bool { return false }, notices: newNotices(slog.New(slog.DiscardHandler)),
		log: slog.New(slog.DiscardHandler),
	})
	g.setHaltsTried()
	g.setHaltsKnown(true)
	return g
}

func refusedRestarter(t *testing.T, server http.RoundTripper, recorder record.EventRecorder, log *strings.Builder) *restarter {
	t.Helper()
	rate := apiclient.Rate{QPS: 1e6, Burst: 1e6}
	clients, err := apiclient.Connect(&rest.Config{Host: "http://api", Transport: server}, rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	known := catalog.New()
	return newRestarter(restarterParts{
		catalog: known, deliveries: followed(known), evictions: newEvictions(catalog.New()), gate: openGate(known), backlogs: newBacklogs(), journal: newJournal(), metrics: newMetrics(), events: recorder,
		queue: newQueue(), optIns: newOptIns(optin.Rules{}, nil), workloads: workloadWriter{apps: clients.Apps.RESTClient(), rules: &optin.Rules{}},
		quarantine: quarantine.New(quarantine.Options{Log: slog.New(slog.DiscardHandler)}),
		log:        slog.New(slog.NewTextHandler(log, nil)), knowsConfigs: func(string) bool { return true },
	}, nil)
}

// A former leader may have been refused, too.
func TestARefusalOfWhatWaitedFirstMayHaveBegunBeforeThisLeader(t *testing.T) {
	now := time.Now()
	inherited := backlog{isInherited: true, putOffSince: now.Add(-time.Minute), owed: now}
	inherited.fail(errors.New("refused"), now)
	if s := standingOfBacklog(aWeb, &inherited); s.state != status.Retrying || !s.since.Equal(now) || !s.atLeast {
		t.Errorf("%+v", s)
	}
}

func TestAHeldRefusalOfAFormerLeaderMayHaveBegunEarlier(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	held := backlog{isInherited: true, putOff: gate.Hold, putOffSince: now.Add(-time.Minute)}
	held.fail(onlyRecord(errNotMarked, errors.New("refused")), now)
	s := standingOfBacklog(aWeb, &held)
	const want = "refused (failing at least since 2026-05-01T12:00:00Z)"
	if got := s.lastError(); s.state != status.Held || !strings.HasSuffix(got, want) {
		t.Errorf("%v: %q, want %q", s.state, got, want)
	}
}

// Whoever alerts on late restarts wants to hear neither of holds nor of a slow start after a moment in which a webhook was down.
func TestARefusalOfLongAgoMakesNothingLate(t *testing.T) {
	for _, reason := range []gate.Reason{gate.Hold, gate.Window, gate.Wave, gate.SlowStart} {
		synctest.Test(t, func(t *testing.T) {
			b := newBacklogs()
			b.begin(time.Now())
			b.note(observedChange{Workload: aWeb, Subject: mapA, Since: time.Now(), Due: time.Now(), Count: 1})
			tried := func(isRefused bool) time.Duration {
				b.noteDue(aWeb, false, time.Now())
				if isRefused {
					b.noteFailure(aWeb, errors.New("refused"), false)
				}
				time.Sleep(10 * time.Second)
				return b.longestWaits(time.Now())[aWeb.Namespace]
			}
			tried(true)
			b.putOff(aWeb, nil, gate.Answer{Reason: reason}, time.Now())
			time.Sleep(5 * 24 * time.Hour)
			b.putOff(aWeb, nil, gate.Answer{Reason: gate.SlowStart}, time.Now())
			time.Sleep(time.Minute)
			if late := tried(false); late != 10*time.Second {
				t.Errorf("%s: after its turn it is late by %s", reason, late)
			}
			if late := tried(true); reason != gate.SlowStart && late != 20*time.Second || reason == gate.SlowStart && late < 24*time.Hour {
				t.Errorf("%s: refused again, it is late by %s", reason, late)
			}
		})
	}
}

// A new leader lets others go first, for a moment. That is no reason to mark a record, which is refused, too, and neither
// the refusal nor the wait begins with it.
func TestATurnAfterATakeoverDatesNothing(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	edited, now := began.Add(-time.Hour), began.Add(time.Second)
	takenOver := func() *backlogs {
		b := newBacklogs()
		b.begin(began)
		b.note(observedChange{Workload: aWeb, Subject: mapA, Since: edited, Due: edited, Count: 1})
		b.date(aWeb, edited, time.Time{}, true, 0)
		return b
	}
	b := takenOver()
	if since, _ := b.putOff(aWeb, nil, gate.Answer{Reason: gate.SlowStart}, now); since.Before(began) {
		t.Errorf("this process puts it off since %s, before it led", since)
	}
	b.noteDue(aWeb, false, now.Add(time.Second))
	b.noteFailure(aWeb, errors.New("refused"), false)
	w := b.waiting[aWeb]
	if s := standingOfBacklog(aWeb, &w); s.state != status.Retrying || !s.since.Equal(edited) || !s.atLeast {
		t.Errorf("%+v", s)
	}
	b.putOff(aWeb, nil, gate.Answer{Reason: gate.SlowStart}, now.Add(2*time.Second)) // another one has its turn again
	b.noteDue(aWeb, false, now.Add(3*time.Second))
	if waits := b.longestWaits(began.Add(time.Minute)); waits[aWeb.Namespace] != 61*time.Minute {
		t.Errorf("it waits %v, want since the edit", waits)
	}
	b.putOff(aWeb, nil, gate.Answer{Reason: gate.SlowStart}, began.Add(time.Hour))
	b.noteDue(aWeb, false, began.Add(time.Hour+time.Minute))
	b.noteFailure(aWeb, errors.New("refused"), false)
	if waits := b.longestWaits(began.Add(2 * time.Hour)); waits[aWeb.Namespace] != 3*time.Hour {
		t.Errorf("it waits %v, want since the edit also after a long turn of another one", waits)
	}
	for name, wait := range map[string]struct {
		reason gate.Reason
		until  time.Duration
	}{
		"what people held was not late":      {gate.Hold, time.Second},
		"what waited long for its turn, too": {gate.SlowStart, time.Minute},
	} {
		b := takenOver()
		b.putOff(aWeb, nil, gate.Answer{Reason: wait.reason}, now)
		due := now.Add(wait.until)
		b.noteDue(aWeb, false, due)
		if waits := b.longestWaits(due.Add(time.Minute)); waits[aWeb.Namespace] != time.Minute {
			t.Errorf("%s: %v", name, waits)
		}
	}
}
