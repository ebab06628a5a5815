package rollout

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of conditions, as clients such as kubectl rollout status know them.
const (
	reasonAvailable   = "MinimumReplicasAvailable"
	reasonUnavailable = "MinimumReplicasUnavailable"

	reasonCreated      = "NewReplicaSetCreated"
	reasonFound        = "FoundNewReplicaSet"
	reasonProgressed   = "ReplicaSetUpdated"
	reasonComplete     = "NewReplicaSetAvailable"
	ReasonTimedOut     = "ProgressDeadlineExceeded"
	ReasonCreateFailed = "ReplicaSetCreateError"
	reasonPaused       = "DeploymentPaused"
	reasonResumed      = "DeploymentResumed"
)

// conditions are the conditions of a status under construction, in the order in
// which they will be written. A condition that is set moves to the end, unless it
// is already set.
type conditions struct {
	now  metav1.Time
	list []appsv1.DeploymentCondition
}

// newConditions starts with the present conditions, which it does not modify. The
// API keeps whole seconds; a more precise timestamp would never equal the stored
// one.
func newConditions(now time.Time, present []appsv1.DeploymentCondition) *conditions {
	return &conditions{now: metav1.NewTime(now.Truncate(time.Second)), list: slices.Clone(present)}
}

// get returns a condition, or nil.
func (c *conditions) get(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(c.list, func(d appsv1.DeploymentCondition) bool { return d.Type == kind })
	if i < 0 {
		return nil
	}
	return &c.list[i]
}

// progressesBy reports whether the condition Progressing is present with the given reason.
func (c *conditions) progressesBy(reason string) bool {
	present := c.get(appsv1.DeploymentProgressing)
	return present != nil && present.Reason == reason
}

// is reports whether there is such a condition, with that status.
func (c *conditions) is(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus) bool {
	present := c.get(kind)
	return present != nil && present.Status == status
}

func (c *conditions) remove(kind appsv1.DeploymentConditionType) {
	c.list = slices.DeleteFunc(c.list, func(d appsv1.DeploymentCondition) bool { return d.Type == kind })
}

// set sets a condition unless it already has that status and reason.
func (c *conditions) set(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	c.put(&appsv1.DeploymentCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastUpdateTime: c.now, LastTransitionTime: c.now,
	})
}

// say sets a condition, the message included. Another message alone leaves its times.
func (c *conditions) say(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	c.set(kind, status, reason, message)
	c.get(kind).Message = message
}

// renewProgress sets the condition Progressing to true even if it already is,
// which updates its timestamp to the present time.
func (c *conditions) renewProgress(reason, message string) {
	const kind = appsv1.DeploymentProgressing
	if present := c.get(kind); c.is(kind, corev1.ConditionTrue) {
		present.Reason = "" // so that it differs; the transition time stays
	}
	c.set(kind, corev1.ConditionTrue, reason, message)
}

// put sets a condition unless it already has that status and reason. The
// transition time is that of the last change of the status.
func (c *conditions) put(condition *appsv1.DeploymentCondition) {
	if present := c.get(condition.Type); present != nil && present.Status == condition.Status {
		if present.Reason == condition.Reason {
			return
		}
		condition.LastTransitionTime = present.LastTransitionTime
	}
	c.remove(condition.Type)
	c.list = append(c.list, *condition)
}
