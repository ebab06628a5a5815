package tracker

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
)

// RollingRestart is a restart that is being followed.
type RollingRestart struct {
	*delivery.Restart
	ID    string // by which the gate knows it
	Began time.Time
	// Decision explains the restart. It has only the configs and their keys if another process
	// decided it.
	Decision decide.Decision
	// Recorded is the moment of its record. A later one without a restart says nothing about the pods.
	Recorded names.Sequence
	// IsFormer means that another process made the restart.
	IsFormer bool
	// HasFailed means that the restart failed and is followed because its pods may run after all.
	HasFailed bool
	// IsUnexplained means that it failed under another leader, and that its pods have not been read since. IsUndated means that
	// others failed, too, and that only one of the times is known.
	IsUnexplained, IsUndated bool
	// Failed is when that was seen, of this restart or of one before it; zero if none failed.
	Failed time.Time
	// MayMend means that a restart before this one may have failed, and none may have been delivered since, because a former
	// leader made this restart, or one before it: no object says how a restart went.
	MayMend bool
	// HadPods means that pods ran before, so that the restart may break them.
	HadPods bool
	// BrokenBy is what restarts before this one brought that failed, unless another one has replaced it since. Because of
	// that, the pods may fail whatever this one brings. Only the last of these causes are kept.
	BrokenBy []decide.Cause
	// BrokenRan is how many pods ran before the last of these failed.
	BrokenRan record.Ran
	// Unproven is what restarts before this one brought that has neither been proven nor failed, unless another one has replaced it
	// since. If this one fails, any of it may be at fault.
	Unproven []gatekeeper.Brought
	// IsAway means that nothing was to be seen of the workload at the last look.
	IsAway bool
	// Brought are the contents that the restart itself has brought.
	Brought []gatekeeper.Brought
	// NotBefore is when to look again at the earliest, because reading the pods takes long.
	NotBefore time.Time
}

// Copy returns a copy, which may be changed: others may read the restart that is in the table.
func (r *RollingRestart) Copy() *RollingRestart {
	next, restart := *r, *r.Restart
	next.Restart = &restart
	return &next
}

// Continues makes the restart go on with what the one before it has left unjudged.
func (r *RollingRestart) Continues(before *RollingRestart) {
	if !before.HasFailed {
		r.Continue(before.Restart)
		r.Unproven = before.UnprovenAfter(&r.Decision)
		r.GoesOn = len(r.Unproven) > 0
	}
}

// RanBeforeFailure returns how many pods ran before the restart that failed, this one or one before it; 0 if that is not known.
func (r *RollingRestart) RanBeforeFailure() record.Ran {
	if r.HasFailed {
		return r.Ran
	}
	return r.BrokenRan
}

// Causes returns all that the restart may prove, or that may be at fault if it fails.
func (r *RollingRestart) Causes() []decide.Cause {
	return slices.Concat(r.Decision.Causes, CausesOf(r.Unproven))
}

// ShownFailed returns when a restart failed, or when it began if the former is not known, so that it seems to have taken no time.
func (r *RollingRestart) ShownFailed() time.Time {
	if r.IsUndated {
		return r.Began
	}
	return r.Failed
}
