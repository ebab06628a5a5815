package differential

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// mendSize mends an annotation that keeps the original from rolling anything out: it takes every sync for a scaling, in
// which there is nothing to do.
func mendSize(h *history) (mended bool) {
	for _, rs := range h.original.owned() {
		if h.original.isOutdated(rs) && *rs.Spec.Replicas == *h.original.deployment().Spec.Replicas {
			h.original.resize(rs, *rs.Spec.Replicas)
			mended = true
		}
	}
	return mended
}

// mendSeveral scales down old ReplicaSets for the original, which takes every sync for a scaling, and spreads no replicas
// under Recreate.
func mendSeveral(h *history) (mended bool) {
	d := h.original.deployment()
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || d.Spec.Paused || !slices.ContainsFunc(h.original.owned(), h.original.isOutdated) {
		return false
	}
	for _, rs := range h.original.owned() {
		if *rs.Spec.Replicas > 0 && !isSameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			h.original.resize(rs, 0)
			mended = true
		}
	}
	return mended
}

// mendSurplus scales down a ReplicaSet for the original, which does not if more pods are available than it wants.
func mendSurplus(h *history) (mended bool) {
	for _, rs := range h.original.owned() {
		other := get[*appsv1.ReplicaSet](h.engine.server, rs.Name)
		if other != nil && rs.Status.AvailableReplicas > *rs.Spec.Replicas && *other.Spec.Replicas < *rs.Spec.Replicas {
			h.original.resize(rs, *other.Spec.Replicas)
			mended = true
		}
	}
	return mended
}

// mendEarlyRecreation undoes that the original has started pods while others run. Both worlds lose their Events about
// sizes.
func mendEarlyRecreation(h *history) (mended bool) {
	if h.original.deployment().Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || !h.engine.wasRolledBack() {
		return false
	}
	for _, event := range h.original.events.compared {
		if strings.Contains(event, " DeploymentRollback") {
			return false
		}
		if s, ok := parseScaling(event); ok && s.from == 0 {
			break // it was created before the rollback
		}
	}
	for _, rs := range h.original.owned() {
		if other := get[*appsv1.ReplicaSet](h.engine.server, rs.Name); other != nil && *other.Spec.Replicas != *rs.Spec.Replicas {
			edit(h.original.server, rs.Name, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(*other.Spec.Replicas) })
			mended = true
		}
	}
	for _, w := range h.worlds() {
		mended = mended || slices.ContainsFunc(w.events.compared, isScaling)
		w.events.compared = slices.DeleteFunc(w.events.compared, isScaling)
	}
	return mended
}

// mendUnreadable undoes annotations that the original has written by chance, with another change of a ReplicaSet that
// is the new one or was it before a rollback.
func mendUnreadable(h *history) (mended bool) {
	for _, rs := range h.original.owned() {
		_, err := strconv.ParseInt(rs.Annotations[revision], 10, 64)
		other := get[*appsv1.ReplicaSet](h.engine.server, rs.Name)
		if err != nil && rs.Annotations[revision] != "" && other != nil && !maps.Equal(other.Annotations, rs.Annotations) {
			edit(h.original.server, rs.Name, func(rs *appsv1.ReplicaSet) { rs.Annotations = maps.Clone(other.Annotations) })
			mended = true
		}
	}
	return mended
}

// mendHistory deletes what the engine has deleted before a rollout was complete.
func mendHistory(h *history) (mended bool) {
	limit := h.engine.deployment().Spec.RevisionHistoryLimit
	if limit == nil || len(h.original.owned()) <= 10+int(*limit) {
		return false
	}
	for _, rs := range h.original.owned() {
		if get[*appsv1.ReplicaSet](h.engine.server, rs.Name) == nil && *rs.Spec.Replicas == 0 && rs.Status.Replicas == 0 {
			h.original.server.remove(ref{replicaSets, rs.Name})
			mended = true
		}
	}
	return mended
}

// mendSteps removes the Events about sizes from both worlds, if all ReplicaSets went from and to the same.
func mendSteps(h *history) bool {
	if !h.sawOtherSteps() || isEqual(joined(h.original.events.compared), joined(h.engine.events.compared)) || !isEqual(h.original.changes(), h.engine.changes()) {
		return false
	}
	for _, w := range h.worlds() {
		w.events.compared = slices.DeleteFunc(w.events.compared, isScaling)
	}
	return true
}

// isOutdated reports whether the size of a ReplicaSet was computed for another number of replicas, and what that is now.
func (w *world) isOutdated(rs *appsv1.ReplicaSet) bool {
	desired, err := strconv.ParseUint(rs.Annotations[desiredReplicas], 10, 31)
	return *rs.Spec.Replicas > 0 && err == nil && int32(desired) != *w.deployment().Spec.Replicas
}

// resize gives a ReplicaSet a size as the Deployment's controller does.
func (w *world) resize(rs *appsv1.ReplicaSet, replicas int32) {
	d, from := w.deployment(), *rs.Spec.Replicas
	edit(w.server, rs.Name, func(rs *appsv1.ReplicaSet) {
		rs.Spec.Replicas = &replicas
		rs.Annotations = maps.Clone(rs.Annotations)
		deploymentutil.SetReplicasAnnotations(rs, *d.Spec.Replicas, *d.Spec.Replicas+deploymentutil.MaxSurge(*d))
	})
	if replicas != from {
		w.events.compared = append(w.events.compared, scaling{"down", rs.Name, int(from), int(replicas)}.String())
	}
}

func isScaling(event string) bool {
	_, ok := parseScaling(event)
	return ok
}

// changes are the sizes from and to which ReplicaSets were scaled, where they differ.
func (w *world) changes() map[string][2]int {
	changes := map[string][2]int{}
	for _, event := range w.events.compared {
		s, ok := parseScaling(event)
		if !ok {
			continue
		}
		if first, found := changes[s.replicaSet]; found {
			s.from = first[0]
		}
		changes[s.replicaSet] = [2]int{s.from, s.to}
	}
	maps.DeleteFunc(changes, func(_ string, c [2]int) bool { return c[0] == c[1] })
	return changes
}
