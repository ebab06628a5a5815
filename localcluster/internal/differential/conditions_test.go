package differential

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// mendUnobserved gives the original the status that it did not write.
func mendUnobserved(h *history) bool {
	if !h.original.isOutOfSets || h.engine.deployment().Spec.Paused || h.original.current() != nil || h.engine.current() != nil {
		return false
	}
	original, engine := h.original.deployment(), h.engine.deployment()
	a, b := h.conditions(appsv1.DeploymentProgressing)
	isWrong := a.Reason != b.Reason || a.Reason != "ReplicaSetCreateError" && !isEqual(&a, &b)
	if isWrong && engine.Spec.ProgressDeadlineSeconds != nil && *engine.Spec.ProgressDeadlineSeconds != math.MaxInt32 ||
		original.Annotations[revision] != engine.Annotations[revision] || isEqual(&original.Status, &engine.Status) {
		return false
	}
	h.repair(func(d *appsv1.Deployment) { engine.Status.DeepCopyInto(&d.Status) })
	return true
}

func mendBeginning(h *history) bool {
	a, b := h.conditions(appsv1.DeploymentProgressing)
	if a.Reason != "DeploymentResumed" || b.Status != corev1.ConditionTrue || !isSame(a.LastUpdateTime, b.LastUpdateTime) {
		return false
	}
	h.copyCondition(appsv1.DeploymentProgressing)
	return true
}

// mendName makes a condition about the previous ReplicaSet name the present one. The original compares the
// pods with the last status even if that was of the template before, and then may see no progress.
func mendName(h *history) bool {
	a, b := h.conditions(appsv1.DeploymentProgressing)
	subject := fmt.Sprintf("Deployment %q", name)
	if current := h.engine.current(); current != nil {
		subject = strconv.Quote(current.Name)
	}
	if a.Reason == "DeploymentPaused" || b.Status != corev1.ConditionTrue || !isSame(b.LastUpdateTime, metav1.NewTime(h.engine.now)) ||
		strings.Contains(a.Message, subject) || !strings.Contains(b.Message, subject) {
		return false
	}
	h.copyCondition(appsv1.DeploymentProgressing)
	return true
}

// mendRollback gives the original what the engine reports about a rollout that was rolled back before it was reported.
func mendRollback(h *history) bool {
	a, b := h.conditions(appsv1.DeploymentProgressing)
	if a.Type == "" || b.Type == "" || isEqual(&a, &b) || !h.original.wasRolledBack() || !h.engine.wasRolledBack() {
		return false
	}
	h.copyCondition(appsv1.DeploymentProgressing)
	return true
}

func mendRecord(h *history) bool {
	record := recordOf(h.engine.deployment())
	if maps.Equal(record, recordOf(h.original.deployment())) {
		return false
	}
	h.repair(func(d *appsv1.Deployment) {
		maps.DeleteFunc(d.Annotations, func(key, _ string) bool { return isRecord(key) })
		maps.Copy(d.Annotations, record)
	})
	return true
}

// mendPassing accepts that one of the worlds has written a state that the other has not.
func mendPassing(h *history) bool {
	for _, kind := range []appsv1.DeploymentConditionType{appsv1.DeploymentAvailable, appsv1.DeploymentProgressing, appsv1.DeploymentReplicaFailure} {
		a, b := h.conditions(kind)
		if a.Type == "" || b.Type == "" || isEqual(&a, &b) {
			continue
		}
		isSameState := a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
		if isSameState && h.hasPassed(&a, &b) || kind == appsv1.DeploymentProgressing && h.isUnderway(&a, &b) {
			h.copyCondition(kind)
			return true
		}
	}
	return false
}

// hasPassed reports whether a condition that is the same in both worlds was another one in this instant in that world
// where it has the later times.
func (h *history) hasPassed(a, b *appsv1.DeploymentCondition) bool {
	newer, last := h.original, a
	if b.LastUpdateTime.After(a.LastUpdateTime.Time) || b.LastTransitionTime.After(a.LastTransitionTime.Time) {
		newer, last = h.engine, b
	}
	return slices.ContainsFunc(newer.server.statuses, func(status appsv1.DeploymentStatus) bool {
		c := condition(&status, last.Type)
		return c == nil || c.Status != last.Status || c.Reason != last.Reason
	}) || last.Type == appsv1.DeploymentProgressing && newer.hasPassingProgress()
}

// isUnderway reports whether the worlds describe the progress of a rollout differently. Whether there was progress in this
// instant depends on which numbers of pods were written.
func (h *history) isUnderway(a, b *appsv1.DeploymentCondition) bool {
	d := h.engine.deployment()
	if d.Spec.Paused || h.engine.current() != nil && deploymentutil.DeploymentComplete(d, &d.Status) {
		return false
	}
	isNew := func(c *appsv1.DeploymentCondition, w *world) bool {
		return isSame(c.LastUpdateTime, metav1.NewTime(w.now))
	}
	// A status that was refused lets the original's next one show more progress. One that a scaling writes hides it.
	hasLost, hasHidden := slices.Contains(h.original.server.refused, ref{deployments, name}), h.original.server.hasRescaled
	return isNew(a, h.original) && (isNew(b, h.engine) || h.original.hasPassingProgress() || hasLost) ||
		isNew(b, h.engine) && (h.engine.hasPassingProgress() || hasHidden)
}

// hasPassingProgress reports whether a number went the right way in this instant, and back before its end or before that.
// What lasts is seen by everybody.
func (w *world) hasPassingProgress() bool {
	statuses := w.server.statuses
	first, last := progressOf(&statuses[0]), progressOf(&statuses[len(statuses)-1])
	for i := range statuses[1:] {
		before, after := progressOf(&statuses[i]), progressOf(&statuses[i+1])
		for number := range before {
			if after[number] > before[number] && last[number] <= first[number] {
				return true
			}
		}
	}
	return false
}

// progressOf returns the numbers that grow when a rollout makes progress.
func progressOf(s *appsv1.DeploymentStatus) [4]int32 {
	return [...]int32{s.UpdatedReplicas, s.UpdatedReplicas - s.Replicas, s.ReadyReplicas, s.AvailableReplicas}
}

func isRecord(annotation string) bool {
	return annotation == configChecksums || annotation == configBasis
}

func recordOf(d *appsv1.Deployment) map[string]string {
	record := maps.Clone(d.Annotations)
	maps.DeleteFunc(record, func(key, _ string) bool { return !isRecord(key) })
	return record
}

func condition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// conditions are those of both worlds, zero where there is none.
func (h *history) conditions(kind appsv1.DeploymentConditionType) (original, engine appsv1.DeploymentCondition) {
	if c := condition(&h.original.deployment().Status, kind); c != nil {
		original = *c
	}
	if c := condition(&h.engine.deployment().Status, kind); c != nil {
		engine = *c
	}
	return original, engine
}

// copyCondition gives the original a condition of the engine's.
func (h *history) copyCondition(kind appsv1.DeploymentConditionType) {
	copied := *condition(&h.engine.deployment().Status, kind)
	h.repair(func(d *appsv1.Deployment) {
		d.Status.Conditions = slices.DeleteFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
		d.Status.Conditions = append(d.Status.Conditions, copied)
	})
}

// repair changes the original's Deployment without counting a generation.
func (h *history) repair(change func(*appsv1.Deployment)) {
	d := h.original.deployment().DeepCopy()
	change(d)
	h.original.server.put(d)
}

func isSame(a, b metav1.Time) bool { return a.Sub(b.Time).Abs() <= tolerance }
