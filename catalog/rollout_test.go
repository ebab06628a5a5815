package catalog

import (
	"testing"
	"time"
)

func TestAWorkloadIsWholeWithAllItsPodsOfThePresentTemplate(t *testing.T) {
	whole := Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true}
	for name, test := range map[string]struct {
		change func(*Rollout)
		want   bool
	}{
		"whole":                                {func(*Rollout) {}, true},
		"it wants none":                        {func(r *Rollout) { *r = Rollout{Observed: true} }, true},
		"more pods than wanted":                {func(r *Rollout) { r.Updated, r.Available = 4, 4 }, true},
		"the status is about another template": {func(r *Rollout) { r.Observed = false }, false},
		"a pod is missing":                     {func(r *Rollout) { r.Updated = 2 }, false},
		"a pod is not available":               {func(r *Rollout) { r.Available = 2 }, false},
		"an earlier pod is left":               {func(r *Rollout) { r.Outdated, r.Available = 1, 4 }, false},
	} {
		rollout := whole
		test.change(&rollout)
		if got := rollout.IsWhole(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestARecordSaysWhetherAllPodsRanBeforeTheRestart(t *testing.T) {
	for _, want := range []bool{true, false} {
		s := begin(deployment(readsAll("web", false)))
		s.listed(configMap("web", data{"a": "1"}))
		view, _ := s.catalog.View(deploymentRef("web"))
		setTimestamp(s.deployment, noonPlus(10).Format(time.RFC3339Nano))
		record := func(annotations map[string]string, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range annotations {
				s.deployment.Annotations[name] = value
			}
		}
		writeRecord(s.deployment, Decide(view).Checksums, noonPlus(10)) // for the ownership
		w := s.reduced()
		record(Decide(view).Checksums.Annotations(Basis{Template: w.Template, Key: testKey, Written: noonPlus(10), Timestamp: w.Timestamp, WasWhole: want}))
		s.catalog.ObserveWorkload(s.reduced())
		view, _ = s.catalog.View(deploymentRef("web"))
		if got := view.Workload.Applied.WasWhole; got != want {
			t.Errorf("it says %t, want %t", got, want)
		}
		annotations, _, err := view.Mark(noonPlus(20))
		record(annotations, err)
		if marked := s.reduced(); !marked.Applied.Marked || marked.Applied.WasWhole != want {
			t.Errorf("after a mark %+v, want %t", marked.Applied, want)
		}
	}
}
