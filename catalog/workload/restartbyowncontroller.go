package workload

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

// The controllers of some kinds replace the pods of a workload if its spec asks for that, and leave the pod template
// alone: Argo Rollouts does so by .spec.restartAt (https://argo-rollouts.readthedocs.io/en/stable/features/restart/). A
// restart by eviction of such a workload has the same record, and the same pods are left to replace. But instead of
// evicting them, it asks the workload's own controller to do so.

// OwnRestart says whether a workload's own controller replaces pods like this, and how that goes.
type OwnRestart uint8

// What the controller does.
const (
	// NoOwnRestart means that it does no such thing.
	NoOwnRestart OwnRestart = iota
	// ReplacesPods means that it replaces the pods that were created before [Object.RestartAt].
	ReplacesPods
	// HasReplacedPods means that it has ended that restart: no pods are left, or another pod template has come between.
	HasReplacedPods
	// ReplacesNothing means that it replaces no pods before a person lets it.
	ReplacesNothing
)

// RestartsItself reports whether a restart by eviction leaves it to the workload's own controller to replace the pods.
func (o *Object) RestartsItself() bool {
	return o.Method() == policy.ByEviction && o.Rollout.OwnRestart != NoOwnRestart
}

// DueRestartAt returns the .spec.restartAt that makes the workload's own controller replace the pods that are left, and
// whether the spec asks for that already. It is never earlier than what the spec has.
func (w *Workload) DueRestartAt() (due time.Time, isAsked bool) {
	began, _ := w.Record.EvictedAt()
	due, present := began.Add(names.ClockTolerance+time.Second), w.restartAt() // the first second of pods that are not earlier
	switch {
	case present.Before(due):
		return due, false
	case w.Rollout.OwnRestart == HasReplacedPods: // it does nothing twice for the same time
		return present.Add(time.Second), false
	}
	return present, true
}

// LacksRestartAt reports whether the spec asks for a restart at an earlier time than the given one, or for none.
func (o *Object) LacksRestartAt(at time.Time) bool { return o.restartAt().Before(at) }

// ScheduledRestart returns why a workload that restarts by its own controller does not yet: somebody has set a time that
// is yet to come. It is empty if nobody has.
func (o *Object) ScheduledRestart(now time.Time) string {
	at := o.restartAt()
	if !o.RestartsItself() || at.Sub(now) <= EvictionDelay {
		return ""
	}
	return "its .spec.restartAt is in the future, " + at.Format(time.RFC3339) + ": Argo Rollouts replaces no pods before"
}

func (o *Object) restartAt() time.Time { return time.Unix(int64(o.RestartAt), 0).UTC() }
