package restart_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	catalogrecord "kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

func TestWhatIsWrongWithAWorkloadIsReportedOnceForEachReason(t *testing.T) {
	recorder, c := record.NewFakeRecorder(10), catalog.New()
	r := restart.NewRestarter(restart.Parts{
		Catalog: c, Gate: controllertest.OpenGate(c), Table: tracker.New(), Metrics: metrics.New(), Events: recorder, Grace: time.Second,
		Log: slog.New(slog.DiscardHandler), KnowsConfigs: func(string) bool { return true },
	}, nil)
	tooMany := workload.Workload{Object: workload.Object{Ref: objecttest.Web, UID: "1", Excess: workload.TooManyReferences}}
	var version string
	for i, test := range []struct {
		workload workload.Workload
		want     []string
	}{
		{tooMany, []string{"Warning " + events.TooMany}},
		{tooMany, nil},
		{workload.Workload{Object: workload.Object{Ref: objecttest.Web, UID: "1"}, Record: catalogrecord.Record{Trusted: true}}, []string{"Normal " + events.TooMany}},
		{workload.Workload{Object: workload.Object{Ref: objecttest.Web, UID: "1"}, Record: catalogrecord.Record{Trusted: true}}, nil},
		{tooMany, []string{"Warning " + events.TooMany}},
	} {
		version += "1"
		test.workload.ResourceVersion = version
		c.ObserveWorkload(test.workload)
		if err := r.Handle(t.Context(), objecttest.Web); err != nil {
			t.Fatal(err)
		}
		got := objecttest.EventsOf(recorder)
		if len(got) != len(test.want) {
			t.Errorf("step %d: events %q, want %q", i, got, test.want)
			continue
		}
		for j, want := range test.want {
			if !strings.HasPrefix(got[j], want+" ") {
				t.Errorf("step %d: event %q, want %s", i, got[j], want)
			}
		}
	}
	c.ForgetWorkload(objecttest.Web)
	if err := r.Handle(t.Context(), objecttest.Web); err != nil || r.Table.Of(objecttest.Web).Reported != nil {
		t.Errorf("what was reported about a deleted workload is kept: %v, %v", r.Table.Of(objecttest.Web).Reported, err)
	}
}
