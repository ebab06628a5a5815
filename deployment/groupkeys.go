package deployment

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// maxPairs is how many labels of a ReplicaSet, or of a selector, are indexed: each takes 230
// bytes of the index.
const maxPairs = 16

// The groups of Deployments with a rollout in progress, with a rollout that takes too long, and
// with a new ReplicaSet that cannot be created.
var (
	inProgress = digest.Of("in progress")
	exceeded   = digest.Of("exceeded")
	notBegun   = digest.Of("not begun")
	atStep     = digest.Of("at step")
)

// Other groups. The groups of Deployments by namespace also exist for all namespaces together,
// under the empty namespace.
func deploymentsIn(namespace string) digest.Digest { return digest.Of("deployments", namespace) }

func recreatedIn(namespace string) digest.Digest { return digest.Of("recreated", namespace) }

// A controller and the objects that it controls are in the same namespace. An owner reference can
// still name a UID from another namespace, because the API server does not check that it exists.
func controlledBy(namespace string, uid types.UID) digest.Digest {
	return digest.Of("controlled", namespace, string(uid))
}

// An orphan can be found by each of its labels. An orphan with very many labels is not indexed by
// labels.
func orphansIn(namespace string) digest.Digest { return digest.Of("orphans", namespace) }

func orphansWith(namespace, key, value string) digest.Digest {
	return digest.Of("orphans", namespace, key, value)
}

func manifoldOrphansIn(namespace string) digest.Digest {
	return digest.Of("manifold orphans", namespace)
}

// A Deployment can be found by one of the labels that its selector requires, or in the group of
// Deployments whose selectors require no label.
func adoptersOf(namespace, key, value string) digest.Digest {
	return digest.Of("adopters", namespace, key, value)
}

func adoptersIn(namespace string) digest.Digest { return digest.Of("adopters", namespace) }

// groupsOfDeployment returns the groups that serve to find Deployments by their namespace and, for
// a ReplicaSet without a controller, by their selector, and to count them for the metrics.
func groupsOfDeployment(d *rollout.Deployment) []digest.Digest {
	groups := []digest.Digest{deploymentsIn(""), deploymentsIn(d.Namespace)}
	if d.NeedsPods() {
		groups = append(groups, recreatedIn(""), recreatedIn(d.Namespace))
	}
	if !d.Paused && !d.IsRolledOut() {
		groups = append(groups, inProgress)
	}
	switch {
	case d.IsHeldUp(rollout.ReasonTimedOut):
		groups = append(groups, exceeded)
	case d.IsHeldUp(rollout.ReasonCreateFailed):
		groups = append(groups, notBegun)
	case d.WaitsAtStep():
		groups = append(groups, atStep)
	}
	demanded := demandedLabels(d)
	if len(demanded) == 0 {
		return append(groups, adoptersIn(d.Namespace))
	}
	return append(groups, adoptersOf(d.Namespace, demanded[0], d.Selector.MatchLabels[demanded[0]]))
}

// demandedLabels returns the keys of labels that a Deployment's selector requires, at most
// maxPairs.
func demandedLabels(d *rollout.Deployment) []string {
	if d.Selector == nil {
		return nil
	}
	keys := slices.Sorted(maps.Keys(d.Selector.MatchLabels))
	return keys[:min(len(keys), maxPairs)]
}

// groupsOfReplicaSet returns the groups that serve to find ReplicaSets by the UID of their
// controller, and ReplicaSets without a controller by their namespace and labels. So the cost of a
// sync does not grow with the other objects in the namespace. A ReplicaSet that is being deleted
// is not adopted, so it needs no group.
func groupsOfReplicaSet(rs *rollout.ReplicaSet) []digest.Digest {
	switch {
	case rs.Controller != "":
		return []digest.Digest{controlledBy(rs.Namespace, rs.Controller)}
	case rs.Deleting:
		return nil
	case numberOfLabels(rs) > maxPairs:
		return []digest.Digest{orphansIn(rs.Namespace), manifoldOrphansIn(rs.Namespace)}
	}
	groups := []digest.Digest{orphansIn(rs.Namespace)}
	for key, value := range rs.AllLabels() {
		groups = append(groups, orphansWith(rs.Namespace, key, value))
	}
	return groups
}

func numberOfLabels(rs *rollout.ReplicaSet) int {
	if rs.Hash == nil {
		return rs.Labels.Len()
	}
	return rs.Labels.Len() + 1
}
