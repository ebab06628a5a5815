package workload

import (
	"math"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

// Method returns how the workload restarts.
func (o *Object) Method() policy.Method {
	if o.Policy == nil {
		return policy.ByTemplate
	}
	return o.Policy.Method
}

// AwaitsRollout reports whether the workload's owner has yet to roll out its present pod template, so that an
// evicted pod would come back from that template. It is false for workloads that do not restart by eviction. A workload
// that restarts by its own controller waits only while that does nothing: it replaces each pod by one of the same template.
func (o *Object) AwaitsRollout() bool {
	if o.RestartsItself() {
		return o.Rollout.OwnRestart == ReplacesNothing
	}
	return o.TemplateHold != NoHold && (!o.Rollout.Observed || o.Rollout.Outdated > 0)
}

// keepTemplate notes that the pod template is left alone. Whatever keeps a workload from rolling out another template
// does not keep it from replacing a pod.
func (o *Object) keepTemplate() {
	if o.Method() == policy.ByEviction {
		o.TemplateHold, o.Hold = o.Hold, NoHold
	}
}

// MethodHold returns why the restarts of a workload are held because of its method, empty if they are not.
// Only a controller with the flag --evict can evict, but any can leave it to the workload's own controller.
func (o *Object) MethodHold(canEvict bool) string {
	switch {
	case o.Method() == policy.NoMethod:
		return "the annotation " + annotation.MethodAnnotation + " cannot be read: " + o.Policy.Unread
	case o.RestartsItself() && o.AwaitsRollout():
		return "it is paused: Argo Rollouts replaces no pods before it is resumed"
	case o.RestartsItself():
		return ""
	case o.Method() == policy.ByEviction && o.Ref.Kind.IsCustom():
		return "workloads of its kind do not restart by eviction"
	case o.Method() == policy.ByEviction && !canEvict:
		return "it restarts by eviction, for which the controller needs the flag --evict"
	case !o.AwaitsRollout():
		return ""
	case o.TemplateHold == Paused:
		return "it is paused, and its pod template has changed: evicted pods would come back from an earlier template"
	}
	return "its pod template has changed and is not rolled out everywhere, and an eviction would roll it out"
}

// EvictionDelay is how long after the record nothing may be evicted: until the clock that dates the records is
// so far ahead that [record.LastRestart.IsEarlierPod] reports false for a new pod, even if the clock that dates the pod is
// behind by as much as clocks may differ, and shows whole seconds.
const EvictionDelay = 2*names.ClockTolerance + time.Second

// keepEvict keeps since when pods are evicted if another client removed the record. Otherwise an operator that does so at
// once would keep the restart from being carried out, and each new record would begin it anew. What it was for is not
// kept, so any config may hold it.
func (w *Workload) keepEvict(previous *Workload) {
	if w.RecordUndone && w.Method() != policy.ByTemplate && previous.Method() != policy.ByTemplate {
		w.Record.Evict = previous.Record.Evict
	}
}

// keepReplaced keeps that no pod was left for the record that the previous state had, too.
func (w *Workload) keepReplaced(previous *Workload) {
	if previous.Record.Trusted && previous.Record.Evict == 0 && previous.Record.IsSame(&w.Record) {
		w.Record.Evict = 0
	}
}

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

// clampedSeconds returns a time in seconds of Unix time, and the nearest possible value for other times.
func clampedSeconds(at time.Time) uint32 {
	return uint32(min(max(at.Unix(), 0), math.MaxUint32)) //nolint:gosec // it fits
}
