package deployment

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

const (
	// maxShownSets is how many ReplicaSets of a Deployment are added up. There are seldom more than ten.
	maxShownSets = 100
	// longestProblem is how many bytes of a message are shown.
	longestProblem = 1024
)

// Rollouts returns the rollouts that are under way, for people and tools. It makes no requests.
func (e *Engine) Rollouts() *status.Rollouts {
	list := status.NewShortlist(func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range e.caches.deployments.keys(noLimit, inProgress) {
		list.Add(key)
	}
	_, detail, _ := strings.Cut(e.monitor.Detail(e.leads.Load()), " deployment engine: ")
	return &status.Rollouts{Driving: e.driving.Load(), Detail: brief.Text(detail), Rolling: status.ListOf(list, e.rollout)}
}

func (e *Engine) rollout(key types.NamespacedName) status.Rollout {
	shown := status.Rollout{Deployment: "deployment/" + key.Namespace + "/" + key.Name}
	cached, found := e.caches.deployments.entry(key)
	if !found {
		return shown // it has just been deleted
	}
	d := cached.packed.outline()
	sets := e.caches.replicaSets.find(maxShownSets, controlledBy(d.Namespace, d.UID))
	present := d.NewReplicaSet(sets)
	for _, rs := range sets {
		if rs == present {
			add(&shown.New, rs)
		} else if rs.Replicas > 0 || rs.Existing > 0 {
			add(&shown.Old, rs)
		}
	}
	shown.Strategy, shown.Wanted, shown.Problem = string(d.Strategy), int(d.Replicas), problemOf(d)
	if d.WaitsAtStep() {
		shown.Waits = progressOf(d)
	}
	return shown
}

func add(r *status.Replicas, rs *rollout.ReplicaSet) {
	r.Sets++
	r.Wanted += int(rs.Replicas)
	r.Present += int(rs.Existing)
	r.Available += int(rs.Available)
}

// problemOf returns what the status says about a rollout that makes no progress, empty if it does.
func problemOf(d *rollout.Deployment) string {
	if !d.IsHeldUp(rollout.ReasonTimedOut) && !d.IsHeldUp(rollout.ReasonCreateFailed) {
		return ""
	}
	return progressOf(d)
}

// progressOf returns what the status says about the progress of a rollout.
func progressOf(d *rollout.Deployment) string {
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == appsv1.DeploymentProgressing {
			return brief.Within(longestProblem, c.Message)
		}
	}
	return ""
}
