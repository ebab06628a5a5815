package differential

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// collect plays the garbage collector, at the beginning of an instant: what was deleted in one is collected in the
// next.
func (w *world) collect() {
	d := w.deployment()
	if d != nil && d.DeletionTimestamp != nil {
		w.finalize(d)
	}
	for _, rs := range w.replicaSets() {
		owner := metav1.GetControllerOfNoCopy(rs)
		isDangling := owner != nil && owner.Kind == "Deployment" && (d == nil || owner.UID != d.UID)
		isEnding := rs.DeletionTimestamp != nil && len(w.podsOf(rs)) == 0
		switch {
		case isDangling && rs.DeletionTimestamp == nil, isEnding:
			w.server.remove(ref{replicaSets, rs.Name})
		case rs.DeletionTimestamp != nil:
			for _, pod := range w.podsOf(rs) {
				w.terminate(pod.Name)
			}
		}
	}
}

// finalize takes the next step of a deletion that leaves the ReplicaSets behind, or of one that takes them along
// first.
func (w *world) finalize(d *appsv1.Deployment) {
	isLast := true
	for _, rs := range w.owned() {
		if slices.Contains(d.Finalizers, metav1.FinalizerOrphanDependents) {
			edit(w.server, rs.Name, disown)
			continue
		}
		isLast = false
		w.deleteSlowly(rs.Name)
	}
	if isLast {
		w.server.remove(ref{deployments, d.Name})
	}
}

// deleteSlowly deletes a ReplicaSet after its pods.
func (w *world) deleteSlowly(name string) {
	edit(w.server, name, func(rs *appsv1.ReplicaSet) {
		if rs.DeletionTimestamp == nil {
			rs.DeletionTimestamp = &metav1.Time{Time: w.now}
			rs.Finalizers = []string{metav1.FinalizerDeleteDependents}
		}
	})
}

func disown(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil }

// failPod ends a pod by itself; it stays to be seen.
func (w *world) failPod(name string) {
	editStatus(w.server, name, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
}
