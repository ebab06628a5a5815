package workload

import (
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/policy"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Parts holds what the kinds of workloads have in common, wherever each kind has it.
type Parts struct {
	Meta *metav1.ObjectMeta
	// Problem is why the object cannot be restarted, empty if it can. With a problem, only Meta is of use, and the
	// annotations of Template, unless it is nil.
	Problem  string
	Selector *metav1.LabelSelector
	Template *corev1.PodTemplateSpec
	// Replacement is [ReplacementTime] if the deadline of the Rollout does not contain it: a Deployment need not wait
	// until a pod has terminated, but a restart by eviction does.
	Replacement int32
	// Idle, Hold and Rollout are those of the [Workload]. AllPods is the Rollout of a restart that replaces other pods, by eviction; nil
	// if that is the same.
	Idle    bool
	Hold    Hold
	Rollout Rollout
	AllPods *Rollout
	// FallenBack tells apart the times for which the present template has failed, so that pods of an earlier one run; empty if it
	// has not. Reads is the spec by which the pods read their configs, without anything else; nil for that of the Template.
	FallenBack string
	Reads      *corev1.PodSpec
	// FellBack says why it has, and how to go on, in the words of the deployment engine.
	FellBack string
	// AtStep says at which step its rollout waits, and how it goes on, in the words of the deployment engine; empty if it does not.
	// Stepping is not empty between its steps, either, and says how to abort it.
	AtStep, Stepping string
	// RestartAt is when the spec asks the workload's own controller to replace its pods, zero if it does not.
	RestartAt time.Time
	// Understood is what [dialect.Understand] adds.
	Understood policy.Understood
	// Owned is who owns which fields, nil if nobody has asked yet.
	Owned *annotation.Ownership
}

// Ownership returns who owns what of the workload.
func (p *Parts) Ownership() *annotation.Ownership {
	if p.Owned != nil {
		return p.Owned
	}
	return annotation.OwnershipOf(p.Meta)
}

// longestSelector is how many bytes a workload's selector may have as a text, such as "app=web,tier in (front,back)". It is
// kept, and is part of the address of each list of pods.
const longestSelector = 16 << 10

// SelectorProblem returns why a workload with the given selector cannot be restarted, empty if it can.
func SelectorProblem(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	size := 0
	for key, value := range selector.MatchLabels {
		size += len(key) + len("=") + len(value) + len(",")
	}
	for i := range selector.MatchExpressions {
		expression := &selector.MatchExpressions[i]
		size += len(expression.Key) + len(" in (),") + len(expression.Operator)
		for _, value := range expression.Values {
			size += len(value) + len(",")
		}
	}
	if size <= longestSelector {
		return ""
	}
	return fmt.Sprintf("its .spec.selector is longer than %d bytes", longestSelector)
}

func newParts(meta *metav1.ObjectMeta, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, rollout Rollout) Parts {
	return Parts{Meta: meta, Problem: SelectorProblem(selector), Selector: selector, Template: template, Rollout: rollout}
}

// PartsOfDeployment returns the parts of a Deployment, which share its memory.
func PartsOfDeployment(d *appsv1.Deployment) Parts {
	parts := newParts(&d.ObjectMeta, d.Spec.Selector, &d.Spec.Template, rolloutOfDeployment(d))
	parts.Idle = parts.Rollout.Wanted == 0
	parts.Replacement = ReplacementTime(d.Spec.MinReadySeconds, &d.Spec.Template)
	if d.Spec.Paused {
		parts.Hold = Paused
	}
	if parts.Rollout.Course.isFallenBack() {
		parts.AllPods = new(parts.Rollout.OfEarlierTemplate())
		condition := condition(d, conditionFallenBack)
		parts.FallenBack, parts.FellBack, parts.Reads = "fallen back since "+condition.LastTransitionTime.UTC().Format(time.RFC3339), condition.Message, readsOf(d)
	}
	if parts.Rollout.Course.TakesSteps() {
		parts.Stepping = condition(d, conditionAtStep).Message
	}
	if parts.AtStep = waitsAtStep(d); parts.AtStep != "" && parts.Rollout.Course == ReleaseTakesSteps {
		parts.AllPods = new(parts.Rollout.OfAnyTemplate())
		parts.AllPods.Course = ReleaseTakesSteps
	}
	return parts
}

// PartsOfStatefulSet returns the parts of a StatefulSet, which share its memory.
func PartsOfStatefulSet(s *appsv1.StatefulSet) Parts {
	parts := newParts(&s.ObjectMeta, s.Spec.Selector, &s.Spec.Template, rolloutOfStatefulSet(s))
	parts.Idle = parts.Rollout.Wanted == 0
	all := parts.Rollout
	switch kept, isAll := partition(s); {
	case s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
		parts.Hold = OnDelete
	case isAll:
		parts.Hold = Partitioned
	case kept > 0:
		parts.Hold, parts.AllPods, parts.Rollout = PartlyPartitioned, &all, all.without(kept)
	}
	return parts
}

// PartsOfDaemonSet returns the parts of a DaemonSet, which share its memory. A DaemonSet is idle only if
// its controller has said so about the present generation.
func PartsOfDaemonSet(d *appsv1.DaemonSet) Parts {
	parts := newParts(&d.ObjectMeta, d.Spec.Selector, &d.Spec.Template, rolloutOfDaemonSet(d))
	parts.Idle = parts.Rollout.Observed && parts.Rollout.Wanted == 0
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		parts.Hold = OnDelete
	}
	return parts
}
