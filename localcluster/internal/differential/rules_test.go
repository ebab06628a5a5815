package differential

import (
	"context"
	"maps"
	"slices"
)

// rule is a difference that is meant. It mends the original's world to be like the engine's, if that is what is
// wrong, so that the history continues from the same state; then it reports that it did.
type rule struct {
	name, reason string
	mend         func(h *history) bool
}

var rules = []rule{
	{"outdated size", "a ReplicaSet has the right size for the wrong reason: a rollout must not depend on an annotation that anyone can edit", mendSize},
	{"several", "several ReplicaSets have pods under Recreate, and were sized for another number: as before", mendSeveral},
	{"surplus", "more pods are available than a ReplicaSet wants: none is unavailable", mendSurplus},
	{"early recreation", "a rollback under Recreate creates the ReplicaSet of the abandoned template: Recreate never runs two templates", mendEarlyRecreation},
	{"unobserved", "the new ReplicaSet cannot be created: the Deployment was observed all the same", mendUnobserved},
	{"beginning", "the status about the beginning of a rollout was refused: the progress deadline counts from there", mendBeginning},
	{"name", "a rollout is complete, or goes on, at the first look, or its old pods still terminate: the condition is not about the rollout before", mendName},
	{"rollback", "a rollback right after a change of the template: no status reports the template in between", mendRollback},
	{"record", "a rollback leaves the restart controller's record on the Deployment: it is about configs, not about the template", mendRecord},
	{"unreadable", "the revision of the new ReplicaSet cannot be read: what belongs to somebody else is left alone", mendUnreadable},
	{"history", "rollouts that are never complete leave too many ReplicaSets behind: they must not fill the API server", mendHistory},
	{"steps", "a size is reached by another way: a scaling that was refused in its middle is computed anew", mendSteps},
	{"passing", "a state lasts for a moment: whether it is written depends on who looks when", mendPassing},
}

// mend applies the first rule that fits, if there is one.
func (h *history) mend(ctx context.Context) bool {
	if h.original.deployment() == nil || h.engine.deployment() == nil {
		return false
	}
	for _, r := range rules {
		if r.mend(h) {
			h.meant[r.name]++
			h.logf("mended: %s", r.reason)
			h.rest(ctx)
			return true
		}
	}
	return false
}

// ends are the differences from which on the worlds go different ways.
var ends = []struct {
	name, reason string
	isReached    func(h *history) bool
}{
	{"rollback at once", "a rollback does not wait until the ReplicaSet of the template that it abandons can be created", (*history).hasRolledBack},
	{"shares", "a scaling in the middle of a rollout: no ReplicaSet grows while all together shrink", (*history).hasGrown},
	{"half done", "a scaling of several ReplicaSets is not computed anew after the first, because a write of the next was refused", (*history).hasHalfDone},
	{"bounced", "whether a ReplicaSet shrinks before it grows again depends on who is faster", (*history).hasBounced},
	{"other old ones", "which of the old ReplicaSets shrinks depends on whether it was noticed that its pods are not available", (*history).hasOtherOld},
	{"chance", "which pods are left depends on whether the ReplicaSet controller has noticed a size that was soon another", (*history).hasOtherPods},
	{"broken limit", "pods that are about to go because a ReplicaSet was just scaled down do not count as available", (*history).hasBrokenLimit},
	{"pruned", "the history is cut when a rollout is complete, and not by the status of before", (*history).hasPruned},
	{"disorder", "a ReplicaSet whose revision cannot be read is deleted before others", (*history).hasDisorder},
	{"paused", "a paused Deployment keeps its history until a rollout is complete, because the way back is in it", (*history).hasDeleted},
}

// endIfPodsDiffer ends a history in which all that is compared is the same, but not how long pods have been there: that
// will come out later. Where nothing depends on which controller is faster, it continues, so that this is noticed.
func (h *history) endIfPodsDiffer() {
	if h.original.isShuffled && !maps.EqualFunc(h.original.ages(), h.engine.ages(), slices.Equal) {
		h.meant["other ages"]++
		h.hasEnded = true
	}
}

// end reports whether the history ends here.
func (h *history) end() bool {
	if h.original.deployment() == nil || h.engine.deployment() == nil {
		return false
	}
	for _, e := range ends {
		if e.isReached(h) {
			h.meant[e.name]++
			h.hasEnded = true
		}
	}
	return h.hasEnded
}
