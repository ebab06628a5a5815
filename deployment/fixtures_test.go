package deployment

import (
	"runtime"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/deployment/deploymenttest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// What the planner writes, as clients know it.
const (
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"

	configChecksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"
	configBasisAnnotation     = "com.xing.deployment-restart.applied-config-basis"

	// statusSpacing is the least time between two writes of one Deployment's status.
	statusSpacing = 50 * time.Millisecond

	reasonAvailable  = "MinimumReplicasAvailable"
	reasonComplete   = "NewReplicaSetAvailable"
	reasonRolledBack = "DeploymentRollback"
)

// These are the API objects that the tests start from.
var (
	noon             = deploymenttest.Noon
	noonPlus         = deploymenttest.NoonPlus
	now              = deploymenttest.Now
	templateOf       = deploymenttest.Template
	deploymentObject = deploymenttest.Deployment
	rolling          = deploymenttest.Rolling
	limit            = deploymenttest.Limit
	withLimits       = deploymenttest.WithLimits
	recreated        = deploymenttest.Recreated
	paused           = deploymenttest.Paused
	annotated        = deploymenttest.Annotated
	withHistoryLimit = deploymenttest.WithHistoryLimit
	withStatus       = deploymenttest.WithStatus
	condition        = deploymenttest.Condition
	statusBy         = deploymenttest.StatusBy
	expect           = deploymenttest.Expect
)

// web is the Deployment as plans see it.
func web(replicas int32, image string, changes ...func(*appsv1.Deployment)) *rollout.Deployment {
	return rollout.NewDeployment(deploymentObject(replicas, image, changes...))
}

// progressed is a condition Progressing of before, with a reason.
func progressed(status corev1.ConditionStatus, reason string) appsv1.DeploymentCondition {
	return condition(appsv1.DeploymentProgressing, status, reason, "as it was", 3000)
}

// conditionIn returns a condition of a status, or nil.
func conditionIn(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// hasCondition reports whether a condition is there for a reason.
func hasCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, reason string) bool {
	present := conditionIn(status, kind)
	return present != nil && present.Reason == reason
}

// set is a ReplicaSet of the Deployment web, as plans see it; see [deploymenttest.ReplicaSet].
func set(image string, wanted, available int64, changes ...func(*rollout.ReplicaSet)) *rollout.ReplicaSet {
	rs := rollout.NewReplicaSet(deploymenttest.ReplicaSet(image, int32(wanted), int32(available)))
	for _, change := range changes {
		change(rs)
	}
	return rs
}

// heap is how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one has found to be free
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
