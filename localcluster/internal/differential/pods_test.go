package differential

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod does what its image says: it becomes ready at once or after a while or never, and it takes a while to end.
const (
	slowStart = 12 * time.Second
	lateStart = 45 * time.Second
	slowEnd   = 20 * time.Second
	// longestMinReady is the greatest minReadySeconds that is played.
	longestMinReady = 20 * time.Second
)

// startOf is how long a pod of an image takes to become ready, never for a bad one.
func startOf(image string) (after time.Duration, ever bool) {
	switch {
	case strings.HasPrefix(image, "bad"):
		return 0, false
	case strings.HasPrefix(image, "late"):
		return lateStart, true
	case strings.HasPrefix(image, "slow"):
		return slowStart, true
	}
	return 0, true
}

// endOf is how long a pod of an image terminates.
func endOf(image string) time.Duration {
	if strings.HasPrefix(image, "slow") || strings.HasPrefix(image, "bad") {
		return slowEnd
	}
	return 0
}

// state of a pod, beyond what its object has. Times are those of instants.
type podState struct {
	number              int // counts the pods of its ReplicaSet
	owner               types.UID
	created, readySince time.Time
	terminating         time.Time
	isSick              bool // it is not ready until somebody heals it
	isStuck             bool // it does not end
}

// podsOf are the pods of a ReplicaSet in the order in which they were made.
func (w *world) podsOf(rs *appsv1.ReplicaSet) (all []*corev1.Pod) {
	for _, name := range w.byOwner[rs.UID] {
		all = append(all, get[*corev1.Pod](w.server, name))
	}
	return all
}

// age is what is known of a pod, beyond its phase, as far as it can still make a difference.
type age struct {
	created, readySince, terminating time.Time
	isSick, isStuck                  bool
}

// ages of the pods of each ReplicaSet, in the order in which they were made.
func (w *world) ages() map[string][]age {
	ages := map[string][]age{}
	for _, rs := range w.replicaSets() {
		for _, name := range w.byOwner[rs.UID] {
			p := w.pods[name]
			a := age{p.created, p.readySince, p.terminating, p.isSick, p.isStuck}
			if !p.readySince.IsZero() {
				a.created = time.Time{}
			}
			if !p.readySince.IsZero() && w.now.Sub(p.readySince) > longestMinReady {
				a.readySince = time.Unix(0, 0) // for long
			}
			ages[rs.Name] = append(ages[rs.Name], a)
		}
	}
	return ages
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// isActive reports whether its ReplicaSet counts a pod.
func isActive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !isFinished(pod) }

func (w *world) isReady(pod *corev1.Pod) bool {
	p := w.pods[pod.Name]
	return isActive(pod) && !p.isSick && !p.readySince.IsZero()
}

func (w *world) isAvailable(pod *corev1.Pod, rs *appsv1.ReplicaSet) bool {
	return w.isReady(pod) && !w.now.Before(w.pods[pod.Name].readySince.Add(time.Duration(rs.Spec.MinReadySeconds)*time.Second))
}

// controlReplicaSet is a step of the ReplicaSet controller. It reports whether there was anything to do.
func (w *world) controlReplicaSet(rs *appsv1.ReplicaSet) bool {
	seen := w.statusOf(rs) // what there was before
	problem := ""
	if rs.DeletionTimestamp == nil {
		problem = w.adjustPods(rs)
	}
	if !w.isMuddled || w.chance(.5) {
		seen = w.statusOf(rs)
	}
	w.noteProblem(rs, &seen, problem)
	if apiequality.Semantic.DeepEqual(seen, rs.Status) {
		return false
	}
	editStatus(w.server, rs.Name, func(rs *appsv1.ReplicaSet) { rs.Status = seen })
	return true
}

// noteProblem sets the condition about pods that could not be created. It shows since when.
func (w *world) noteProblem(rs *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus, problem string) {
	if problem == "" {
		return
	}
	status.Conditions = []appsv1.ReplicaSetCondition{{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: problem,
		LastTransitionTime: metav1.NewTime(w.now),
	}}
	if len(rs.Status.Conditions) > 0 {
		status.Conditions = rs.Status.Conditions
	}
}

func (w *world) statusOf(rs *appsv1.ReplicaSet) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation}
	terminating := int32(0)
	for _, pod := range w.podsOf(rs) {
		switch {
		case isFinished(pod):
		case pod.DeletionTimestamp != nil:
			terminating++
		default:
			status.Replicas++
			status.FullyLabeledReplicas++
			if w.isReady(pod) {
				status.ReadyReplicas++
			}
			if w.isAvailable(pod, rs) {
				status.AvailableReplicas++
			}
		}
	}
	status.TerminatingReplicas = &terminating
	return status
}

// adjustPods makes pods, or ends those first that are not available. It returns why it could not.
func (w *world) adjustPods(rs *appsv1.ReplicaSet) (problem string) {
	active := slices.DeleteFunc(w.podsOf(rs), func(pod *corev1.Pod) bool { return !isActive(pod) })
	missing := int(*rs.Spec.Replicas) - len(active)
	for range missing {
		if w.isOutOfPods {
			return "exceeded quota"
		}
		w.newPod(rs)
	}
	slices.Reverse(active) // of two alike the younger goes first
	slices.SortStableFunc(active, func(a, b *corev1.Pod) int { return cmp.Compare(w.worth(a, rs), w.worth(b, rs)) })
	if w.isMuddled && *rs.Spec.Replicas > 0 {
		return "" // what shrinks may grow again before anybody has noticed
	}
	for _, pod := range active[:max(-missing, 0)] {
		w.terminate(pod.Name)
	}
	return ""
}

// worth is how much a pod deserves to stay.
func (w *world) worth(pod *corev1.Pod, rs *appsv1.ReplicaSet) int {
	switch {
	case w.isAvailable(pod, rs):
		return 2
	case w.isReady(pod):
		return 1
	}
	return 0
}

func (w *world) newPod(rs *appsv1.ReplicaSet) {
	w.made[rs.UID]++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", rs.UID, w.made[rs.UID]), Labels: rs.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec:   rs.Spec.Template.Spec,
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	w.pods[pod.Name] = &podState{number: w.made[rs.UID], owner: rs.UID, created: w.now}
	w.byOwner[rs.UID] = append(w.byOwner[rs.UID], pod.Name)
	w.server.put(pod)
}

func (w *world) terminate(name string) {
	if w.pods[name].terminating.IsZero() {
		w.pods[name].terminating = w.now
		edit(w.server, name, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: w.now} })
	}
}

// runPod lets a pod become ready or end. It reports whether anything happened.
func (w *world) runPod(pod *corev1.Pod) bool {
	p, image := w.pods[pod.Name], imageOf(&corev1.PodTemplateSpec{Spec: pod.Spec})
	switch after, ever := startOf(image); {
	case !p.terminating.IsZero():
		// One that was made in the same instant was only a step on the way, which the other world may not have taken.
		// If the controllers work in any order, how many there are of these is a matter of chance for old ones, too.
		isTransient := p.created.Equal(w.now) || w.isShuffled
		if !isTransient && (p.isStuck || w.now.Before(p.terminating.Add(endOf(image)))) {
			return false
		}
		w.removePod(pod.Name)
	case w.isOrphan(pod):
		w.terminate(pod.Name)
	case ever && !isFinished(pod) && p.readySince.IsZero() && !w.now.Before(p.created.Add(after)):
		p.readySince = w.now
	default:
		return false
	}
	return true
}

func (w *world) removePod(name string) {
	owner := w.pods[name].owner
	w.byOwner[owner] = slices.DeleteFunc(w.byOwner[owner], func(other string) bool { return other == name })
	delete(w.pods, name)
	w.server.remove(ref{pods, name})
}

// isOrphan reports whether the ReplicaSet of a pod is gone.
func (w *world) isOrphan(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	rs := get[*appsv1.ReplicaSet](w.server, owner.Name)
	return rs == nil || rs.UID != owner.UID
}
