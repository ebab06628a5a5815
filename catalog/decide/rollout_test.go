package decide

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestAWorkloadIsWholeWithAllItsPodsOfThePresentTemplate(t *testing.T) {
	whole := workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true}
	for name, test := range map[string]struct {
		change func(*workload.Rollout)
		want   bool
	}{
		"whole":                                {func(*workload.Rollout) {}, true},
		"it wants none":                        {func(r *workload.Rollout) { *r = workload.Rollout{Observed: true} }, true},
		"more pods than wanted":                {func(r *workload.Rollout) { r.Updated, r.Available = 4, 4 }, true},
		"the status is about another template": {func(r *workload.Rollout) { r.Observed = false }, false},
		"a pod is missing":                     {func(r *workload.Rollout) { r.Updated = 2 }, false},
		"a pod is not available":               {func(r *workload.Rollout) { r.Available = 2 }, false},
		"an earlier pod is left":               {func(r *workload.Rollout) { r.Outdated, r.Available = 1, 4 }, false},
	} {
		rollout := whole
		test.change(&rollout)
		if got := rollout.IsWhole(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestARestartIsJudgedByThePodsThatRunUnlessTheyAreBeingReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		rollout workload.Rollout
		want    record.Ran
	}{
		"all run":                      {workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true}, record.AllRan},
		"one lacks":                    {workload.Rollout{Wanted: 3, Updated: 3, Available: 2, Observed: true}, record.AllBut(1)},
		"one cannot be created":        {workload.Rollout{Wanted: 3, Updated: 2, Available: 2, Observed: true}, record.AllBut(1)},
		"none runs":                    {workload.Rollout{Wanted: 3, Updated: 3, Observed: true}, 0},
		"they are being replaced":      {workload.Rollout{Wanted: 3, Updated: 2, Outdated: 1, Available: 3, Observed: true}, 0},
		"nobody has seen the template": {workload.Rollout{Wanted: 3, Updated: 3, Available: 3}, 0},
		"very many are missing":        {workload.Rollout{Wanted: 100_001, Updated: 100_001, Available: 1, Observed: true}, 1},
	} {
		if got := test.rollout.Ran(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestARecordSaysHowManyPodsRanBeforeTheRestart(t *testing.T) {
	for _, want := range []record.Ran{record.AllRan, record.AllBut(2), 0} {
		s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
		s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		objecttest.SetTimestamp(s.deployment, objecttest.NoonPlus(10).Format(time.RFC3339Nano))
		applied := func(annotations map[string]string, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range annotations {
				s.deployment.Annotations[name] = value
			}
		}
		catalogtest.WriteRecord(s.deployment, Decide(view).Checksums, objecttest.NoonPlus(10)) // for the ownership
		w := s.reduced()
		applied(Decide(view).Checksums.Annotations(record.Basis{Template: w.Template, Key: catalogtest.TestKey, Written: objecttest.NoonPlus(10), Timestamp: w.Timestamp, Ran: want}))
		s.catalog.ObserveWorkload(s.reduced())
		view, _ = s.catalog.View(objecttest.DeploymentRef("web"))
		if got := view.Workload.Record.Ran; got != want {
			t.Errorf("it says %d, want %d", got, want)
		}
		annotations, _, err := Mark(&view, objecttest.NoonPlus(20), false)
		applied(annotations, err)
		if marked := s.reduced(); !marked.Record.Marked || marked.Record.Ran != want {
			t.Errorf("after a mark %+v, want %d", marked.Record, want)
		}
	}
}
