package rollout

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// statusSpacing is the time between two writes of one Deployment's status. The pods of a
// rollout change every few milliseconds, and no reader needs to follow that fast.
const statusSpacing = 50 * time.Millisecond

// deadlineDelay is how long after its deadline a rollout is checked: the times in
// conditions are truncated to whole seconds.
const deadlineDelay = time.Second

// report ends a plan with the status, followed by the deletions and a look at pods. These come
// last because a refusal must not prevent the write of the status.
func (p *plan) report() (actions []Action, wake time.Time) {
	actions, wake = p.reportStatus()
	actions = append(actions, p.deletions[:min(len(p.deletions), maxBatch)]...)
	if p.release != nil && p.release.look != nil {
		actions = append(actions, *p.release.look)
	}
	return actions, wake
}

func (p *plan) reportStatus() (actions []Action, wake time.Time) {
	p.noteAvailability()
	runs := p.runs()
	actions, wake = p.actions(), p.wake
	if deadline, running := p.deadline(); running && !p.d.Paused && !p.d.Deleting && !p.isComplete() {
		wake = earlier(wake, deadline.Add(deadlineDelay))
	}
	status, revision := p.status(), p.revision()
	if revision == p.d.Annotations[RevisionAnnotation] {
		revision = ""
	}
	present := p.d.Status
	if present.TerminatingReplicas == nil { // the API server may drop it: it is written with what else changes
		present.TerminatingReplicas = status.TerminatingReplicas
	}
	if revision == "" && runs == nil && apiequality.Semantic.DeepEqual(status, present) {
		return actions, wake
	}
	if due := p.s.StatusWritten.Add(statusSpacing); due.After(p.s.Now) {
		return actions, earlier(wake, due)
	}
	if p.fellBack != "" {
		actions = append(actions, RecordEvent{Type: corev1.EventTypeWarning, Reason: reasonFellBack, Message: p.fellBack})
	}
	if p.held != "" {
		actions = append(actions, RecordEvent{Type: corev1.EventTypeNormal, Reason: reasonWaits, Message: p.held})
	}
	if p.unkept != "" {
		actions = append(actions, RecordEvent{Type: corev1.EventTypeWarning, Reason: reasonNoSteps, Message: p.unkept})
	}
	written := UpdateStatus{Status: status, Revision: revision, Runs: runs, Trial: p.remembered()}
	if runs != nil {
		written.Refused = new(bool)
	}
	return append(actions, written), wake
}

// earlier returns the earlier of two times. A zero first time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// noteAvailability updates the condition Available.
func (p *plan) noteAvailability() {
	if sum(p.all(), available) >= p.d.minAvailable() {
		p.conditions.set(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.")
	} else {
		p.conditions.set(appsv1.DeploymentAvailable, corev1.ConditionFalse, reasonUnavailable, "Deployment does not have minimum availability.")
	}
}

// status returns the status that follows from the observed state and the plan, as if the
// plan were already applied.
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

// terminating returns the number of terminating pods. It returns nil if a ReplicaSet does
// not report the number. A ReplicaSet that its controller has not observed yet counts as 0,
// so that the number does not vanish at the beginning of each rollout.
func (p *plan) terminating() *int32 {
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

// fewerTerminate reports whether fewer pods are known to terminate than the last status says.
func (p *plan) fewerTerminate() bool {
	before, now := p.d.Status.TerminatingReplicas, p.terminating()
	return before != nil && now != nil && *now < *before
}

// IsHeldUp reports whether the status says that the rollout makes no progress for the given
// reason.
func (d *Deployment) IsHeldUp(reason string) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Reason == reason
	})
}

// WaitsAtStep reports whether the status says that the rollout waits at a step.
func (d *Deployment) WaitsAtStep() bool { return !d.Paused && d.IsHeldUp(reasonPaused) }

// IsRolledOut reports whether the status says that all pods are new and available.
func (d *Deployment) IsRolledOut() bool {
	replicas := ToInt32(d.Replicas)
	return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == replicas &&
		d.Status.UpdatedReplicas == replicas && d.Status.AvailableReplicas == replicas
}
