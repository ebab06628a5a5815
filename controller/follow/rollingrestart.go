package follow

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/delivery"
)

// RollingRestart is a restart that is being followed.
type RollingRestart struct {
	*delivery.Restart
	id    string // by which the gate knows it
	Began time.Time
	// Decision explains the restart. It has only the configs and their keys if another process
	// decided it.
	Decision decide.Decision
	// recorded is the moment of its record. A later one without a restart says nothing about the pods.
	recorded names.Sequence
	// IsFormer means that another process made the restart.
	IsFormer bool
	// HasFailed means that the restart failed and is followed because its pods may run after all.
	HasFailed bool
	// isUnexplained means that it failed under another leader, and that its pods have not been read since. IsUndated means that
	// others failed, too, and that only one of the times is known.
	isUnexplained, IsUndated bool
	// Failed is when that was seen, of this restart or of one before it; zero if none failed.
	Failed time.Time
	// mayMend means that a restart before this one may have failed, and none may have been delivered since, because a former
	// leader made this restart, or one before it: no object says how a restart went.
	mayMend bool
	// brokenBy is what restarts before this one brought that failed, unless another one has replaced it since. Because of
	// that, the pods may fail whatever this one brings. Only the last of these causes are kept.
	brokenBy []decide.Cause
	// NotBefore is when the pods may be counted again at the earliest; see [Deliveries.judgeByPods].
	NotBefore time.Time
}

// longestBrokenBy is how many causes of failed restarts are kept for a workload.
const longestBrokenBy = 10

// isMendedBy reports whether a restart would replace something that broke the pods, as restarts that failed have shown. It
// may if it is not known what one of them was for.
func (r *RollingRestart) isMendedBy(decision *decide.Decision) bool {
	if r.HasFailed && (isUnclear(&r.Decision) || replacesAny(decision, r.Decision.Causes)) {
		return true
	}
	return replacesAny(decision, r.brokenBy)
}

// brokenAfter returns [RollingRestart.brokenBy] of a restart that follows this one.
func (r *RollingRestart) brokenAfter(decision *decide.Decision) []decide.Cause {
	all := r.brokenBy
	if r.HasFailed {
		all = slices.Concat(all, r.Decision.Causes)
	}
	var left []decide.Cause
	for i := range all {
		if !replacesAny(decision, all[i:i+1]) {
			left = append(left, all[i])
		}
	}
	return left[max(0, len(left)-longestBrokenBy):]
}

// shownFailed returns when a restart failed, or when it began if the former is not known, so that it seems to have taken no time.
func (r *RollingRestart) shownFailed() time.Time {
	if r.IsUndated {
		return r.Began
	}
	return r.Failed
}

// replacesAny reports whether a restart brings other content for one of these causes. Causes whose number is not known, unlike in
// [isUnclear], are those of the restart before, which its record may not name: they bring nothing new.
func replacesAny(decision *decide.Decision, causes []decide.Cause) bool {
	return len(causes) > 0 && (len(decision.Causes) == 0 || decision.MoreCauses > 0 || slices.ContainsFunc(causes, func(cause decide.Cause) bool {
		return slices.ContainsFunc(decision.Causes, func(c decide.Cause) bool { return c.Replaces(&cause) })
	}))
}

// isUnclear reports whether a restart has causes that are not named.
func isUnclear(decision *decide.Decision) bool {
	return len(decision.Causes) == 0 || decision.MoreCauses != 0
}
