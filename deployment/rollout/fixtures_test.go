package rollout

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/deploymenttest"
)

// These are the API objects that the tests start from.
var (
	noon             = deploymenttest.Noon
	noonPlus         = deploymenttest.NoonPlus
	now              = deploymenttest.Now
	templateOf       = deploymenttest.Template
	deploymentObject = deploymenttest.Deployment
	rolling          = deploymenttest.Rolling
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
func web(replicas int32, image string, changes ...func(*appsv1.Deployment)) *Deployment {
	return NewDeployment(deploymentObject(replicas, image, changes...))
}

// set is a ReplicaSet of the Deployment web, as plans see it; see [deploymenttest.ReplicaSet].
func set(image string, wanted, available int64, changes ...func(*ReplicaSet)) *ReplicaSet {
	rs := NewReplicaSet(deploymenttest.ReplicaSet(image, int32(wanted), int32(available)))
	for _, change := range changes {
		change(rs)
	}
	return rs
}

// sized sets what a ReplicaSet's size was computed from. Empty means absent.
func sized(desired, maximum string) func(*ReplicaSet) {
	return func(rs *ReplicaSet) {
		rs.Annotations[desiredReplicasAnnotation], rs.Annotations[maxReplicasAnnotation] = desired, maximum
	}
}

// stateOf returns a State. The sizes of its ReplicaSets were computed from the
// present Deployment, unless their annotations say otherwise.
func stateOf(d *Deployment, sets ...*ReplicaSet) *State {
	for _, rs := range sets {
		for key, value := range d.sizeAnnotations() {
			if _, found := rs.Annotations[key]; !found {
				rs.Annotations[key] = value
			}
		}
		maps.DeleteFunc(rs.Annotations, func(_, value string) bool { return value == "" })
	}
	return &State{Now: now, Deployment: d, ReplicaSets: sets, Pods: map[types.UID]int{}}
}

// orders are the actions of a plan in words, the status aside.
func orders(s *State) []string {
	actions, _ := Plan(s)
	words := []string{}
	for _, action := range actions {
		if _, isStatus := action.(UpdateStatus); !isStatus {
			words = append(words, action.String())
		}
	}
	return words
}

// statusOf returns the status that a plan writes, or nil if the plan does not
// write a status.
func statusOf(s *State) *appsv1.DeploymentStatus {
	actions, _ := Plan(s)
	for _, action := range actions {
		if update, isStatus := action.(UpdateStatus); isStatus {
			return &update.Status
		}
	}
	return nil
}

// progressing is the condition of that name which a plan writes or leaves.
func progressing(s *State) *appsv1.DeploymentCondition {
	return conditionOf(s, appsv1.DeploymentProgressing)
}

func conditionOf(s *State, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	status := statusOf(s)
	if status == nil {
		status = &s.Deployment.Status
	}
	return newConditions(s.Now, status.Conditions).get(kind)
}
