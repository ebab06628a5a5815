package tracker

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
)

// longestBrokenBy is how many causes of failed restarts are kept for a workload.
const longestBrokenBy = 10

// IsMendedBy reports whether a restart would replace something that broke the pods, as restarts that failed have shown. It
// may if it is not known what one of them was for.
func (r *RollingRestart) IsMendedBy(decision *decide.Decision) bool {
	if r.HasFailed && (IsUnclear(&r.Decision) || replacesAny(decision, r.Decision.Causes)) {
		return true
	}
	return replacesAny(decision, r.BrokenBy)
}

// BrokenAfter returns [RollingRestart.BrokenBy] of a restart that follows this one.
func (r *RollingRestart) BrokenAfter(decision *decide.Decision) []decide.Cause {
	all := r.BrokenBy
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

// MayBeMendedBy reports whether a restart would replace what this one, or one before it, has brought and not proven.
func (r *RollingRestart) MayBeMendedBy(decision *decide.Decision) bool {
	return r.HadPods && !r.HasFailed && (IsUnclear(&r.Decision) || replacesAny(decision, r.Decision.Causes) || replacesAny(decision, CausesOf(r.Unproven)))
}

// UnprovenAfter returns [RollingRestart.Unproven] of a restart that follows this one.
func (r *RollingRestart) UnprovenAfter(decision *decide.Decision) (left []gatekeeper.Brought) {
	if r.HasFailed {
		return nil // see BrokenAfter
	}
	for _, b := range slices.Concat(r.Unproven, r.Brought) {
		cause := without(b.Cause, decision.Causes)
		if len(cause.Keys) < len(b.Cause.Keys) {
			b.Content = "" // which was that of all its keys
		}
		if b.Cause = cause; cause.Config.Kind != 0 {
			left = append(left, b)
		}
	}
	return left[max(0, len(left)-longestBrokenBy):]
}

// CausesOf returns what was brought.
func CausesOf(brought []gatekeeper.Brought) []decide.Cause {
	causes := make([]decide.Cause, 0, len(brought))
	for i := range brought {
		causes = append(causes, brought[i].Cause)
	}
	return causes
}

// without returns what a cause has that others do not bring anew, the zero value if that is nothing. If not all keys are known, it
// may be anything.
func without(cause decide.Cause, others []decide.Cause) decide.Cause {
	for i := range others {
		switch other := &others[i]; {
		case !cause.SharesKey(other):
		case len(other.AllKeys()) == 0:
			return decide.Cause{}
		case len(cause.AllKeys()) == 0:
		default:
			cause.Keys = slices.DeleteFunc(slices.Clone(cause.Keys), func(key string) bool { return slices.Contains(other.Keys, key) })
			if len(cause.Keys) == 0 {
				return decide.Cause{}
			}
		}
	}
	return cause
}

// replacesAny reports whether a restart brings other content for one of these causes. Causes whose number is not known, unlike in
// [IsUnclear], are those of the restart before, which its record may not name: they bring nothing new.
func replacesAny(decision *decide.Decision, causes []decide.Cause) bool {
	return len(causes) > 0 && (len(decision.Causes) == 0 || decision.MoreCauses > 0 || slices.ContainsFunc(causes, func(cause decide.Cause) bool {
		return slices.ContainsFunc(decision.Causes, func(c decide.Cause) bool { return c.Replaces(&cause) })
	}))
}

// IsUnclear reports whether a restart has causes that are not named.
func IsUnclear(decision *decide.Decision) bool {
	return len(decision.Causes) == 0 || decision.MoreCauses != 0
}
