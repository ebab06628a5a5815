package show

import (
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// The workloads that are enabled, but that no config change restarts: those with too many references, those that cannot be
// restarted (see [optedin.Unusable]), and those that are left alone after an internal error.

// standingAlone returns how a workload is that is left alone, and false if it is not.
func (b *Board) standingAlone(ref names.WorkloadRef) (s tracker.Standing, isAlone bool) {
	s = tracker.Standing{Ref: ref, State: status.LeftAlone}
	w := b.Catalog.Workload(ref)
	unusable, isUnusable := b.Unusable.Known.Find(ref.Namespace, ref)
	broken, isBroken := b.Quarantine.Since(kinds.NameOfWorkload(ref), quarantine.Intake, quarantine.Queue, quarantine.Decision)
	switch {
	case w != nil && w.Excess != workload.NoExcess:
		began, _ := b.Resting.Unsettled.Find(ref.Namespace, ref)
		s.Since, s.AtLeast, s.By.Text = began.Since, began.AtLeast, strings.TrimPrefix(wording.TooManyReferences(w), status.NotRestarted)
	case isUnusable && unusable.Text == "": // too many of its namespace are
		s.By.Text = "it cannot be restarted, and its Event " + events.NotSupported + " says why"
	case isUnusable:
		s.Since, s.AtLeast, s.By.Text = unusable.Began.Since, unusable.Began.AtLeast, brief.Text(unusable.Text+". Change that, or restart the workload by hand")
	case isBroken:
		s.Since, s.By.Text = broken, "internal error: the controller tries again when the workload changes. Report the stack in its log, and restart the workload by hand"
	default:
		return tracker.Standing{}, false
	}
	return s, true
}

// addAlone adds the workloads that are left alone. A workload may be so for several reasons, and counts once.
func (b *Board) addAlone(l entryLists) {
	add := func(ref names.WorkloadRef) {
		if s, isAlone := b.standingAlone(ref); isAlone {
			l.of[status.LeftAlone].Add(s)
		}
	}
	for _, ref := range b.Resting.Unsettled.Those(l.namespace) {
		add(ref)
	}
	for _, ref := range b.Unusable.Known.Those(l.namespace) {
		if _, isKnown := b.Resting.Unsettled.Find(ref.Namespace, ref); !isKnown {
			add(ref)
		}
	}
	for _, o := range b.Quarantine.Objects() {
		ref, isWorkload := kinds.WorkloadIn(b.Kinds, o)
		_, isUnsettled := b.Resting.Unsettled.Find(ref.Namespace, ref)
		_, isUnusable := b.Unusable.Known.Find(ref.Namespace, ref)
		if isWorkload && notes.IsInside(l.namespace, o.Namespace) && !isUnsettled && !isUnusable {
			add(ref)
		}
	}
}

// explainUnknown explains a workload that the catalog does not have; nil if it is not left alone either.
func (b *Board) explainUnknown(ref names.WorkloadRef, now time.Time) *status.Workload {
	s, isAlone := b.standingAlone(ref)
	if !isAlone {
		return nil
	}
	return &status.Workload{
		Time: now.UTC(), Entry: b.entry(s), EnabledBy: b.OptIns.EnabledBy(ref), Reads: status.List[status.Seen]{Items: []status.Seen{}}, Holds: status.List[status.Hold]{Items: []status.Hold{}},
		Decision: status.Decision{Outcome: string(decide.Keep), Reason: "no config change restarts it"},
	}
}
