package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// noteCreation makes up for a status about the creation of the new ReplicaSet that was
// refused or put off.
func (p *plan) noteCreation() {
	if p.d.ProgressDeadline != nil && p.current != nil && p.current.Name == p.s.Created {
		p.noteCreated(p.current.Name)
	}
}

// notePause keeps the condition Progressing in step with a pause, so that a
// rollout that was paused does not exceed its deadline when it is resumed.
func (p *plan) notePause() {
	if p.d.ProgressDeadline == nil || p.conditions.has(appsv1.DeploymentProgressing, ReasonTimedOut) {
		return
	}
	isNoted := p.conditions.has(appsv1.DeploymentProgressing, reasonPaused)
	switch {
	case p.d.Paused && !isNoted:
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !p.d.Paused && isNoted:
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonResumed, "Deployment is resumed")
	}
}

// estimateProgress brings the condition Progressing up to date, and that about
// failures of ReplicaSets.
//
// See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status.
func (p *plan) estimateProgress() {
	p.noteAvailability()
	p.noteProgress()
	p.noteReplicaFailure()
}

func (p *plan) noteProgress() {
	if p.d.ProgressDeadline == nil {
		p.conditions.remove(appsv1.DeploymentProgressing)
		return
	}
	if p.creationFailed {
		return // that is told already
	}
	p.noteBeginning()
	subject := fmt.Sprintf("Deployment %q", p.d.Name)
	if p.current != nil {
		subject = fmt.Sprintf("ReplicaSet %q", p.current.Name)
	}
	switch {
	case p.isComplete():
		p.noteComplete(subject + " has successfully progressed.")
	case p.wasComplete(): // pods that come and go later are no rollout
	case p.hasProgressed():
		p.conditions.renewProgress(reasonProgressed, subject+" is progressing.")
	case p.hasTimedOut():
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionFalse, ReasonTimedOut, subject+" has timed out progressing.")
	}
}

// noteBeginning makes up for a status about the creation of the new ReplicaSet that
// another process did not write. Then the Deployment does not have its revision yet
// either, for they are written together. An old ReplicaSet that is the new one again was
// not created.
func (p *plan) noteBeginning() {
	if p.current == nil || !p.awaitsFirstStatus() ||
		p.current.annotation(revisionHistoryAnnotation) != "" ||
		p.conditions.has(appsv1.DeploymentProgressing, reasonFound) {
		return
	}
	p.noteCreated(p.current.Name)
}

// awaitsFirstStatus tells whether no status was written yet since the present ReplicaSet
// is the new one: the Deployment has another revision, which is written with it. But
// somebody else may have removed or changed that. So it must not be named by the
// condition Progressing either, which names the new ReplicaSet unless it tells of a pause.
func (p *plan) awaitsFirstStatus() bool {
	isNamed := p.current != nil && slices.ContainsFunc(p.d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && strings.Contains(c.Message, strconv.Quote(p.current.Name))
	})
	return p.revision() != p.d.Annotations[RevisionAnnotation] && !isNamed
}

// noteCreated tells that a rollout has begun.
func (p *plan) noteCreated(name string) {
	p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonCreated, fmt.Sprintf("Created new replica set %q", name))
}

// noteComplete tells that the rollout is complete, also if the one before was and
// nothing was written in between.
func (p *plan) noteComplete(message string) {
	present := p.conditions.get(appsv1.DeploymentProgressing)
	if present == nil || present.Reason != reasonComplete || present.Message != message {
		p.conditions.renewProgress(reasonComplete, message)
	}
}

// isComplete tells whether all pods are new, as many as wanted, and available.
func (p *plan) isComplete() bool {
	return p.current != nil && p.updated() == p.d.Replicas &&
		sum(p.all(), existing) == p.d.Replicas &&
		sum(p.all(), available) == p.d.Replicas
}

// wasComplete tells whether the rollout was completed earlier and all pods are
// new, whether or not they are available at the moment. The condition is still about an old
// ReplicaSet where no progress was seen since an undo.
func (p *plan) wasComplete() bool {
	present := p.conditions.get(appsv1.DeploymentProgressing)
	if present == nil || present.Reason != reasonComplete || sum(p.all(), existing) != p.updated() {
		return false
	}
	isNamed := func(m *member) bool { return strings.Contains(present.Message, strconv.Quote(m.Name)) }
	return p.current == nil || !slices.ContainsFunc(p.old, isNamed)
}

// updated is how many pods have the present template.
func (p *plan) updated() int64 {
	if p.current == nil {
		return 0
	}
	return p.current.Existing
}

// hasProgressed compares with the status that was written last: more new pods,
// fewer old ones, or more that are ready or available. If that status is of the template
// before, the pods that it calls updated are old ones.
func (p *plan) hasProgressed() bool {
	last, present := p.d.Status, p.status() // in the numbers that can be written
	if p.awaitsFirstStatus() {
		last.UpdatedReplicas = 0
	}
	return present.UpdatedReplicas > last.UpdatedReplicas ||
		present.Replicas-present.UpdatedReplicas < last.Replicas-last.UpdatedReplicas ||
		present.ReadyReplicas > last.ReadyReplicas ||
		present.AvailableReplicas > last.AvailableReplicas
}

// hasTimedOut tells whether the deadline has passed since the last progress.
func (p *plan) hasTimedOut() bool {
	deadline, running := p.deadline()
	return running && deadline.Before(p.s.Now)
}

// deadline is when the rollout exceeds its progress deadline, if that is running.
func (p *plan) deadline() (deadline time.Time, running bool) {
	progressing := p.conditions.get(appsv1.DeploymentProgressing)
	if p.d.ProgressDeadline == nil || progressing == nil || p.creationFailed {
		return time.Time{}, false
	}
	switch progressing.Reason {
	case reasonComplete, ReasonTimedOut:
		return time.Time{}, false
	}
	return progressing.LastUpdateTime.Add(*p.d.ProgressDeadline), true
}

// noteReplicaFailure passes on why a ReplicaSet could not create or delete pods,
// that of the new one before others.
func (p *plan) noteReplicaFailure() {
	var failure *appsv1.ReplicaSetCondition
	if p.current != nil {
		failure = p.current.Failure
	}
	for _, m := range p.old {
		if failure == nil {
			failure = m.Failure
		}
	}
	if failure == nil {
		p.conditions.remove(appsv1.DeploymentReplicaFailure)
		return
	}
	p.conditions.put(&appsv1.DeploymentCondition{
		Type:               appsv1.DeploymentReplicaFailure,
		Status:             failure.Status,
		Reason:             failure.Reason,
		Message:            failure.Message,
		LastUpdateTime:     failure.LastTransitionTime,
		LastTransitionTime: failure.LastTransitionTime,
	})
}
