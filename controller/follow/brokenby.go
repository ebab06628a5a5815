package follow

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/decide"
)

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
