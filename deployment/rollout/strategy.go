package rollout

import appsv1 "k8s.io/api/apps/v1"

// strategy is how a rollout gets from the old ReplicaSets to the new one. All that differs
// from one strategy to another is here: a new one is a file of its own, and a line in
// strategies.
type strategy interface {
	// limits are how far a rollout may go from the wanted number of pods.
	limits(spec *appsv1.DeploymentStrategy, replicas int64) (Limits, error)
	// sizeOfNew is how large the new ReplicaSet may be now. It is asked for the initial size,
	// too.
	sizeOfNew(p *plan) int64
	// step takes the next step of the rollout.
	step(p *plan)
	// isProportional reports whether all active ReplicaSets grow or shrink when the Deployment
	// is scaled in the middle of a rollout. Otherwise that is left to the next step.
	isProportional() bool
	// needsPods reports whether it looks at [State.Pods].
	needsPods() bool
}

// strategies are those that are known.
var strategies = map[appsv1.DeploymentStrategyType]strategy{
	appsv1.RollingUpdateDeploymentStrategyType: rollingUpdate{},
	appsv1.RecreateDeploymentStrategyType:      recreate{},
}

// NeedsPods reports whether a plan for the Deployment looks at [State.Pods].
func (d *Deployment) NeedsPods() bool {
	known, found := strategies[d.Strategy]
	return found && known.needsPods()
}
