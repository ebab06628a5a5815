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

// noteCreation reports the creation of the new ReplicaSet if the status that reports it was
// refused or put off.
func (p *plan) noteCreation() {
	if p.d.ProgressDeadline != nil && p.newRS != nil && p.newRS.Name == p.s.Created {
		p.noteCreated(p.newRS.Name)
	}
}

// notePause keeps the condition Progressing in step with a pause, so that a paused rollout
// does not exceed its deadline when it is resumed.
func (p *plan) notePause() {
	if p.d.ProgressDeadline == nil || p.conditions.progressesBy(ReasonTimedOut) {
		return
	}
	isNoted := p.conditions.progressesBy(reasonPaused) && (p.d.Paused || !p.isNotedHeld())
	switch {
	case p.d.Paused && !isNoted:
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !p.d.Paused && isNoted:
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonResumed, "Deployment is resumed")
	}
}

// estimateProgress updates the conditions Available, Progressing and ReplicaFailure.
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
		p.conditions.remove(conditionAtStep)
		p.noteFallenBack()
		return
	}
	if p.creationFailed && !p.isFallenBack() {
		p.conditions.remove(conditionFallenBack)
		p.conditions.remove(conditionAtStep)
		return // already reported
	}
	p.noteBeginning()
	p.noteFallenBack()
	subject := p.subject()
	switch {
	case p.noteHeld(), p.isFallenBack():
	case p.hasStopped():
		p.conditions.renewProgress(reasonProgressed, subject+" is progressing.")
	case (p.isTried() || p.isStepping()) && p.d.Replicas == 0: // zero pods complete nothing, and exceed no deadline
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonProgressed, subject+" is progressing.")
	case p.isComplete() && p.isProven():
		p.noteComplete(subject + " has successfully progressed.")
		p.noteCompleted()
		p.conditions.remove(conditionAtStep)
	case p.wasComplete(): // pods that come and go later are not part of a rollout
	case p.hasProgressed():
		p.conditions.renewProgress(reasonProgressed, subject+" is progressing.")
	case p.hasTimedOut():
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionFalse, ReasonTimedOut, subject+" has timed out progressing.")
	}
}

// subject names what a condition is about.
func (p *plan) subject() string {
	if p.newRS == nil {
		return fmt.Sprintf("Deployment %q", p.d.Name)
	}
	return fmt.Sprintf("ReplicaSet %q", p.newRS.Name)
}

// noteBeginning reports the creation of the new ReplicaSet if another process created it
// without writing the status. In that case, the Deployment does not have the new revision yet
// either, because both are written together. It ignores an old ReplicaSet that has become the
// new one again, because that one was not created.
func (p *plan) noteBeginning() {
	if p.newRS == nil || !p.awaitsFirstStatus() ||
		p.newRS.annotation(revisionHistoryAnnotation) != "" ||
		p.conditions.progressesBy(reasonFound) {
		return
	}
	p.noteCreated(p.newRS.Name)
}

// awaitsFirstStatus reports whether no status has been written since the present new
// ReplicaSet became the new one: then the Deployment has another revision, since the revision
// is written with the status. But another client may have removed or changed the revision. So
// the condition Progressing, which names the new ReplicaSet unless it is about a pause, must
// not name it either.
func (p *plan) awaitsFirstStatus() bool {
	isNamed := p.newRS != nil && slices.ContainsFunc(p.d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && strings.Contains(c.Message, strconv.Quote(p.newRS.Name))
	})
	return p.revision() != p.d.Annotations[RevisionAnnotation] && !isNamed
}

// noteCreated reports that a rollout has begun.
func (p *plan) noteCreated(name string) {
	p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonCreated, fmt.Sprintf("Created new replica set %q", name))
}

// noteComplete reports that the rollout is complete, even if the previous one was complete and
// no status was written in between.
func (p *plan) noteComplete(message string) {
	present := p.conditions.get(appsv1.DeploymentProgressing)
	if present == nil || present.Reason != reasonComplete || present.Message != message {
		p.conditions.renewProgress(reasonComplete, message)
	}
}

// isComplete reports whether all pods are new and available, and there are as many as wanted.
func (p *plan) isComplete() bool {
	return p.newRS != nil && !p.isFallenBack() && !p.isLimited() && p.updated() == p.d.Replicas &&
		sum(p.all(), existing) == p.d.Replicas &&
		sum(p.all(), available) == p.d.Replicas && !p.awaitsEnds()
}

// wasComplete reports whether the rollout was completed earlier and all pods are new, whether
// or not they are available at the moment. If there has been no visible progress since an
// undo, the condition still names an old ReplicaSet.
func (p *plan) wasComplete() bool {
	present := p.conditions.get(appsv1.DeploymentProgressing)
	if p.newRS == nil || present == nil || present.Reason != reasonComplete || sum(p.all(), existing) != p.updated() {
		return false
	}
	return !slices.ContainsFunc(p.oldRSs, p.isNamed)
}

// hasStopped reports whether the old pods are gone or terminate, but those of the new template
// may not be created yet, and the condition is still that of the rollout before: under Recreate,
// the deadline begins then.
func (p *plan) hasStopped() bool {
	if sum(p.all(), existing) > 0 || !p.conditions.progressesBy(reasonComplete) {
		return false
	}
	return p.newRS == nil || p.d.NeedsPods() && p.d.Replicas > 0 && p.newRS.size == 0 && p.hasOldPods()
}

// updated returns how many pods have the present template.
func (p *plan) updated() int64 {
	if p.newRS == nil {
		return 0
	}
	return p.newRS.Existing
}

// hasProgressed compares with the last written status and reports whether there are more new
// pods, fewer old ones, or more ready or available ones. If that status is about the previous
// template, the pods that it calls updated are old. For a release that may fall back, see [Trial].
func (p *plan) hasProgressed() bool {
	if t := p.trial(); t != nil && t.IsKnown && p.isNamed(p.newRS) { // else the condition is about the rollout before
		return p.newRS.Available > t.Most || p.earlierPods() < t.Fewest || t.IsIdle && p.d.Replicas > 0
	}
	last, present := p.d.Status, p.status() // in the numbers that can be written
	if p.awaitsFirstStatus() {
		last.UpdatedReplicas = 0
	}
	return p.hasFewerEnding() || present.UpdatedReplicas > last.UpdatedReplicas ||
		present.Replicas-present.UpdatedReplicas < last.Replicas-last.UpdatedReplicas ||
		present.ReadyReplicas > last.ReadyReplicas ||
		present.AvailableReplicas > last.AvailableReplicas
}

// hasFewerEnding reports whether pods have ended, if that is all that the rollout waits for.
func (p *plan) hasFewerEnding() bool {
	return p.d.countsTerminating() && p.newRS != nil && p.newRS.Available >= p.d.Replicas && p.fewerTerminate()
}

// hasTimedOut reports whether the progress deadline has passed since the last progress.
func (p *plan) hasTimedOut() bool {
	deadline, running := p.deadline()
	return running && deadline.Before(p.s.Now)
}

// deadline returns when the rollout exceeds its progress deadline, and whether the deadline is
// running.
func (p *plan) deadline() (deadline time.Time, running bool) {
	progressing := p.conditions.get(appsv1.DeploymentProgressing)
	if p.d.ProgressDeadline == nil || progressing == nil || p.creationFailed {
		return time.Time{}, false
	}
	switch progressing.Reason {
	case reasonComplete, ReasonTimedOut, reasonPaused:
		return time.Time{}, false
	}
	return progressing.LastUpdateTime.Add(*p.d.ProgressDeadline), true
}

// noteReplicaFailure passes on why a ReplicaSet could not create or delete pods. A failure of
// the new ReplicaSet takes precedence over others.
func (p *plan) noteReplicaFailure() {
	var failure *appsv1.ReplicaSetCondition
	if p.newRS != nil {
		failure = p.newRS.Failure
	}
	for _, m := range p.oldRSs {
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
