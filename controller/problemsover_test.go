//go:build !race

package controller

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// Otherwise the last word on a workload would be wrong for as long as Events are kept.
func TestTheLastEventOnAWorkloadSaysThatWhatWasWrongIsOver(t *testing.T) {
	for name, test := range map[string]struct {
		reason     string
		begin, end func(*world)
	}{
		"too many references": {
			events.TooMany, func(w *world) { w.runsWith("a/web", references("web", 10_001)) }, func(w *world) { w.runsWith("a/web", []string{"c"}) },
		},
		"a neighbour with too many": {
			events.TooMany, func(w *world) {
				w.runsWith("a/web", references("web", 9_990))
				for i := range 10 {
					w.runsWith(fmt.Sprint("a/other-", i), references("other", 9_900))
				}
			}, func(w *world) { w.removes("a/other-0") },
		},
		"a selector that is too long": {
			events.NotSupported, func(w *world) { w.selecting("a/web", 20_000) }, func(w *world) { w.selecting("a/web", 100) },
		},
		"a value that cannot be used": {
			events.Invalid, func(w *world) {
				w.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.GracePeriodAnnotation] = "soon" })
			}, func(w *world) {
				w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.GracePeriodAnnotation) })
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, optin.Rules{})
			w.readsAgain()
			recorder := record.NewFakeRecorder(1000)
			w.controller.recordOwn(recorder)
			w.controller.restarter.Events = recorder
			w.runsWith("a/web", []string{"c"})
			told := func(eventType string, want int) {
				t.Helper()
				settle(w)
				got := 0
				for _, e := range objecttest.EventsOf(recorder) {
					if strings.HasPrefix(e, eventType+" "+test.reason+" ") {
						got++
					} else if strings.Contains(e, " "+test.reason+" ") {
						t.Errorf("the Event %s", e)
					}
				}
				if got != want {
					t.Errorf("%d Events of the type %s, want %d", got, eventType, want)
				}
			}
			told("Normal", 0)
			test.begin(w)
			told("Warning", 1)
			test.end(w)
			told("Normal", 1)
			w.changed("a/web", wholeStatus)
			told("Normal", 0)
			test.begin(w)
			told("Warning", 1)
			w.removes("a/web")
			told("Normal", 0)
		})
	}
}
