package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// eventsOf takes the Events on a config that wait to be created.
func (w *world) eventsOf(reason string) (messages []string) {
	for {
		due := w.controller.reports.Take()
		if len(due) == 0 {
			return messages
		}
		for _, e := range due {
			if e.Config == aConfig && e.Reason == reason {
				messages = append(messages, e.Message)
			}
		}
	}
}

// The former leader may have died before it created the Event, and its log may be gone with it.
func TestAHaltOfAFormerLeaderIsReportedAgainWithTheCommandThatEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		log, server := w.log(), &objecttest.HaltServer{}
		data := w.formerHalt(t)
		time.Sleep(time.Second)
		pass := w.takeOver(t, server, data)
		pass(time.Minute)
		events := w.eventsOf(events.Halted)
		if len(events) != 1 || !strings.Contains(events[0], "after deployment/web failed") || !strings.HasSuffix(events[0], "resume=former") {
			t.Errorf("the Events are %q", events)
		}
		if n := strings.Count(log.String(), "the restarts for a config are halted"); n != 1 {
			t.Errorf("%d lines of the log report it:\n%s", n, log)
		}
	})
}

// A group is no object, and has no owner of its own.
func TestAHaltOfAGroupIsReportedAgainOnACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		k := w.controller.halts
		k.HasGroups, k.KnowsAllConfigs = true, func() bool { return true }
		group := gate.GroupOf(aConfig.Kind, aConfig.Name)
		text, err := json.Marshal([]gate.HaltRecord{{
			ID: "former", Config: group.String(), Content: w.controller.catalog.ContentID(aConfig, nil),
			Failed: []string{"deployment/a/web", "deployment/b/web"}, Since: time.Now().UTC(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		pass := w.takeOver(t, &objecttest.HaltServer{}, map[string]string{gate.EntryOf(group.String()): string(text)})
		pass(time.Minute)
		events := w.eventsOf(events.Halted)
		if len(events) != 1 || !strings.HasPrefix(events[0], "halted in all namespaces since ") || !strings.Contains(events[0], "after workloads in several namespaces failed") {
			t.Errorf("the Events are %q", events)
		}
	})
}

// Events are gone after an hour.
func TestAHaltThatLastsIsReportedInEachHourUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		server := &objecttest.HaltServer{}
		pass := w.takeOver(t, server, nil)
		pass(time.Second)
		w.edited("a/c", "2")
		settle(w)
		w.fails(t, w.restarted()[0])
		pass(time.Minute)
		if events := w.eventsOf(events.Halted); len(events) != 1 {
			t.Errorf("after a minute, the Events are %q", events)
		}
		for hour := range 3 {
			if pass(time.Hour); len(w.eventsOf(events.Halted)) == 0 {
				t.Errorf("no Event in hour %d", hour+1)
			}
		}
		w.edited("a/c", "1")
		pass(3 * time.Hour)
		if events := w.eventsOf(events.Halted); len(events) > 0 {
			t.Errorf("after the halt, the Events are %q", events)
		}
	})
}
