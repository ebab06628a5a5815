package rollout

import appsv1 "k8s.io/api/apps/v1"

// strategy is how a rollout gets from the old ReplicaSets to the new one. It covers everything
// that differs between strategies: a new strategy is one new file, and one line in strategies.
type strategy interface {
	// limits returns how far a rollout may deviate from the wanted number of pods.
	limits(spec *appsv1.DeploymentStrategy, replicas int64) (Limits, error)
	// sizeOfTarget returns how large the ReplicaSet that is to have all the pods may be now. It also
	// determines its initial size.
	sizeOfTarget(p *plan) int64
	// step takes the next step of the rollout.
	step(p *plan)
	// isProportional reports whether all active ReplicaSets grow or shrink when the Deployment
	// is scaled in the middle of a rollout. Otherwise the next step does that.
	isProportional() bool
	// needsPods reports whether the strategy looks at [State.Pods].
	needsPods() bool
}

// strategies holds the known strategies.
var strategies = map[appsv1.DeploymentStrategyType]strategy{
	appsv1.RollingUpdateDeploymentStrategyType: rollingUpdate{},
	appsv1.RecreateDeploymentStrategyType:      recreate{},
}

// NeedsPods reports whether a plan for the Deployment looks at [State.Pods].
func (d *Deployment) NeedsPods() bool {
	known, found := strategies[d.Strategy]
	return found && known.needsPods()
}
