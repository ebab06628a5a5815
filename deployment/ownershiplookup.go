package deployment

import (
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

const (
	// maxOrphans is how many ReplicaSets without a controller a plan looks at. The ones that it
	// adopts make room for others.
	maxOrphans = 1000
	// maxAdopters is how many Deployments are woken for a ReplicaSet without a controller. The
	// others find it when they are synced for another reason.
	maxAdopters = 1000
	// maxWakingLabels is how many labels a ReplicaSet without a controller may have if it is to
	// wake Deployments.
	maxWakingLabels = 1000
)

// replicaSetsOf returns the ReplicaSets that a Deployment controls.
func (c *caches) replicaSetsOf(d *rollout.Deployment) []*rollout.ReplicaSet {
	return c.replicaSets.find(noLimit, controlledBy(d.Namespace, d.UID))
}

// orphansFor returns ReplicaSets without a controller, including the ones that a Deployment
// selects.
func (c *caches) orphansFor(d *rollout.Deployment) []*rollout.ReplicaSet {
	return c.replicaSets.find(maxOrphans, c.orphanGroups(d)...)
}

// orphanGroups returns the groups of those ReplicaSets.
func (c *caches) orphanGroups(d *rollout.Deployment) []digest.Digest {
	demanded := demandedLabels(d)
	if len(demanded) == 0 {
		return []digest.Digest{orphansIn(d.Namespace)}
	}
	pairs := make([]digest.Digest, 0, len(demanded))
	for _, key := range demanded {
		pairs = append(pairs, orphansWith(d.Namespace, key, d.Selector.MatchLabels[key]))
	}
	return []digest.Digest{c.replicaSets.smallest(pairs), manifoldOrphansIn(d.Namespace)}
}

// adoptersOf returns the Deployments that may select a ReplicaSet. Each of them is in exactly one
// of the groups.
func (c *caches) adoptersOf(rs *rollout.ReplicaSet) []types.NamespacedName {
	if numberOfLabels(rs) > maxWakingLabels {
		return nil
	}
	groups := []digest.Digest{adoptersIn(rs.Namespace)}
	for key, value := range rs.AllLabels() {
		groups = append(groups, adoptersOf(rs.Namespace, key, value))
	}
	return c.deployments.keys(maxAdopters, groups...)
}
