package controller

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// bomb is a log that panics when a message names an object. So one object makes the code
// that logs it panic, wherever that is.
type bomb struct {
	slog.Handler
	message, object string
}

func (b *bomb) Handle(ctx context.Context, record slog.Record) error {
	record.Attrs(func(attribute slog.Attr) bool {
		if record.Message == b.message && attribute.Value.Resolve().String() == b.object {
			panic("canary")
		}
		return true
	})
	return b.Handler.Handle(ctx, record)
}

// newBombedController returns a controller whose log panics at the message about the object,
// with its Events and its log. It has no API server.
func newBombedController(t *testing.T, message, object string) (*Controller, *bomb, *record.FakeRecorder, *strings.Builder) {
	t.Helper()
	var log strings.Builder
	b := &bomb{slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}), message, object}
	recorder := record.NewFakeRecorder(100)
	c, err := newControllerWith(Options{API: &rest.Config{Host: "http://api"}, QPS: 1, Burst: 1, DryRun: true, Log: slog.New(b)}, recorder)
	if err != nil {
		t.Fatal(err)
	}
	c.restarter.KnowsConfigs = func(string) bool { return true }
	t.Cleanup(c.events.Shutdown)
	return c, b, recorder, &log
}

func seenWorkload(name, version string) *kinds.WorkloadObservation {
	ref := names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: name}
	return &kinds.WorkloadObservation{Ref: ref, Choice: annotation.OptsIn, Workload: &workload.Workload{Object: workload.Object{Ref: ref, UID: "u", ResourceVersion: version}, Record: catalogrecord.Record{Room: 1000}}}
}

func (c *Controller) requirePanics(t *testing.T, place quarantine.Place, want float64, detail string) {
	t.Helper()
	if got := testutil.ToFloat64(c.restarter.Metrics.Panics.WithLabelValues(string(place))); got != want {
		t.Errorf("%v panics are counted, want %v", got, want)
	}
	_, ready := c.Ready()
	if held := strings.Contains(ready, "[!]"); held != (detail != "") || !strings.Contains(ready, detail) {
		t.Errorf("want %q in\n%s", detail, ready)
	}
}

const leftAlone = "[!] 1 object left alone after an internal error: deployment/ns/bad since "

// To find what panicked in a list, the watch takes in its objects one by one, and lists the
// others again. The objects before the one that panics are then no news any more.
func TestTheChangesInAListThatPanicsAreNotLost(t *testing.T) {
	c, _, _, _ := newBombedController(t, "", "")
	config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "c"}
	observed := func(value, version string) *kinds.Observation {
		o, err := controllertest.Reduce(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: version}, Data: map[string]string{"a": value},
		}, &optin.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	w := seenWorkload("web", "1")
	w.Workload.References = []template.Reference{{Config: config}}
	c.intake.ListConfigs(names.ConfigMap, "", []*kinds.Observation{observed("1", "1")}, true)
	panics := func(list func()) {
		if c.restarter.Quarantine.Try(quarantine.Intake, quarantine.Object{Kind: kinds.KindOfConfig(names.ConfigMap).GVK()}, list) {
			t.Fatal("the list does not panic")
		}
	}
	bad := &kinds.Observation{ResourceVersion: "6"} // without a config

	panics(func() {
		c.catalog.ListWorkloads(names.Deployment, "", []*workload.Workload{w.Workload, nil}, 0, func(names.WorkloadRef) { c.intake.WorkloadChanged(w.Workload) })
	})
	c.intake.Observe(&kinds.Observation{ResourceVersion: "1", Workload: w})
	c.intake.ListWorkloads(names.Deployment, "", []*kinds.Observation{{Workload: w}}, 0)
	if !c.changes.HoldsAny(w.Ref) {
		t.Error("a workload that was listed before the one that panics is never decided about")
	}
	c.changes.Forget(w.Ref) // it was decided about

	edited := observed("2", "5")
	panics(func() { c.intake.ListConfigs(names.ConfigMap, "", []*kinds.Observation{edited, bad}, false) })
	c.intake.Observe(edited)
	c.intake.ListConfigs(names.ConfigMap, "", []*kinds.Observation{edited}, false)
	if !c.changes.HoldsAny(w.Ref) {
		t.Error("the edit of a config that was listed before the one that panics wakes no workload")
	}
}

func TestOnlyAWorkloadWhoseDecisionPanicsIsLeftAlone(t *testing.T) {
	c, b, recorder, log := newBombedController(t, "would record", "deployment/ns/bad")
	for _, name := range []string{"bad", "good"} {
		c.intake.ObserveWorkload(seenWorkload(name, "1"))
		c.restarter.Work(t.Context(), seenWorkload(name, "1").Ref)
	}
	c.requirePanics(t, quarantine.Decision, 1, leftAlone)
	if events := objecttest.EventsOf(recorder); len(events) != 1 || !strings.HasPrefix(events[0], "Warning InternalError ") {
		t.Errorf("events: %q", events)
	}
	if !strings.Contains(log.String(), `msg="would record" workload=deployment/ns/good`) || strings.Contains(log.String(), "canary") {
		t.Errorf("the log:\n%s", log)
	}
	if due := c.restarter.Queue.NextDue(); !due.IsZero() || c.restarter.Queue.Len() > 0 {
		t.Errorf("it is tried again at %s", due)
	}
	b.object = "" // the next change brings it back
	c.restarter.Work(t.Context(), seenWorkload("bad", "1").Ref)
	c.requirePanics(t, quarantine.Decision, 1, "")
}

func TestAWorkloadThatIsGoneIsNoLongerLeftAlone(t *testing.T) {
	c, _, _, _ := newBombedController(t, "would record", "deployment/ns/bad")
	bad := seenWorkload("bad", "1")
	c.intake.ObserveWorkload(bad)
	c.restarter.Work(t.Context(), bad.Ref)
	c.requirePanics(t, quarantine.Decision, 1, leftAlone)
	c.intake.Forget(&kinds.Observation{Workload: bad})
	c.requirePanics(t, quarantine.Decision, 1, "")
}

func TestAChangeThatCannotBeQueuedDoesNotHoldUpTheOthers(t *testing.T) {
	c, _, _, _ := newBombedController(t, "change is due", "deployment/ns/bad")
	for _, name := range []string{"bad", "good"} {
		ref := seenWorkload(name, "1").Ref
		c.due(pending.ObservedChange{Workload: ref, Subject: ref})
	}
	if waiting := c.restarter.Queue.Len(); waiting != 1 {
		t.Errorf("%d workloads wait, want 1", waiting)
	}
	c.requirePanics(t, quarantine.Queue, 1, leftAlone)
}

func TestAWorkloadThatCannotBeTakenInIsForgottenUntilItCan(t *testing.T) {
	c, _, recorder, _ := newBombedController(t, "", "")
	bad := seenWorkload("bad", "1")
	c.intake.ObserveWorkload(bad)
	c.restarter.Backlogs.NoteDue(bad.Ref, false, time.Unix(0, 0))
	named := kinds.NameOfWorkload(bad.Ref)
	named.ResourceVersion = "2"
	c.restarter.Quarantine.Try(quarantine.Intake, named, func() { panic("canary") })
	c.requirePanics(t, quarantine.Intake, 1, leftAlone)
	due, waits := c.restarter.Backlogs.State(bad.Ref)
	if _, found := c.catalog.View(bad.Ref); found || c.changes.Len() > 0 || due || waits {
		t.Error("it is still known")
	}
	if events := objecttest.EventsOf(recorder); len(events) != 1 {
		t.Errorf("events: %q", events)
	}
	c.restarter.Quarantine.Try(quarantine.Intake, quarantine.Object{Kind: named.Kind, Namespace: "ns", Name: "bad", ResourceVersion: "3"}, func() { c.intake.ObserveWorkload(bad) })
	c.requirePanics(t, quarantine.Intake, 1, "")
	if !c.changes.Holds(bad.Ref, bad.Ref) {
		t.Error("it is not decided about when it has changed")
	}
}

// The list is known by then, so that no later one brings the news again.
func TestTheChangesInAListAreQueuedExceptThoseThatPanic(t *testing.T) {
	c, _, _, _ := newBombedController(t, "workload changed", "deployment/ns/bad")
	bad, good := seenWorkload("bad", "1"), seenWorkload("good", "1")
	c.intake.ListWorkloads(names.Deployment, "", []*kinds.Observation{{Workload: bad}, {Workload: good}}, 0)
	if c.changes.Holds(bad.Ref, bad.Ref) || !c.changes.Holds(good.Ref, good.Ref) {
		t.Error("what was good is not queued")
	}
	c.requirePanics(t, quarantine.Queue, 1, leftAlone)
}

// Each later leader would read the same halts, and end.
func TestAHaltThatCannotBeLookedAtEndsNeitherTheProcessNorKeepsOtherHalts(t *testing.T) {
	w := gradual(t)
	w.edited("a/d", "1")
	g := w.controller.gate
	other := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "d"}
	for _, config := range []names.ConfigRef{aConfig, other} {
		g.Restore(gate.Halt{ID: config.Name, Config: config, Content: "former"})
	}
	g.Log = slog.New(&bomb{slog.NewTextHandler(io.Discard, nil), "restarts for a config are resumed", aConfig.String()})
	w.controller.halts.EndHalts()
	if halts := g.ActiveHalts(); len(halts) > 0 {
		t.Errorf("there are still the halts %v", halts)
	}
	w.controller.requirePanics(t, quarantine.Delivery, 1, "[!] 1 object left alone")
}

func TestAWorkloadThatCannotBeJudgedDoesNotCountAsStale(t *testing.T) {
	c, _, _, _ := newBombedController(t, "", "")
	bad := seenWorkload("bad", "1")
	c.intake.ObserveWorkload(bad)
	c.Board.Resting.History = nil // so that judging panics
	if got := c.staleness.Judge(bad.Ref); got != judge.Fresh {
		t.Errorf("it is judged as %v", got)
	}
	c.requirePanics(t, quarantine.Metrics, 1, leftAlone)
}
