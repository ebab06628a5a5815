package workload

import (
	"maps"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Timeline is what this process remembers of a workload and its record, and when its watch showed it. No object has it,
// and another process does not know it. A [catalog.Catalog] sets it.
type Timeline struct {
	// OwnRecord means that the present record was decided on a view of the catalog, which
	// therefore knew what the record says.
	OwnRecord bool
	// RecordUndone means that the record was trusted for the present template before, apart from
	// restarts, and that another client removed or replaced it.
	RecordUndone bool
	// EnabledSeen is the moment at which the watch first showed the workload as opted in, and
	// EnabledAfter is a moment until which it had not opted in: before the same event, or before
	// the list that followed a gap; 0 if it had opted in before the catalog watched.
	EnabledAfter, EnabledSeen names.Sequence
	// PodTemplateSeen is the moment at which the watch first showed the present pod template, 0 if
	// only a list showed it.
	PodTemplateSeen names.Sequence
	// RecordSeen is the moment of the decision on the present record, or of the first observation
	// of it.
	RecordSeen names.Sequence
	// PodsSeen is the moment at which the pods of the present template were last found to have the
	// recorded content, since the record; 0 if they were not.
	PodsSeen names.Sequence
	// Woke is the moment at which the watch showed that the workload, idle before, wants pods
	// again, or that a Deployment runs its own template again after a fall-back; 0 if it never showed that.
	Woke names.Sequence
}

// LastRight returns the moment at which the pods were last known to have, or to be about to get,
// the recorded content.
func (t *Timeline) LastRight() names.Sequence { return max(t.RecordSeen, t.PodsSeen) }

// ContradictedSince returns [record.Contradiction.Contradicted] if it matters to the pods of the present
// template. It does not matter if they were found to be up to date since then, unless the record
// itself is marked.
func (w *Workload) ContradictedSince() time.Time {
	if isVerified := w.PodsSeen > 0; isVerified && !w.Record.Marked {
		return time.Time{}
	}
	return w.Record.Contradicted
}

// IsProof reports whether the workload runs what its record says, with as many pods as it ran with before.
func (w *Workload) IsProof() bool {
	return w.Record.Trusted && w.Record.Reverted == nil && !w.Idle && !w.Hold.HoldsAll() && !w.Deleting && w.Rollout.Runs(w.Record.Ran.Of(w.Rollout.Wanted)) && w.Record.Evict == 0
}

// Succeed takes over what the catalog knew about the previous state of the workload, at the
// given moment.
func (w *Workload) Succeed(previous *Workload, moment names.Sequence) {
	w.EnabledAfter, w.EnabledSeen, w.Woke = previous.EnabledAfter, previous.EnabledSeen, previous.Woke
	if previous.Idle && !w.Idle || previous.IsFallenBack() && !w.IsFallenBack() {
		w.Woke = moment
	}
	if !w.Record.Trusted {
		w.Record.Reverted = revertSince(previous, w)
		w.RecordUndone = previous.Template == w.Template && (previous.Record.Trusted || previous.RecordUndone)
		w.keepBudget(previous)
		w.keepSince(previous)
		w.keepEvict(previous)
	}
	if previous.PodTemplate == w.PodTemplate {
		w.PodTemplateSeen = previous.PodTemplateSeen
		// A write of annotations makes a new generation of a Deployment, and the status is still about its pods.
		w.Rollout.Observed = w.Rollout.Observed || previous.Rollout.Observed
	}
	if previous.Record.SaysTheSame(w.Record) || previous.Record.IsSame(&w.Record) {
		w.RecordSeen = previous.RecordSeen
		w.keepReplaced(previous)
		w.keepKnown(previous)
	}
}

// keepKnown keeps what was known about the previous state, which had the same record.
func (w *Workload) keepKnown(previous *Workload) {
	if !previous.Record.Written.Equal(w.Record.Written) {
		return
	}
	w.OwnRecord = previous.OwnRecord
	if w.PodTemplate == previous.PodTemplate {
		w.PodsSeen = previous.PodsSeen
		w.Record.MarkOwn = previous.Record.MarkOwn && w.Filter() == previous.Filter() // otherwise pasts may be forgotten
	}
	if !w.Record.Marked {
		w.Record.Contradicted, w.Record.Unseen = previous.Record.Contradicted, previous.Record.Unseen
	}
}

// keepBudget keeps the used restarts if another client undid the record, with or without a restart.
// Otherwise the controller would fight at full speed against anyone who keeps replacing the
// whole workload.
func (w *Workload) keepBudget(previous *Workload) {
	if (w.Record.Reverted != nil || w.RecordUndone) && w.Record.Budget == (policy.Budget{}) {
		w.Record.Budget = previous.Record.Budget
	}
}

// keepSince keeps since when rotations matter if another client removed the record.
func (w *Workload) keepSince(previous *Workload) {
	var kept record.Checksums
	for ref, since := range previous.Record.Checksums {
		if _, found := w.Record.Checksums[ref]; found || !ref.Kind.IsPerPod() || len(template.ReferencesTo(w.References, ref)) == 0 {
			continue
		}
		if kept == nil {
			kept = maps.Clone(w.Record.Checksums)
		}
		if kept == nil {
			kept = make(record.Checksums)
		}
		kept[ref] = since
	}
	if kept != nil {
		w.Record.Checksums = kept
	}
}

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

// revertSince returns the revert of a workload whose record is not trusted, if the catalog knew
// a trusted record before: taking back the restart replaced the annotations too, as kubectl
// rollout undo does. It returns nil if there is no revert.
func revertSince(previous, present *Workload) *record.Revert {
	known := previous.Record.Reverted
	if known == nil && previous.Record.Trusted && previous.Timestamp != "" {
		known = &record.Revert{Restart: previous.Timestamp, Recorded: previous.Record.Written}
	}
	switch {
	case known == nil || known.Restart == present.Timestamp || previous.Template != present.Template:
		return nil
	case previous.Timestamp == present.Timestamp:
		return known
	}
	return record.NewRevert(known.Restart, known.Recorded, present.Timestamp, present.writers().Template.Since(known.Recorded))
}
