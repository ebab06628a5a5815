package rollout

import (
	"fmt"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Limits are how far a rolling update may deviate from the wanted number of
// pods, in pods. Both are 0 for the Recreate strategy.
type Limits struct{ MaxSurge, MaxUnavailable int64 }

// resolveLimits computes the limits of a rolling update. Percentages are of the
// wanted replicas. The surge is rounded up and the unavailable share is rounded
// down, so that 25 % of 3 replicas are a surge of 1 and 0 unavailable pods. If
// both are 0, one pod may be unavailable, because otherwise a rollout could not
// proceed. The number of unavailable pods is at most the number of replicas.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment.
func resolveLimits(strategy *appsv1.DeploymentStrategy, replicas int64) (Limits, error) {
	var rolling appsv1.RollingUpdateDeployment
	if strategy.RollingUpdate != nil {
		rolling = *strategy.RollingUpdate
	}
	surge, err := resolve(rolling.MaxSurge, replicas, true)
	if err != nil {
		return Limits{}, fmt.Errorf("resolve maxSurge: %w", err)
	}
	unavailable, err := resolve(rolling.MaxUnavailable, replicas, false)
	if err != nil {
		return Limits{}, fmt.Errorf("resolve maxUnavailable: %w", err)
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return Limits{MaxSurge: surge, MaxUnavailable: min(unavailable, replicas)}, nil
}

// resolve turns a number or percentage into a number of pods.
func resolve(value *intstr.IntOrString, replicas int64, roundUp bool) (int64, error) {
	if value == nil {
		return 0, nil
	}
	if value.Type == intstr.Int {
		return max(int64(value.IntVal), 0), nil
	}
	// The library computes in int and float64: 2147483647 × 100 % is exact.
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(replicas), roundUp)
	if err != nil {
		return 0, err
	}
	return min(max(int64(n), 0), math.MaxInt32), nil
}
