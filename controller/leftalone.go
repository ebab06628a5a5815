package controller

import (
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// The workloads that are enabled, but that no config change restarts: those with too many references, those that cannot be
// restarted (see [Controller.noteUnusable]), and those that are left alone after an internal error.

// standingAlone returns how a workload is that is left alone, and false if it is not.
func (b *board) standingAlone(ref names.WorkloadRef) (s standing, isAlone bool) {
	s = standing{ref: ref, state: status.LeftAlone}
	w := b.catalog.Workload(ref)
	unusable, isUnusable := b.unusable.known.find(ref.Namespace, ref)
	broken, isBroken := b.quarantine.Since(nameOfWorkload(ref), quarantine.Intake, quarantine.Queue, quarantine.Decision)
	switch {
	case w != nil && w.Excess != workload.NoExcess:
		began, _ := b.resting.unsettled.find(ref.Namespace, ref)
		s.since, s.atLeast, s.by.text = began.Since, began.AtLeast, strings.TrimPrefix(tooManyReferences(w), status.NotRestarted)
	case isUnusable && unusable.text == "": // too many of its namespace are
		s.by.text = "it cannot be restarted, and its Event " + reasonNotSupported + " says why"
	case isUnusable:
		s.since, s.atLeast, s.by.text = unusable.began.Since, unusable.began.AtLeast, brief.Text(unusable.text+". Change that, or restart the workload by hand")
	case isBroken:
		s.since, s.by.text = broken, "internal error: the controller tries again when the workload changes. Report the stack in its log, and restart the workload by hand"
	default:
		return standing{}, false
	}
	return s, true
}

// addAlone adds the workloads that are left alone. A workload may be so for several reasons, and counts once.
func (b *board) addAlone(l entryLists) {
	add := func(ref names.WorkloadRef) {
		if s, isAlone := b.standingAlone(ref); isAlone {
			l.of[status.LeftAlone].Add(s)
		}
	}
	for _, ref := range b.resting.unsettled.those(l.namespace) {
		add(ref)
	}
	for _, ref := range b.unusable.known.those(l.namespace) {
		if _, isKnown := b.resting.unsettled.find(ref.Namespace, ref); !isKnown {
			add(ref)
		}
	}
	for _, o := range b.quarantine.Objects() {
		ref, isWorkload := workloadIn(b.kinds, o)
		_, isUnsettled := b.resting.unsettled.find(ref.Namespace, ref)
		_, isUnusable := b.unusable.known.find(ref.Namespace, ref)
		if isWorkload && isInside(l.namespace, o.Namespace) && !isUnsettled && !isUnusable {
			add(ref)
		}
	}
}

// explainUnknown explains a workload that the catalog does not have; nil if it is not left alone either.
func (b *board) explainUnknown(ref names.WorkloadRef, now time.Time) *status.Workload {
	s, isAlone := b.standingAlone(ref)
	if !isAlone {
		return nil
	}
	return &status.Workload{
		Time: now.UTC(), Entry: b.entry(s), EnabledBy: b.optIns.enabledBy(ref), Reads: status.List[status.Seen]{Items: []status.Seen{}}, Holds: status.List[status.Hold]{Items: []status.Hold{}},
		Decision: status.Decision{Outcome: string(decide.Keep), Reason: "no config change restarts it"},
	}
}
