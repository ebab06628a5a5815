package rollout

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// replacementAnnotation says when a pod that terminates makes room for another one. It stands for a
// field that Kubernetes plans.
//
// See https://kep.k8s.io/5882.
const replacementAnnotation = "com.xing.deployment-restart.pod-replacement-policy"

// The values of the annotation. Without it, RollingUpdate acts by the first, and Recreate by the second except
// when it is scaled.
const (
	whenTerminating = "TerminationStarted"
	whenTerminated  = "TerminationComplete"
)

// Warning: the Deployment's pod-replacement-policy is not known, or the API server does not report pods that
// terminate, so the rollout that begins does not keep it.
const reasonPolicyNotKept = "PodReplacementPolicyNotKept"

// countsTerminating reports whether a pod takes its place among those that the limits allow until it has ended.
func (d *Deployment) countsTerminating() bool {
	return d.Annotations[replacementAnnotation] == whenTerminated
}

// awaitsEnds reports whether pods are known to terminate that take their place until they have ended.
func (p *plan) awaitsEnds() bool {
	if !p.d.countsTerminating() {
		return false
	}
	ending := p.terminating()
	return ending != nil && *ending > 0
}

// noteReplacement reports at the beginning of a rollout that its policy cannot be kept.
func (p *plan) noteReplacement() {
	const doing = "The rollout continues as without the annotation."
	switch policy := p.d.Annotations[replacementAnnotation]; {
	case policy == "" || policy == whenTerminating:
	case policy != whenTerminated:
		p.recordEvent(corev1.EventTypeWarning, reasonPolicyNotKept,
			fmt.Sprintf("The annotation %s is neither %s nor %s. %s", replacementAnnotation, whenTerminating, whenTerminated, doing))
	case p.terminating() == nil:
		p.recordEvent(corev1.EventTypeWarning, reasonPolicyNotKept,
			fmt.Sprintf("The annotation %s needs an API server that reports terminatingReplicas. %s", replacementAnnotation, doing))
	}
}

// room returns how many pods may be added.
func (p *plan) room() int64 {
	present := size
	if p.d.countsTerminating() {
		if slices.ContainsFunc(p.all(), func(m *member) bool { return !m.Observed && !m.isOrdered }) {
			return 0 // it may have more pods than its status says
		}
		present = occupied
	}
	return max(p.d.maxReplicas()-sum(p.all(), present), 0)
}

// occupied returns for how many pods a ReplicaSet takes up room: those that it wants, or still has, and those that
// terminate.
func occupied(m *member) int64 {
	if m.Terminating == nil {
		return max(m.size, m.Existing)
	}
	return max(m.size, m.Existing) + int64(*m.Terminating)
}

// scaleTo orders a size, or as much of it as there is room for. In that case, the ReplicaSet keeps the mark of its
// former size, so that the next plan continues, unless a rollout begins: the rest is of the new template then.
func (p *plan) scaleTo(m *member, replicas int64) {
	if most := m.size + p.room(); p.d.countsTerminating() && replicas > most {
		p.setSize(m, most)
		if m != p.target && !p.d.Paused {
			p.noteSize(m)
		}
		return
	}
	p.resize(m, replicas)
}
