package workload

import (
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// restartsItself is a workload whose own controller replaces its pods. The restart was recorded at noon, and the spec
// asks for a restart some seconds after that, or for none if they are 0.
func restartsItself(own OwnRestart, seconds int64) *Workload {
	w := &Workload{
		Object: Object{
			Ref:     names.WorkloadRef{Kind: "rollouts.argoproj.io", Namespace: "ns", Name: "web"},
			Policy:  &policy.WorkloadPolicy{Method: policy.ByEviction},
			Rollout: Rollout{Wanted: 2, Updated: 2, Available: 2, Observed: true, OwnRestart: own},
		},
		Record: record.Record{LastRestart: record.LastRestart{Evict: clampedSeconds(objecttest.Noon)}},
	}
	if seconds != 0 {
		w.RestartAt = clampedSeconds(objecttest.Noon.Add(time.Duration(seconds) * time.Second))
	}
	return w
}

// Argo Rollouts replaces the pods that were created before restartAt.
func TestTheDueRestartAtIsLaterThanTheEarlierPodsAndNoOthers(t *testing.T) {
	w := restartsItself(ReplacesPods, 0)
	due, isAsked := w.DueRestartAt()
	if isAsked {
		t.Error("the spec asks for nothing")
	}
	for seconds := -3; seconds < 6; seconds++ {
		created := objecttest.NoonPlus(float64(seconds))
		if got := created.Before(due); got != w.Record.IsEarlierPod(created) {
			t.Errorf("a pod of second %d is replaced: %t", seconds, got)
		}
	}
	if begins := objecttest.Noon.Add(EvictionDelay); due.After(begins) {
		t.Errorf("%v is still in the future when the evictions begin, at %v", due, begins)
	}
}

func TestALaterRestartAtIsNeverLowered(t *testing.T) {
	for name, test := range map[string]struct {
		own       OwnRestart
		at, due   int64
		isAsked   bool
		scheduled bool // 5 s after noon
	}{
		"none":                        {ReplacesPods, 0, 2, false, false},
		"an earlier one":              {ReplacesPods, -60, 2, false, false},
		"an earlier one that is over": {HasReplacedPods, -60, 2, false, false},
		"one that leaves a pod":       {ReplacesPods, 1, 2, false, false},
		"the due one":                 {ReplacesPods, 2, 2, true, false},
		"a later one":                 {ReplacesPods, 5, 5, true, false},
		"one that is scheduled":       {ReplacesPods, 600, 600, true, true},
		"one that ended too early":    {HasReplacedPods, 5, 6, false, false},
	} {
		w := restartsItself(test.own, test.at)
		due, isAsked := w.DueRestartAt()
		if want := objecttest.NoonPlus(float64(test.due)); !due.Equal(want) || isAsked != test.isAsked {
			t.Errorf("%s: %v is due, and asked for: %t; want %v", name, due, isAsked, want)
		}
		if due := objecttest.NoonPlus(float64(test.due)); w.LacksRestartAt(due) == isAsked {
			t.Errorf("%s: lacks what is due: %t", name, !isAsked)
		}
		if why := w.ScheduledRestart(objecttest.NoonPlus(5)); (why != "") != test.scheduled || test.scheduled && !strings.Contains(why, "2026-03-01T12:10:00Z") {
			t.Errorf("%s: %q", name, why)
		}
	}
	w := restartsItself(ReplacesPods, 0)
	w.RestartAt = clampedSeconds(time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC))
	if _, isAsked := w.DueRestartAt(); !isAsked || w.ScheduledRestart(objecttest.Noon) == "" {
		t.Error("a time that no clock shows counts as none")
	}
	if clampedSeconds(time.Time{}) != 0 {
		t.Error("no time counts as one")
	}
}
