package workload

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
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
	// again; 0 if it never showed that.
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

// IsProof reports whether the workload runs, with all its pods, what its record says.
func (w *Workload) IsProof() bool {
	return w.Record.Trusted && w.Record.Reverted == nil && !w.Idle && w.Hold == NoHold && !w.Deleting && w.Rollout.IsWhole() && w.Record.Evict == 0
}
