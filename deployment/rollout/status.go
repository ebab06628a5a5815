package rollout

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// statusSpacing is the time between two writes of one Deployment's status. The
// pods of a rollout change by the millisecond, and nobody reads as fast.
const statusSpacing = 50 * time.Millisecond

// deadlineDelay is how long after its deadline a rollout is looked at: the times
// in conditions are cut to whole seconds.
const deadlineDelay = time.Second

// report ends a plan with the status, and then with deletions, which tidy up: one that is
// refused must not keep the status from being written.
func (p *plan) report() (actions []Action, wake time.Time) {
	actions, wake = p.reportStatus()
	return append(actions, p.deletions[:min(len(p.deletions), maxBatch)]...), wake
}

func (p *plan) reportStatus() (actions []Action, wake time.Time) {
	p.noteAvailability()
	actions, wake = p.actions(), p.wake
	if deadline, running := p.deadline(); running && !p.d.Paused && !p.d.Deleting && !p.isComplete() {
		wake = earlier(wake, deadline.Add(deadlineDelay))
	}
	status, revision := p.status(), p.revision()
	if revision == p.d.Annotations[RevisionAnnotation] {
		revision = ""
	}
	if revision == "" && apiequality.Semantic.DeepEqual(status, p.d.Status) {
		return actions, wake
	}
	if due := p.s.StatusWritten.Add(statusSpacing); due.After(p.s.Now) {
		return actions, earlier(wake, due)
	}
	return append(actions, UpdateStatus{Status: status, Revision: revision}), wake
}

// earlier returns the earlier of two times, of which a zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// noteAvailability brings the condition Available up to date.
func (p *plan) noteAvailability() {
	if sum(p.all(), available) >= p.d.minAvailable() {
		p.conditions.set(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.")
	} else {
		p.conditions.set(appsv1.DeploymentAvailable, corev1.ConditionFalse, reasonUnavailable, "Deployment does not have minimum availability.")
	}
}

// status is what is observed, with what the plan has ordered taken as done.
func (p *plan) status() appsv1.DeploymentStatus {
	all := p.all()
	isAvailable := sum(all, available)
	return appsv1.DeploymentStatus{
		ObservedGeneration:  p.d.Generation,
		Replicas:            ToInt32(sum(all, existing)),
		UpdatedReplicas:     ToInt32(p.updated()),
		ReadyReplicas:       ToInt32(sum(all, ready)),
		AvailableReplicas:   ToInt32(isAvailable),
		UnavailableReplicas: ToInt32(sum(all, size) - isAvailable),
		TerminatingReplicas: p.terminating(),
		Conditions:          p.conditions.list,
		CollisionCount:      p.collisions,
	}
}

// terminating is nil if a ReplicaSet does not report how many of its pods terminate, or if
// the API server does not keep the number. One that its controller has not looked at yet
// counts as having none, so that the number does not vanish at the beginning of each
// rollout.
func (p *plan) terminating() *int32 {
	if p.s.NoTerminating {
		return nil
	}
	total := int64(0)
	for _, m := range p.all() {
		switch {
		case m.Terminating != nil:
			total += int64(*m.Terminating)
		case m.Observed:
			return nil
		}
	}
	n := ToInt32(total)
	return &n
}

// IsHeldUp reports whether the status says that the rollout makes no progress for a reason.
func (d *Deployment) IsHeldUp(reason string) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Reason == reason
	})
}

// IsRolledOut reports whether the status says that all pods are new and available.
func (d *Deployment) IsRolledOut() bool {
	replicas := ToInt32(d.Replicas)
	return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == replicas &&
		d.Status.UpdatedReplicas == replicas && d.Status.AvailableReplicas == replicas
}
