package workload

import (
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// IsBeforeRevert reports whether a pod that read a config at the given time did so before the
// record. If the read seems to be within a second after the record, the order in which the watch
// showed the record and the pod template decides: the read counts as earlier unless the record
// came first.
func (w *Workload) IsBeforeRevert(read time.Time) bool {
	recordCameFirst := !w.Applied.Trusted || w.PodTemplateSeen > w.RecordSeen
	after := read.Sub(w.Applied.Reverted.Recorded)
	return after < 0 || after < names.ClockTolerance && !recordCameFirst
}

// revertSince returns the revert of a workload whose record is not trusted, if the catalog knew
// a trusted record before: taking back the restart replaced the annotations too, as kubectl
// rollout undo does. It returns nil if there is no revert.
func revertSince(previous, present *Workload) *record.Revert {
	known := previous.Applied.Reverted
	if known == nil && previous.Applied.Trusted && previous.Timestamp != "" {
		known = &record.Revert{Restart: previous.Timestamp, Recorded: previous.Applied.Written}
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
	for ref, since := range previous.Applied.Checksums {
		if _, found := w.Applied.Checksums[ref]; found || !ref.Kind.IsPerPod() || len(template.ReferencesTo(w.References, ref)) == 0 {
			continue
		}
		if kept == nil {
			kept = maps.Clone(w.Applied.Checksums)
		}
		if kept == nil {
			kept = make(record.Checksums)
		}
		kept[ref] = since
	}
	if kept != nil {
		w.Applied.Checksums = kept
	}
}

// FarFuture limits what anyone may have recorded as a time.
const FarFuture = 1 << 32

// HasMounts reports whether the workload reads configs of which each pod has its own content.
func (w *Workload) HasMounts() bool {
	last := len(w.References) - 1 // they are sorted by kind
	return last >= 0 && w.References[last].Config.Kind.IsPerPod()
}

// WithoutRecordOf returns the workload as if the record lacked these configs. It does not modify the workload.
func (w *Workload) WithoutRecordOf(configs []names.ConfigRef) *Workload {
	isRecorded := func(ref names.ConfigRef) bool { _, found := w.Applied.Checksums[ref]; return found }
	if !slices.ContainsFunc(configs, isRecorded) {
		return w
	}
	without := *w
	without.Applied.Checksums = maps.Clone(w.Applied.Checksums) // which may be many, so once for all
	for _, ref := range configs {
		delete(without.Applied.Checksums, ref)
	}
	return &without
}

// Succeed takes over what the catalog knew about the previous state of the workload, at the
// given moment.
func (w *Workload) Succeed(previous *Workload, moment names.Sequence) {
	w.EnabledAfter, w.EnabledSeen, w.Woke = previous.EnabledAfter, previous.EnabledSeen, previous.Woke
	if previous.Idle && !w.Idle {
		w.Woke = moment
	}
	if !w.Applied.Trusted {
		w.Applied.Reverted = revertSince(previous, w)
		w.RecordUndone = previous.Template == w.Template && (previous.Applied.Trusted || previous.RecordUndone)
		w.keepBudget(previous)
		w.keepSince(previous)
		w.keepEvict(previous)
	}
	if previous.PodTemplate == w.PodTemplate {
		w.PodTemplateSeen = previous.PodTemplateSeen
		// A write of annotations makes a new generation of a Deployment, and the status is still about its pods.
		w.Rollout.Observed = w.Rollout.Observed || previous.Rollout.Observed
	}
	if previous.Applied.Equal(w.Applied) || previous.Applied.IsSame(&w.Applied) {
		w.RecordSeen = previous.RecordSeen
		w.keepReplaced(previous)
		w.keepKnown(previous)
	}
}

// keepBudget keeps the used restarts if another client undid the record, with or without a restart.
// Otherwise the controller would fight at full speed against anyone who keeps replacing the
// whole workload.
func (w *Workload) keepBudget(previous *Workload) {
	if (w.Applied.Reverted != nil || w.RecordUndone) && w.Applied.Budget == (policy.Budget{}) {
		w.Applied.Budget = previous.Applied.Budget
	}
}

// keepKnown keeps what was known about the previous state, which had the same record.
func (w *Workload) keepKnown(previous *Workload) {
	if !previous.Applied.Written.Equal(w.Applied.Written) {
		return
	}
	w.OwnRecord, w.Applied.MarkSeen = previous.OwnRecord, previous.Applied.MarkSeen
	if w.PodTemplate == previous.PodTemplate {
		w.PodsSeen = previous.PodsSeen
	}
	if !w.Applied.Marked {
		w.Applied.Contradicted = previous.Applied.Contradicted
	}
}
