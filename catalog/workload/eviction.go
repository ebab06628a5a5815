package workload

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// Method returns how the workload restarts.
func (w *Workload) Method() policy.Method {
	if w.Policy == nil {
		return policy.ByTemplate
	}
	return w.Policy.Method
}

// AwaitsRollout reports whether the workload's owner has yet to roll out its present pod template, so that an
// evicted pod would come back from that template. It is false for workloads that do not restart by eviction. A workload
// that restarts by its own controller waits only while that does nothing: it replaces each pod by one of the same template.
func (w *Workload) AwaitsRollout() bool {
	if w.RestartsItself() {
		return w.Rollout.OwnRestart == ReplacesNothing
	}
	return w.TemplateHold != NoHold && (!w.Rollout.Observed || w.Rollout.Outdated > 0)
}

// keepTemplate notes that the pod template is left alone. Whatever keeps a workload from rolling out another template
// does not keep it from replacing a pod.
func (w *Workload) keepTemplate() {
	if w.Method() == policy.ByEviction {
		w.TemplateHold, w.Hold = w.Hold, NoHold
	}
}

// MethodHold returns why the restarts of a workload are held because of its method, empty if they are not.
// Only a controller with the flag --evict can evict, but any can leave it to the workload's own controller.
func (w *Workload) MethodHold(canEvict bool) string {
	switch {
	case w.Method() == policy.NoMethod:
		return "the annotation " + annotation.MethodAnnotation + " cannot be read: " + w.Policy.Unread
	case w.RestartsItself() && w.AwaitsRollout():
		return "it is paused: Argo Rollouts replaces no pods before it is resumed"
	case w.RestartsItself():
		return ""
	case w.Method() == policy.ByEviction && w.Ref.Kind.IsCustom():
		return "workloads of its kind do not restart by eviction"
	case w.Method() == policy.ByEviction && !canEvict:
		return "it restarts by eviction, for which the controller needs the flag --evict"
	case !w.AwaitsRollout():
		return ""
	case w.TemplateHold == Paused:
		return "it is paused, and its pod template has changed: evicted pods would come back from an earlier template"
	}
	return "its pod template has changed and is not rolled out everywhere, and an eviction would roll it out"
}

// EvictMember returns the member of the basis for a write that is no restart.
func (w *Workload) EvictMember() string {
	if at, evicts := w.EvictedAt(); evicts {
		return at.Format(record.EvictLayout)
	}
	return ""
}

// readEvict returns when a restart by eviction began, if a trusted record says that it did; otherwise 0.
func readEvict(meta *metav1.ObjectMeta, owned *annotation.Ownership, applied *record.AppliedState) uint32 {
	encoded := meta.Annotations[annotation.BasisAnnotation]
	if !applied.Trusted || !strings.Contains(encoded, `"evict":`) {
		return 0
	}
	var b record.Encoded
	if json.Unmarshal([]byte(encoded), &b) != nil {
		return 0
	}
	if b.Evict == record.EvictNow {
		return names.UnixSeconds(owned.WroteAt(annotation.BasisAnnotation))
	}
	at, err := time.Parse(record.EvictLayout, b.Evict)
	if err != nil {
		return 0
	}
	return names.UnixSeconds(at)
}

// EvictedAt returns when a restart by eviction began from before which there may be pods, and false if there is none.
func (w *Workload) EvictedAt() (time.Time, bool) {
	return time.Unix(int64(w.Evict), 0).UTC(), w.Evict > 0
}

// IsEarlierPod reports whether a pod that was created at the given time is from before the restart by eviction.
// Several API servers may date the record and the pod, in whole seconds. If in doubt, the pod is earlier. So the
// evictions must begin only when new pods are no longer in doubt; see [EvictionDelay].
func (w *Workload) IsEarlierPod(created time.Time) bool {
	at, evicts := w.EvictedAt()
	return evicts && created.Sub(at) <= names.ClockTolerance
}

// EvictionDelay is how long after the record nothing may be evicted: until the clock that dates the records is
// so far ahead that [Workload.IsEarlierPod] reports false for a new pod, even if the clock that dates the pod is
// behind by as much as clocks may differ, and shows whole seconds.
const EvictionDelay = 2*names.ClockTolerance + time.Second

// ChangedMethod reports whether a restart by eviction was not over, as far as is known, when the workload came to
// restart by its pod template again.
func (w *Workload) ChangedMethod() bool {
	return w.Evict > 0 && w.Method() == policy.ByTemplate
}

// keepEvict keeps since when pods are evicted if another client removed the record. Otherwise an operator that does so at
// once would keep the restart from being carried out, and each new record would begin it anew. What it was for is not
// kept, so any config may hold it.
func (w *Workload) keepEvict(previous *Workload) {
	if w.RecordUndone && w.Method() != policy.ByTemplate && previous.Method() != policy.ByTemplate {
		w.Evict = previous.Evict
	}
}

// keepReplaced keeps that no pod was left for the record that the previous state had, too.
func (w *Workload) keepReplaced(previous *Workload) {
	if previous.Applied.Trusted && previous.Evict == 0 && previous.Applied.IsSame(&w.Applied) {
		w.Evict = 0
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
	// ReplacesPods means that it replaces the pods that were created before [Workload.RestartAt].
	ReplacesPods
	// HasReplacedPods means that it has ended that restart: no pods are left, or another pod template has come between.
	HasReplacedPods
	// ReplacesNothing means that it replaces no pods before a person lets it.
	ReplacesNothing
)

// RestartsItself reports whether a restart by eviction leaves it to the workload's own controller to replace the pods.
func (w *Workload) RestartsItself() bool {
	return w.Method() == policy.ByEviction && w.Rollout.OwnRestart != NoOwnRestart
}

// DueRestartAt returns the .spec.restartAt that makes the workload's own controller replace the pods that are left, and
// whether the spec asks for that already. It is never earlier than what the spec has.
func (w *Workload) DueRestartAt() (due time.Time, isAsked bool) {
	began, _ := w.EvictedAt()
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
func (w *Workload) LacksRestartAt(at time.Time) bool { return w.restartAt().Before(at) }

// ScheduledRestart returns why a workload that restarts by its own controller does not yet: somebody has set a time that
// is yet to come. It is empty if nobody has.
func (w *Workload) ScheduledRestart(now time.Time) string {
	at := w.restartAt()
	if !w.RestartsItself() || at.Sub(now) <= EvictionDelay {
		return ""
	}
	return "its .spec.restartAt is in the future, " + at.Format(time.RFC3339) + ": Argo Rollouts replaces no pods before"
}

func (w *Workload) restartAt() time.Time { return time.Unix(int64(w.RestartAt), 0).UTC() }

// clampedSeconds returns a time in seconds of Unix time, and the nearest possible value for other times.
func clampedSeconds(at time.Time) uint32 {
	return uint32(min(max(at.Unix(), 0), math.MaxUint32)) //nolint:gosec // it fits
}
