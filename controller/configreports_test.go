package controller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/fanout"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Anybody who may annotate a config can do that often.
func TestAHoldThatComesAndGoesIsReportedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("a/web-%d", i))
		}
		w := gradual(t, names...)
		events := record.NewFakeRecorder(1000)
		w.controller.restarter.Events = events
		w.edited("a/c", "2")
		settle(w)
		if first := w.restarted(); len(first) != 1 || len(events.Events) != 1 {
			t.Fatalf("%q restarted, %d Events", first, len(events.Events))
		}
		for i := range 10 { // for less than an hour
			if w.annotate("a/c", annotation.HoldAnnotation, "an incident"); i%2 == 1 {
				w.configMaps["a/c"].Annotations = nil
			}
			w.show("configmaps", w.configMaps["a/c"])
			time.Sleep(tracker.LongestWait) // until they ask again
			settle(w)
		}
		if caused := len(events.Events) - 1; caused != 3*2*(len(names)-1) { // after 0, 5 and 20 minutes
			t.Errorf("five holds caused %d Events on %d workloads that wait", caused, len(names)-1)
		}
	})
}

func TestAHoldIsReportedAtOnceOnWorkloadsThatWaitForSomethingElse(t *testing.T) {
	for name, hold := range map[string]func(*world){
		"of a config": func(w *world) {
			w.annotate("a/c", annotation.HoldAnnotation, "an incident")
			w.show("configmaps", w.configMaps["a/c"])
		},
		"of everything": func(w *world) { w.controller.halts.TakeIn(map[string]string{gate.HoldEntry: "an incident"}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := gradual(t, "a/web", "a/other")
			events := record.NewFakeRecorder(10)
			w.edited("a/c", "2")
			settle(w)
			w.controller.restarter.Events = events
			hold(w)
			settle(w)
			if held := w.controller.gate.Ledger.Waiting()[gate.Hold]; held != 1 || len(events.Events) != 1 {
				t.Errorf("%d workloads are known to be held, and there are %d Events", held, len(events.Events))
			}
		})
	}
}

func TestTheEventsOnTheConfigsOfANamespaceLeaveThoseOfOthersTheirTurn(t *testing.T) {
	w := gradual(t)
	log := w.log()
	reports := w.controller.reports
	inNamespace := func(namespace string, i int) names.ConfigRef {
		return names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: fmt.Sprint(i)}
	}
	for i := range 10 * gatekeeper.MaxReportsOf {
		reports.Note(inNamespace("hostile", i), corev1.EventTypeWarning, events.NotDelivered, "failed")
	}
	reports.Note(inNamespace("other", 1), corev1.EventTypeWarning, events.NotDelivered, "failed")
	if dropped := strings.Count(log.String(), "dropping some"); dropped != 1 || reports.Waiting.Len() != gatekeeper.MaxReportsOf+1 {
		t.Errorf("%d Events wait, and the log reports %d times that others were dropped", reports.Waiting.Len(), dropped)
	}
	taken := make(map[string]int)
	for _, e := range reports.Take() {
		taken[e.Config.Namespace]++
	}
	if taken["hostile"] != gatekeeper.ReportsOfNamespace || taken["other"] != 1 {
		t.Errorf("the first Events are of %v", taken)
	}
	for len(reports.Take()) > 0 {
	}
	if left := reports.Waiting.Len(); left > 0 {
		t.Errorf("%d Events are never taken", left)
	}
}

func TestTheLastWordOnAFanOutIsThatNothingOfItIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one")
		told := func(content string) []string {
			w.edited("a/c", content)
			time.Sleep(time.Second)
			settle(w)
			w.controller.reports.LookAtFanOuts(time.Now())
			return w.eventsOf(events.FanOut)
		}
		w.changed("a/one", holdIt)
		if events := told("2"); len(events) != 1 || !strings.HasSuffix(events[0], ": 0 of 1 delivered, 0 rolling, 1 waiting") {
			t.Fatalf("while it is held: %q", events)
		}
		if events := told("3"); slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "ended") }) {
			t.Errorf("while another content is held: %q", events)
		}
		time.Sleep(fanout.ProgressPeriod)
		told("3")
		if events := told("1"); !slices.Equal(events, []string{"ended: no restart for it is due or under way any more"}) {
			t.Errorf("when none is due any more: %q", events)
		}
		if events := told("1"); len(events) > 0 {
			t.Errorf("again: %q", events)
		}
	})
}

// What restarted before an edit that is taken back did not restart for it.
func TestAFanOutOfAContentThatIsTakenBackDoesNotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := gradual(t, "a/one", "a/two"), time.Now()
		w.edited("a/c", "2")
		settle(w)
		w.controller.reports.LookAtFanOuts(time.Now())
		for range 2 {
			w.delivers(t, "a/one")
			w.delivers(t, "a/two")
		}
		w.refuse, w.refusedWith = http.StatusForbidden, "refused"
		time.Sleep(time.Second)
		w.edited("a/c", "3")
		settle(w)
		w.controller.reports.LookAtFanOuts(time.Now())
		w.controller.reports.NoteUnfinished(aConfig, began) // as if a former leader had restarted them
		w.edited("a/c", "2")
		time.Sleep(time.Minute)
		settle(w)
		w.controller.reports.LookAtFanOuts(time.Now())
		events := w.eventsOf(events.FanOut)
		if last := events[len(events)-1]; last != "ended: no restart for it is due or under way any more" {
			t.Errorf("%q", events)
		}
	})
}

// A leader that is new tells the end, because the former one may not have.
func TestAFanOutDoesNotFinishWhileOneThatFailedMayRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two")
		began := time.Now()
		w.edited("a/c", "2")
		settle(w)
		first := w.restarted()[0]
		w.fails(t, first)
		w.controller.reports.LookAtFanOuts(time.Now())
		w.eventsOf(events.FanOut)
		w.changed(first, wholeStatus)
		w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(first))
		w.controller.reports.NoteUnfinished(aConfig, began)
		w.controller.gate.Reset() // nothing is under way any more
		w.controller.reports.LookAtFanOuts(time.Now())
		if events := w.eventsOf(events.FanOut); len(events) > 0 {
			t.Errorf("before it has recovered: %q", events)
		}
		time.Sleep(time.Minute)
		w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(first))
		w.controller.reports.LookAtFanOuts(time.Now())
		if events := w.eventsOf(events.FanOut); !slices.Equal(events, []string{"ended: no restart for it is under way any more; 1 not restarted; at least 1 delivered"}) {
			t.Errorf("in the end: %q", events)
		}
	})
}

// The last edit is of a key that none of them reads.
func TestAFanOutFinishesWhateverItsReadersCannotSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.runs("a/web", map[string]string{annotation.IgnoreAnnotation: "configmap/c:other"}, "c")
		settle(w)
		began := time.Now()
		w.edited("a/c", "2")
		settle(w)
		w.delivers(t, "a/web")
		w.configMaps["a/c"] = w.configMaps["a/c"].DeepCopy()
		w.configMaps["a/c"].Data["other"] = "x"
		w.show("configmaps", w.configMaps["a/c"])
		settle(w)
		w.eventsOf(events.FanOut)
		w.controller.reports.NoteUnfinished(aConfig, began)
		w.controller.reports.LookAtFanOuts(time.Now())
		if events := w.eventsOf(events.FanOut); !slices.Equal(events, []string{"finished: at least 1 delivered"}) {
			t.Errorf("%q", events)
		}
	})
}

// An operator ignores that a policy refuses the restart.
func TestAFanOutWhoseOtherRestartIsRefusedDoesNotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two")
		w.controller.restarter.IgnoredErrors = []string{"refused"}
		w.edited("a/c", "2")
		settle(w)
		w.controller.reports.LookAtFanOuts(time.Now())
		first := w.restarted()[0]
		w.refuse, w.refusedWith = http.StatusForbidden, "refused"
		w.delivers(t, first)
		w.controller.reports.LookAtFanOuts(time.Now())
		events := w.eventsOf(events.FanOut)
		if last := events[len(events)-1]; last != "ended: no restart for it is under way any more; 1 not restarted; at least 1 delivered" {
			t.Errorf("%q", events)
		}
	})
}

func TestAFinishedFanOutCountsThoseThatAFormerLeaderRestarted(t *testing.T) {
	w := gradual(t)
	for want, p := range map[string]gate.Progress{
		"finished: 4 delivered in 1m0s":                                    {Proven: 4, Delivered: 4},
		"finished: 4 delivered in at least 1m0s":                           {Proven: 4, Delivered: 4},
		"finished: 3 delivered; 1 more ran with it before":                 {Proven: 4, Delivered: 3},
		"finished: 4 delivered in 1m0s; 2 more of which no pod ran before": {Proven: 4, Delivered: 4, Mended: 2},
	} {
		p.FanOut.Config, p.Since = aConfig, time.Now().Add(-time.Minute)
		w.controller.gate.Began = time.Now().Add(-time.Hour)
		if strings.Contains(want, "at least") {
			w.controller.gate.Began = p.Since // it found that no watch had shown the edit
		}
		w.controller.reports.ReportFinished(&p, time.Now())
		if events := w.eventsOf(events.FanOut); !slices.Equal(events, []string{want}) {
			t.Errorf("%q, want %q", events, want)
		}
	}
}

// Events are gone after an hour.
func TestAHoldThatLastsIsReportedInEachHourUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		events := record.NewFakeRecorder(100)
		w.controller.restarter.Events = events
		w.annotate("a/c", annotation.HoldAnnotation, "an incident")
		w.configMaps["a/c"].Data["k"] = "2"
		w.show("configmaps", w.configMaps["a/c"])
		for hour := range 3 {
			for range int(time.Hour / tracker.LongestWait) { // until it asks again
				settle(w)
				time.Sleep(tracker.LongestWait)
			}
			reported := objecttest.EventsOf(events)
			if len(reported) < 1 || len(reported) > 2 || !strings.Contains(reported[0], "RestartHeld restart is held: the configmap/c is held: an incident") {
				t.Errorf("the Events of hour %d are %q", hour+1, reported)
			}
		}
		w.configMaps["a/c"].Annotations = nil
		w.show("configmaps", w.configMaps["a/c"])
		settle(w)
		if reported := objecttest.EventsOf(events); len(reported) != 2 || !strings.Contains(reported[0], "no longer held by a hold") || !strings.Contains(reported[1], "Restarting") {
			t.Errorf("after the hold, the Events are %q", reported)
		}
	})
}

// A look is outside of what the workers do, and would end the process.
func TestAnEndOfAFanOutThatPanicsKeepsNoOthersFromBeingReported(t *testing.T) {
	w := gradual(t, "a/web")
	r := w.controller.reports
	w.edited("a/without-readers", "1")
	r.NoteUnfinished(aConfig, time.Now())
	r.NoteUnfinished(names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "without-readers"}, time.Now())
	r.IsUndecided = func(ref names.WorkloadRef) bool { panic(ref) }
	r.LookAtFanOuts(time.Now())
	w.controller.requirePanics(t, quarantine.Delivery, 1, "configmap/a/c")
	if due := r.Take(); len(due) != 1 || due[0].Config.Name != "without-readers" {
		t.Errorf("%v is reported", due)
	}
	if len(r.Unfinished) > 0 {
		t.Errorf("%v would panic again", r.Unfinished)
	}
}

// One that loses its last word, or waits for the Events of others, would seem to be under way for as long as Events are kept.
// Each reader may read very many keys by filters that take long, and all Events on configs wait.
func TestTheEndOfAFanOutIsToldWithoutCountsIfCountingTakesTooLong(t *testing.T) {
	w := gradual(t, "a/web")
	r := w.controller.reports
	r.Limit = -1
	r.NoteUnfinished(aConfig, time.Now())
	r.LookAtFanOuts(time.Now())
	if events := w.eventsOf(events.FanOut); len(events) != 1 || events[0] != "ended: no restart for it is under way any more; at least 0 delivered, not all were counted because that takes long" {
		t.Errorf("%q", events)
	}
}

// After a takeover, the ends of very many fan-outs may have to be told.
func TestTheEndsOfVeryManyFanOutsDelayNoHalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		log := w.log()
		r := w.controller.reports
		for i := range 60 {
			for j := range 40 {
				name := fmt.Sprintf("ns%d/c%d", i, j)
				w.edited(name, "1")
				r.NoteUnfinished(names.ConfigRef{Kind: names.ConfigMap, Namespace: fmt.Sprint("ns", i), Name: fmt.Sprint("c", j)}, time.Now())
			}
		}
		settle(w)
		for range 30 {
			r.LookAtFanOuts(time.Now())
			r.Take()
		}
		r.LookAtFanOuts(time.Now())
		for _, namespace := range []string{"quiet", "ns0"} {
			if !r.Note(names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: "c"}, corev1.EventTypeWarning, events.Halted, "halted") {
				t.Errorf("no room for the halt of %s", namespace)
			}
		}
		told := make(map[string]int)
		for look := 1; len(told) < 2 && look < 100; look++ {
			for _, e := range r.Take() {
				if e.Reason == events.Halted {
					told[e.Config.Namespace] = look
				}
			}
			r.LookAtFanOuts(time.Now())
		}
		if told["quiet"] > 4 || told["ns0"] > 16 { // three looks for a turn of each namespace, and ns0 has four ends before
			t.Errorf("the halts are told at the looks %v", told)
		}
		if strings.Contains(log.String(), "dropping some") {
			t.Errorf("an end that waits is no Event that is dropped:\n%.300s", log)
		}
	})
}

func TestTheEndOfAFanOutIsToldHoweverManyEventsOthersCause(t *testing.T) {
	r := newWorld(t).controller.reports
	ref := func(namespace, name string) names.ConfigRef {
		return names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: name}
	}
	fill := func(namespace string, recorder int) {
		for i := range recorder {
			r.Note(ref(namespace, fmt.Sprint("c", i)), corev1.EventTypeWarning, events.NotDelivered, "it failed")
		}
	}
	fill("a", gatekeeper.MaxReportsOf)
	r.NoteUnfinished(ref("b", "ended"), time.Now())
	r.ReportFinished(&gate.Progress{FanOut: gate.FanOut{Config: ref("a", "finished"), Moment: 1}, Delivered: 3, Proven: 3}, time.Now())
	if _, isRemembered := r.Unfinished[ref("a", "finished")]; !isRemembered {
		t.Error("an end for which there is no room is forgotten")
	}
	for range 3 { // looks
		r.LookAtFanOuts(time.Now())
		r.Take()
		fill("a", gatekeeper.ReportsOfNamespace)
	}
	if _, isLeft := r.Unfinished[ref("b", "ended")]; isLeft {
		t.Error("the end of a fan-out waits for the Events of another namespace")
	}
	for i := range gatekeeper.MaxReports/gatekeeper.MaxReportsOf + 1 {
		fill(fmt.Sprint("many-", i), gatekeeper.MaxReportsOf)
	}
	if !r.Note(ref("late", "c"), corev1.EventTypeWarning, events.Halted, "halted") {
		t.Error("the only Event of a namespace is dropped")
	}
}

// Whoever forges records, or deletes configs whose Events wait, can begin as many as they like.
func TestOnlySoManyFanOutsOfANamespaceAreRememberedAndNoneOfAConfigThatIsGone(t *testing.T) {
	w := gradual(t, "a/web")
	r := w.controller.reports
	for i := range 2 * gatekeeper.MaxUnfinished {
		r.NoteUnfinished(names.ConfigRef{Kind: names.ConfigMap, Namespace: "hostile", Name: fmt.Sprint(i)}, time.Now())
	}
	r.NoteUnfinished(aConfig, time.Now())
	if len(r.Unfinished) != gatekeeper.MaxUnfinished+1 {
		t.Errorf("%d fan-outs are remembered", len(r.Unfinished))
	}
	r.IsUndecided = func(names.WorkloadRef) bool { return true }
	r.LookAtFanOuts(time.Now())
	if _, isLeft := r.Unfinished[aConfig]; !isLeft || len(r.Unfinished) != 1 || len(r.UnfinishedOf) != 1 {
		t.Errorf("%d fan-outs are remembered, by namespace: %v", len(r.Unfinished), r.UnfinishedOf)
	}
}

// Each reader may take long, and may read it through a filter of its own.
func TestManyFanOutsWhoseEndsTakeLongDoNotHoldUpThoseOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "b/web")
		r := w.controller.reports
		r.Limit = 0 // time for one
		r.IsUndecided = func(names.WorkloadRef) bool { return false }
		w.edited("b/c", "1")
		for i := range 100 {
			w.edited(fmt.Sprint("a/", i), "1")
			r.NoteUnfinished(names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: fmt.Sprint(i)}, time.Now())
		}
		r.LookAtFanOuts(time.Now())
		r.Take()
		for round := range 10 {
			r.NoteUnfinished(names.ConfigRef{Kind: names.ConfigMap, Namespace: "b", Name: "c"}, time.Now())
			var told []string
			for range 2 {
				r.LookAtFanOuts(time.Now())
				for _, e := range r.Take() {
					told = append(told, e.Config.Namespace)
				}
			}
			slices.Sort(told)
			if !slices.Equal(told, []string{"a", "b"}) {
				t.Errorf("in round %d, the ends are told of %v", round, told)
			}
		}
		for range 200 {
			r.LookAtFanOuts(time.Now())
			r.Take()
		}
		if len(r.Unfinished) > 0 || len(r.UsedUp) > 1 {
			t.Errorf("%d are left, and %v", len(r.Unfinished), r.UsedUp)
		}
	})
}
