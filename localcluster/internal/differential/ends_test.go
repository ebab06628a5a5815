package differential

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

func (h *history) hasRolledBack() bool {
	return h.engine.wasRolledBack() && (h.original.isOutOfSets || h.hasCollided())
}

// wasRolledBack reports whether a rollback was made or given up in this instant.
func (w *world) wasRolledBack() bool {
	return slices.ContainsFunc(w.events.compared, func(event string) bool { return strings.Contains(event, " DeploymentRollback") })
}

func (w *world) hasScaledUp(name string) bool {
	return slices.ContainsFunc(w.events.compared, func(event string) bool {
		s, ok := parseScaling(event)
		return ok && s.direction == "up" && s.replicaSet == name
	})
}

func (h *history) hasGrown() bool {
	return slices.ContainsFunc(h.engine.owned(), func(rs *appsv1.ReplicaSet) bool {
		return h.original.hasScaledUp(rs.Name) && !h.engine.hasScaledUp(rs.Name) && h.original.deployment().Spec.Strategy.RollingUpdate != nil
	})
}

// hasOtherSizes reports whether ReplicaSets of the worlds have other sizes, or annotations about them.
func (h *history) hasOtherSizes() bool {
	return slices.ContainsFunc(h.original.owned(), func(rs *appsv1.ReplicaSet) bool {
		other := get[*appsv1.ReplicaSet](h.engine.server, rs.Name)
		return other != nil && (*other.Spec.Replicas != *rs.Spec.Replicas || other.Annotations[desiredReplicas] != rs.Annotations[desiredReplicas] ||
			other.Annotations[maxReplicas] != rs.Annotations[maxReplicas])
	})
}

func (h *history) hasHalfDone() bool { return h.hasOtherSizes() && h.original.wasRefused() }

// wasRefused reports whether a write of a ReplicaSet was refused in this instant.
func (w *world) wasRefused() bool {
	return slices.ContainsFunc(w.server.refused, func(key ref) bool { return key.resource == replicaSets })
}

// sawOtherSteps reports whether the worlds have taken other steps in this instant, so that others were in between.
func (h *history) sawOtherSteps() bool {
	return h.original.isShuffled || len(h.original.server.refused) > 0 || h.hasCollided()
}

// hasCollided reports whether the name of a new ReplicaSet was taken in this instant.
func (h *history) hasCollided() bool {
	return !isEqual(h.original.deployment().Status.CollisionCount, h.original.server.statuses[0].CollisionCount)
}

func (h *history) hasBounced() bool {
	return h.original.isShuffled && (h.original.hasBounced() || h.engine.hasBounced())
}

// hasBounced reports whether a ReplicaSet was scaled down and then up in this instant.
func (w *world) hasBounced() bool {
	down := map[string]bool{}
	for _, event := range w.events.all {
		s, ok := parseScaling(event)
		if ok && s.direction == "up" && down[s.replicaSet] {
			return true
		}
		down[s.replicaSet] = down[s.replicaSet] || ok && s.direction == "down"
	}
	return false
}

// hasOtherOld reports whether old ReplicaSets have other sizes, but all together the same.
func (h *history) hasOtherOld() bool {
	sum := func(w *world) (old, current int32) {
		for _, rs := range w.owned() {
			if isSameTemplate(&rs.Spec.Template, &w.deployment().Spec.Template) {
				current += *rs.Spec.Replicas
			} else {
				old += *rs.Spec.Replicas
			}
		}
		return old, current
	}
	old, current := sum(h.original)
	otherOld, otherCurrent := sum(h.engine)
	return h.sawOtherSteps() && h.hasOtherSizes() && old == otherOld && current == otherCurrent
}

// hasOtherPods reports whether the worlds differ in nothing but their pods, where these are a matter of chance.
func (h *history) hasOtherPods() bool {
	original, engine := h.snapshots()
	for _, s := range []*snapshot{original, engine} {
		s.Deployment.Status = appsv1.DeploymentStatus{}
		for _, rs := range s.ReplicaSets {
			rs.Status = appsv1.ReplicaSetStatus{}
		}
	}
	hasOther := func(rs *appsv1.ReplicaSet) bool {
		return !isEqual(rs.Status, get[*appsv1.ReplicaSet](h.engine.server, rs.Name).Status)
	}
	return h.sawOtherSteps() && isEqual(original, engine) && slices.ContainsFunc(h.original.owned(), hasOther)
}

// hasPruned reports whether one of the worlds has cut the history, because a rollout was complete for a moment.
func (h *history) hasPruned() bool {
	isGone := func(other *world) func(*appsv1.ReplicaSet) bool {
		return func(rs *appsv1.ReplicaSet) bool {
			return *rs.Spec.Replicas == 0 && rs.Status.Replicas == 0 && get[*appsv1.ReplicaSet](other.server, rs.Name) == nil
		}
	}
	d := h.engine.deployment()
	return !deploymentutil.DeploymentComplete(d, &d.Status) &&
		(slices.ContainsFunc(h.engine.owned(), isGone(h.original)) || slices.ContainsFunc(h.original.owned(), isGone(h.engine)))
}

// hasBrokenLimit reports whether the original has left fewer pods available than a rolling update must, and the engine has
// not.
func (h *history) hasBrokenLimit() bool {
	d := h.engine.deployment()
	return h.original.deployment().Status.AvailableReplicas < deploymentutil.MinAvailable(d) && d.Status.AvailableReplicas >= deploymentutil.MinAvailable(d) &&
		h.hasOtherSizes()
}

// hasDisorder reports whether as many ReplicaSets are left, but others, where the revision of one cannot be read that is or
// was there. The original compares such a one by age, so that the order may be none.
func (h *history) hasDisorder() bool {
	isUnreadable := func(o object) bool {
		rs, ok := o.(*appsv1.ReplicaSet)
		if !ok {
			return false
		}
		_, err := deploymentutil.Revision(rs)
		return err != nil
	}
	isGone := func(rs *appsv1.ReplicaSet) bool { return get[*appsv1.ReplicaSet](h.engine.server, rs.Name) == nil }
	original, were := h.original.owned(), slices.Clone(h.original.server.removed)
	for _, rs := range original {
		were = append(were, rs)
	}
	return len(original) == len(h.engine.owned()) && slices.ContainsFunc(original, isGone) && slices.ContainsFunc(were, isUnreadable)
}

func (h *history) hasDeleted() bool {
	return slices.ContainsFunc(h.engine.owned(), func(rs *appsv1.ReplicaSet) bool {
		return h.original.deployment().Spec.Paused && get[*appsv1.ReplicaSet](h.original.server, rs.Name) == nil
	})
}
