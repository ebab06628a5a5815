package deployment

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

const (
	// maxPairs is how many labels of a ReplicaSet, or of a selector, are looked up by: each
	// takes 230 bytes of the index.
	maxPairs = 16
	// maxOrphans is how many ReplicaSets without a controller a plan looks at. Those that it
	// adopts make room for others.
	maxOrphans = 1000
	// maxAdopters is how many Deployments are woken for a ReplicaSet that nobody controls.
	// Others find it when they are synced for another reason.
	maxAdopters = 1000
	// maxWakingLabels is how many labels a ReplicaSet that nobody controls may have to wake
	// Deployments at all.
	maxWakingLabels = 1000
)

// The groups of Deployments that are under way, of those that take too long, and of those
// whose new ReplicaSet cannot be created.
var (
	inProgress = digestOf("in progress")
	exceeded   = digestOf("exceeded")
	notBegun   = digestOf("not begun")
)

// Other groups. Those of Deployments in a namespace are there for all namespaces, too: the
// empty one.
func deploymentsIn(namespace string) digest { return digestOf("deployments", namespace) }
func recreatedIn(namespace string) digest   { return digestOf("recreated", namespace) }

// A controller and what it controls are in one namespace. An owner reference can name a UID
// of another one all the same: nobody checks that it exists.
func controlledBy(namespace string, uid types.UID) digest {
	return digestOf("controlled", namespace, string(uid))
}

// An orphan is found by each of its labels, one with very many labels by none.
func orphansIn(namespace string) digest { return digestOf("orphans", namespace) }
func orphansWith(namespace, key, value string) digest {
	return digestOf("orphans", namespace, key, value)
}
func manifoldOrphansIn(namespace string) digest { return digestOf("manifold orphans", namespace) }

// A Deployment is found by one of the labels that it demands of its ReplicaSets, or as one
// that demands none.
func adoptersOf(namespace, key, value string) digest {
	return digestOf("adopters", namespace, key, value)
}
func adoptersIn(namespace string) digest { return digestOf("adopters", namespace) }

// groupsOfDeployment makes Deployments found by their namespace and, for a ReplicaSet that nobody
// controls, by their selector, and counted for the metrics.
func groupsOfDeployment(d *rollout.Deployment) []digest {
	groups := []digest{deploymentsIn(""), deploymentsIn(d.Namespace)}
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
	}
	demanded := demandedLabels(d)
	if len(demanded) == 0 {
		return append(groups, adoptersIn(d.Namespace))
	}
	return append(groups, adoptersOf(d.Namespace, demanded[0], d.Selector.MatchLabels[demanded[0]]))
}

// demandedLabels returns the keys of labels without which a Deployment selects nothing.
func demandedLabels(d *rollout.Deployment) []string {
	if d.Selector == nil {
		return nil
	}
	keys := slices.Sorted(maps.Keys(d.Selector.MatchLabels))
	return keys[:min(len(keys), maxPairs)]
}

// groupsOfReplicaSet makes ReplicaSets found by the UID of their controller, and those that nobody
// controls by their namespace and labels. So the cost of a sync does not grow with what else
// lives in the namespace. One that is being deleted is not adopted.
func groupsOfReplicaSet(rs *rollout.ReplicaSet) []digest {
	switch {
	case rs.Controller != "":
		return []digest{controlledBy(rs.Namespace, rs.Controller)}
	case rs.Deleting:
		return nil
	case len(rs.Labels) > maxPairs:
		return []digest{orphansIn(rs.Namespace), manifoldOrphansIn(rs.Namespace)}
	}
	groups := []digest{orphansIn(rs.Namespace)}
	for key, value := range rs.Labels {
		groups = append(groups, orphansWith(rs.Namespace, key, value))
	}
	return groups
}

// replicaSetsOf returns those that a Deployment controls.
func (c *caches) replicaSetsOf(d *rollout.Deployment) []*rollout.ReplicaSet {
	return c.replicaSets.find(noLimit, controlledBy(d.Namespace, d.UID))
}

// orphansFor returns ReplicaSets that nobody controls, those among them that a Deployment
// selects.
func (c *caches) orphansFor(d *rollout.Deployment) []*rollout.ReplicaSet {
	demanded := demandedLabels(d)
	if len(demanded) == 0 {
		return c.replicaSets.find(maxOrphans, orphansIn(d.Namespace))
	}
	pairs := make([]digest, 0, len(demanded))
	for _, key := range demanded {
		pairs = append(pairs, orphansWith(d.Namespace, key, d.Selector.MatchLabels[key]))
	}
	return c.replicaSets.find(maxOrphans, c.replicaSets.smallest(pairs), manifoldOrphansIn(d.Namespace))
}

// adoptersOf returns which Deployments may select a ReplicaSet, each of which is in one of
// the groups.
func (c *caches) adoptersOf(rs *rollout.ReplicaSet) []types.NamespacedName {
	if len(rs.Labels) > maxWakingLabels {
		return nil
	}
	groups := []digest{adoptersIn(rs.Namespace)}
	for key, value := range rs.Labels {
		groups = append(groups, adoptersOf(rs.Namespace, key, value))
	}
	return c.deployments.keys(maxAdopters, groups...)
}
