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
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
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
	c.restarter.knowsConfigs = func(string) bool { return true }
	t.Cleanup(c.events.Shutdown)
	return c, b, recorder, &log
}

func seenWorkload(name, version string) *workloadObservation {
	ref := names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: name}
	return &workloadObservation{ref: ref, choice: annotation.OptsIn, workload: &workload.Workload{Ref: ref, UID: "u", ResourceVersion: version, Room: 1000}}
}

func (c *Controller) requirePanics(t *testing.T, place quarantine.Place, want float64, detail string) {
	t.Helper()
	if got := testutil.ToFloat64(c.restarter.metrics.panics.WithLabelValues(string(place))); got != want {
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
	observed := func(value, version string) *observation {
		o, err := reduce(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: version}, Data: map[string]string{"a": value},
		}, &optin.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	w := seenWorkload("web", "1")
	w.workload.References = []template.Reference{{Config: config}}
	c.intake.listConfigs(names.ConfigMap, "", []*observation{observed("1", "1")}, true)
	panics := func(list func()) {
		if c.restarter.quarantine.Try(quarantine.Intake, quarantine.Object{Kind: kindOfConfig(names.ConfigMap).kind()}, list) {
			t.Fatal("the list does not panic")
		}
	}
	bad := &observation{resourceVersion: "6"} // without a config

	panics(func() {
		c.catalog.ListWorkloads(names.Deployment, "", []*workload.Workload{w.workload, nil}, 0, func(names.WorkloadRef) { c.intake.workloadChanged(w.workload) })
	})
	c.intake.observe(&observation{resourceVersion: "1", workload: w})
	c.intake.listWorkloads(names.Deployment, "", []*observation{{workload: w}}, 0)
	if !c.changes.HoldsAny(w.ref) {
		t.Error("a workload that was listed before the one that panics is never decided about")
	}
	c.changes.Forget(w.ref) // it was decided about

	edited := observed("2", "5")
	panics(func() { c.intake.listConfigs(names.ConfigMap, "", []*observation{edited, bad}, false) })
	c.intake.observe(edited)
	c.intake.listConfigs(names.ConfigMap, "", []*observation{edited}, false)
	if !c.changes.HoldsAny(w.ref) {
		t.Error("the edit of a config that was listed before the one that panics wakes no workload")
	}
}

func TestOnlyAWorkloadWhoseDecisionPanicsIsLeftAlone(t *testing.T) {
	c, b, recorder, log := newBombedController(t, "would record", "deployment/ns/bad")
	for _, name := range []string{"bad", "good"} {
		c.intake.observeWorkload(seenWorkload(name, "1"))
		c.restarter.work(t.Context(), seenWorkload(name, "1").ref)
	}
	c.requirePanics(t, quarantine.Decision, 1, leftAlone)
	if events := eventsOf(recorder); len(events) != 1 || !strings.HasPrefix(events[0], "Warning InternalError ") {
		t.Errorf("events: %q", events)
	}
	if !strings.Contains(log.String(), `msg="would record" workload=deployment/ns/good`) || strings.Contains(log.String(), "canary") {
		t.Errorf("the log:\n%s", log)
	}
	if due := c.restarter.queue.NextDue(); !due.IsZero() || c.restarter.queue.Len() > 0 {
		t.Errorf("it is tried again at %s", due)
	}
	b.object = "" // the next change brings it back
	c.restarter.work(t.Context(), seenWorkload("bad", "1").ref)
	c.requirePanics(t, quarantine.Decision, 1, "")
}

func TestAWorkloadThatIsGoneIsNoLongerLeftAlone(t *testing.T) {
	c, _, _, _ := newBombedController(t, "would record", "deployment/ns/bad")
	bad := seenWorkload("bad", "1")
	c.intake.observeWorkload(bad)
	c.restarter.work(t.Context(), bad.ref)
	c.requirePanics(t, quarantine.Decision, 1, leftAlone)
	c.intake.forget(&observation{workload: bad})
	c.requirePanics(t, quarantine.Decision, 1, "")
}

func TestAChangeThatCannotBeQueuedDoesNotHoldUpTheOthers(t *testing.T) {
	c, _, _, _ := newBombedController(t, "change is due", "deployment/ns/bad")
	for _, name := range []string{"bad", "good"} {
		ref := seenWorkload(name, "1").ref
		c.due(observedChange{Workload: ref, Subject: ref})
	}
	if waiting := c.restarter.queue.Len(); waiting != 1 {
		t.Errorf("%d workloads wait, want 1", waiting)
	}
	c.requirePanics(t, quarantine.Queue, 1, leftAlone)
}

func TestAWorkloadThatCannotBeTakenInIsForgottenUntilItCan(t *testing.T) {
	c, _, recorder, _ := newBombedController(t, "", "")
	bad := seenWorkload("bad", "1")
	c.intake.observeWorkload(bad)
	c.restarter.backlogs.noteDue(bad.ref, false, time.Unix(0, 0))
	named := nameOfWorkload(bad.ref)
	named.ResourceVersion = "2"
	c.restarter.quarantine.Try(quarantine.Intake, named, func() { panic("canary") })
	c.requirePanics(t, quarantine.Intake, 1, leftAlone)
	due, waits := c.restarter.backlogs.state(bad.ref)
	if _, found := c.catalog.View(bad.ref); found || c.changes.Len() > 0 || due || waits {
		t.Error("it is still known")
	}
	if events := eventsOf(recorder); len(events) != 1 {
		t.Errorf("events: %q", events)
	}
	c.restarter.quarantine.Try(quarantine.Intake, quarantine.Object{Kind: named.Kind, Namespace: "ns", Name: "bad", ResourceVersion: "3"}, func() { c.intake.observeWorkload(bad) })
	c.requirePanics(t, quarantine.Intake, 1, "")
	if !c.changes.Holds(bad.ref, bad.ref) {
		t.Error("it is not decided about when it has changed")
	}
}

// The list is known by then, so that no later one brings the news again.
func TestTheChangesInAListAreQueuedExceptThoseThatPanic(t *testing.T) {
	c, _, _, _ := newBombedController(t, "workload changed", "deployment/ns/bad")
	bad, good := seenWorkload("bad", "1"), seenWorkload("good", "1")
	c.intake.listWorkloads(names.Deployment, "", []*observation{{workload: bad}, {workload: good}}, 0)
	if c.changes.Holds(bad.ref, bad.ref) || !c.changes.Holds(good.ref, good.ref) {
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
		g.restore(gate.Halt{ID: config.Name, Config: config, Content: "former"})
	}
	g.log = slog.New(&bomb{slog.NewTextHandler(io.Discard, nil), "restarts for a config are resumed", aConfig.String()})
	w.controller.halts.endHalts()
	if halts := g.activeHalts(); len(halts) > 0 {
		t.Errorf("there are still the halts %v", halts)
	}
	w.controller.requirePanics(t, quarantine.Delivery, 1, "[!] 1 object left alone")
}

func TestAWorkloadThatCannotBeJudgedDoesNotCountAsStale(t *testing.T) {
	c, _, _, _ := newBombedController(t, "", "")
	bad := seenWorkload("bad", "1")
	c.intake.observeWorkload(bad)
	c.board.resting.history = nil // so that judging panics
	if got := c.staleness.judge(bad.ref); got != fresh {
		t.Errorf("it is judged as %v", got)
	}
	c.requirePanics(t, quarantine.Metrics, 1, leftAlone)
}
