package workload

import (
	"maps"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

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

// FarFuture limits what anyone may have recorded as a time.
const FarFuture = 1 << 32

// Succeed takes over what the catalog knew about the previous state of the workload, at the
// given moment.
func (w *Workload) Succeed(previous *Workload, moment names.Sequence) {
	w.EnabledAfter, w.EnabledSeen, w.Woke = previous.EnabledAfter, previous.EnabledSeen, previous.Woke
	if previous.Idle && !w.Idle {
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

// keepBudget keeps the used restarts if another client undid the record, with or without a restart.
// Otherwise the controller would fight at full speed against anyone who keeps replacing the
// whole workload.
func (w *Workload) keepBudget(previous *Workload) {
	if (w.Record.Reverted != nil || w.RecordUndone) && w.Record.Budget == (policy.Budget{}) {
		w.Record.Budget = previous.Record.Budget
	}
}

// keepKnown keeps what was known about the previous state, which had the same record.
func (w *Workload) keepKnown(previous *Workload) {
	if !previous.Record.Written.Equal(w.Record.Written) {
		return
	}
	w.OwnRecord, w.Record.MarkSeen = previous.OwnRecord, previous.Record.MarkSeen
	if w.PodTemplate == previous.PodTemplate {
		w.PodsSeen = previous.PodsSeen
	}
	if !w.Record.Marked {
		w.Record.Contradicted = previous.Record.Contradicted
	}
}
