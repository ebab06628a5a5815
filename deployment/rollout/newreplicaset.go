package rollout

import (
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// ensureNew orders the creation of the new ReplicaSet if it does not exist. It
// returns false if that has just failed.
func (p *plan) ensureNew() bool {
	if p.refreshNew() {
		return true
	}
	hash := TemplateHash(p.d.Template.decode(), p.collisions)
	name := ReplicaSetName(p.d.Name, hash)
	if failure := p.s.Creation; failure.Name == name {
		p.noteFailure(&failure)
		return false
	}
	p.orderNew(name, hash)
	return true
}

// refreshNew orders the annotations, revision and settings of the Deployment that
// the new ReplicaSet lacks. It returns false if there is no new ReplicaSet.
func (p *plan) refreshNew() bool {
	m := p.newRS
	if m == nil {
		return false
	}
	m.set(annotationsOfNew(p.d, m.allAnnotations(), p.nextRevision()))
	if m.MinReadySeconds != p.d.MinReadySeconds {
		m.minReadySeconds = &p.d.MinReadySeconds
	}
	if p.d.ProgressDeadline != nil && p.conditions.get(appsv1.DeploymentProgressing) == nil {
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonFound,
			fmt.Sprintf("Found new replica set %q", m.Name))
	}
	return true
}

// orderNew orders the creation of the new ReplicaSet, with the size that the
// strategy allows immediately.
func (p *plan) orderNew(name, hash string) {
	annotations := annotationsOfNew(p.d, nil, p.nextRevision())
	maps.Copy(annotations, p.d.sizeAnnotations())
	p.newRS = &member{
		ReplicaSet: &ReplicaSet{Meta: Meta{Namespace: p.d.Namespace, Name: name}, Created: p.s.Now, Annotations: own(annotations), Sum: p.d.Sum, Bare: p.bare},
		isOrdered:  true,
	}
	if p.isFallenBack() {
		p.others = append(p.others, p.newRS)
	} else {
		p.target = p.newRS
		p.newRS.size = p.strategy.sizeOfTarget(p)
	}
	p.noteReplacement()
	if p.isFallenBack() {
		p.noteStillFailed()
	}
	p.noteUnkept()
	p.noteUnkeptSteps()
	p.create = []Action{CreateReplicaSet{Name: name, Hash: hash, Replicas: p.newRS.size, Annotations: annotations}}
	if p.d.ProgressDeadline != nil {
		p.noteCreated(name)
	}
}

// noteFailure reports that the new ReplicaSet could not be created. If a
// ReplicaSet of another template has its name, the next attempt uses another name.
func (p *plan) noteFailure(failure *CreationFailure) {
	if failure.Collided {
		next := int32(1)
		if p.collisions != nil {
			next = *p.collisions + 1
		}
		p.collisions = &next
		return
	}
	p.creationFailed = true
	message := fmt.Sprintf("Failed to create new replica set %q: %s", failure.Name, failure.Message)
	if p.d.ProgressDeadline != nil && !p.isFallenBack() { // else it only restarts what has failed
		p.conditions.set(appsv1.DeploymentProgressing, corev1.ConditionFalse, ReasonCreateFailed, message)
	}
	if !failure.IsReported {
		p.recordEvent(corev1.EventTypeWarning, ReasonCreateFailed, message)
	}
}

// isSaturated reports whether the target has all the pods that are wanted.
func (p *plan) isSaturated() bool {
	m := p.target
	return m != nil && m.size == p.d.Replicas && m.Available == p.d.Replicas &&
		m.annotation(desiredReplicasAnnotation) == strconv.FormatInt(p.d.Replicas, 10)
}
