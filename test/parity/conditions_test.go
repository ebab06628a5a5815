package parity

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// condition reports whether a Deployment is as it should be, by an error that says
// what is not so yet.
type condition func(*view, *appsv1.Deployment) error

// await returns when the conditions hold for the Deployment on both sides, all at
// the same time.
func (w workload) await(conditions ...condition) {
	w.Helper()
	w.scene.await("Deployment "+w.name, func(v *view) error {
		d := v.deployment(w.name)
		if d == nil {
			return fmt.Errorf("there is no Deployment %s", w.name)
		}
		for _, holds := range conditions {
			if err := holds(v, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle awaits the end of the rollout and compares.
func (w workload) settle(name string) {
	w.Helper()
	w.await(complete)
	w.checkpoint(name)
}

func (v *view) deployment(name string) *appsv1.Deployment {
	for _, d := range v.deployments {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// observed: the engine has seen the Deployment as it is.
func observed(_ *view, d *appsv1.Deployment) error {
	if d.Status.ObservedGeneration < d.Generation {
		return fmt.Errorf("generation %d is not observed, only %d", d.Generation, d.Status.ObservedGeneration)
	}
	return nil
}

// complete: there are only pods of the present template, as many as wanted, and
// all are available.
func complete(v *view, d *appsv1.Deployment) error {
	if err := observed(v, d); err != nil {
		return err
	}
	want, s := *d.Spec.Replicas, &d.Status
	if s.UpdatedReplicas != want || s.Replicas != want || s.AvailableReplicas != want || s.UnavailableReplicas != 0 {
		return fmt.Errorf("of %d replicas %d are updated, %d available, %d there", want, s.UpdatedReplicas, s.AvailableReplicas, s.Replicas)
	}
	if s.TerminatingReplicas != nil && *s.TerminatingReplicas != 0 {
		return fmt.Errorf("%d pods terminate", *s.TerminatingReplicas)
	}
	return nil
}

// reason: the condition of the type has the reason.
func reason(kind appsv1.DeploymentConditionType, want string) condition {
	return func(_ *view, d *appsv1.Deployment) error {
		i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
		if i < 0 {
			return fmt.Errorf("there is no condition %s", kind)
		}
		if got := d.Status.Conditions[i].Reason; got != want {
			return fmt.Errorf("condition %s has reason %s, not %s", kind, got, want)
		}
		return nil
	}
}

func progressing(want string) condition { return reason(appsv1.DeploymentProgressing, want) }

// timedOut: the deadline has passed although so many new pods are there. (With
// fewer it may have passed because the machine was slow; it would be undone.)
func timedOut(updated int32) condition {
	return func(v *view, d *appsv1.Deployment) error {
		if d.Status.UpdatedReplicas != updated {
			return fmt.Errorf("%d pods are updated, not %d", d.Status.UpdatedReplicas, updated)
		}
		return progressing("ProgressDeadlineExceeded")(v, d)
	}
}

// are says how many pods of each image there are.
type are map[string]int32

// sizes: the ReplicaSets with these images want so many pods and have them, all
// others want none. Between several with one image it does not distinguish.
func sizes(want are) condition {
	return func(v *view, d *appsv1.Deployment) error {
		for _, rs := range v.replicaSetsOf(d) {
			if rs.Status.Replicas != *rs.Spec.Replicas || rs.Status.ObservedGeneration != rs.Generation {
				return fmt.Errorf("%s wants %d pods and has %d", rs.Name, *rs.Spec.Replicas, rs.Status.Replicas)
			}
		}
		return sizesWanted(want)(v, d)
	}
}

// sizesWanted is [sizes] where the pods cannot follow.
func sizesWanted(want are) condition {
	return func(v *view, d *appsv1.Deployment) error {
		got := are{}
		for _, rs := range v.replicaSetsOf(d) {
			if size := *rs.Spec.Replicas; size > 0 {
				got[imageOf(rs)] += size
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("the ReplicaSets want %v, not %v", got, want)
		}
		return nil
	}
}

// available: so many pods are available.
func available(want int32) condition {
	return func(_ *view, d *appsv1.Deployment) error {
		if d.Status.AvailableReplicas != want {
			return fmt.Errorf("%d pods are available, not %d", d.Status.AvailableReplicas, want)
		}
		return nil
	}
}

// reported: the Deployment's status counts all its pods that are ready, and those
// that are not held are ready.
func reported(v *view, d *appsv1.Deployment) error {
	var ready int32
	for _, pod := range v.pods {
		switch {
		case pod.Labels["app"] != d.Spec.Selector.MatchLabels["app"] || isTerminating(pod):
		case isReady(pod):
			ready++
		case pod.Status.Phase == corev1.PodPending && !isHeld(pod):
			return fmt.Errorf("pod %s is not ready", pod.Name)
		}
	}
	if d.Status.ReadyReplicas != ready {
		return fmt.Errorf("%d pods are ready, the status counts %d", ready, d.Status.ReadyReplicas)
	}
	return nil
}

// terminating: so many pods are on their way out.
func terminating(want int) condition {
	return func(v *view, _ *appsv1.Deployment) error {
		count := 0
		for _, pod := range v.pods {
			if isTerminating(pod) {
				count++
			}
		}
		if count != want {
			return fmt.Errorf("%d pods terminate, not %d", count, want)
		}
		return nil
	}
}

// replicaSetCount: the Deployment has so many ReplicaSets.
func replicaSetCount(want int) condition {
	return func(v *view, d *appsv1.Deployment) error {
		if got := len(v.replicaSetsOf(d)); got != want {
			return fmt.Errorf("there are %d ReplicaSets, not %d", got, want)
		}
		return nil
	}
}

// hasEvent: an Event with the reason exists.
func hasEvent(reason string) condition {
	return func(v *view, d *appsv1.Deployment) error {
		if !slices.ContainsFunc(v.events, func(e *corev1.Event) bool { return e.InvolvedObject.UID == d.UID && e.Reason == reason }) {
			return fmt.Errorf("there is no Event %s", reason)
		}
		return nil
	}
}

// replicaSetsOf returns those that the Deployment controls.
func (v *view) replicaSetsOf(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	var own []*appsv1.ReplicaSet
	for _, rs := range v.replicaSets {
		if slices.ContainsFunc(rs.OwnerReferences, isControllerRefTo(d)) {
			own = append(own, rs)
		}
	}
	return own
}

func isControllerRefTo(d *appsv1.Deployment) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool {
		return ref.Controller != nil && *ref.Controller && ref.UID == d.UID
	}
}

// podCount: there are so many pods, whatever their phase.
func podCount(want int) condition {
	return func(v *view, _ *appsv1.Deployment) error {
		if len(v.pods) != want {
			return fmt.Errorf("there are %d pods, not %d", len(v.pods), want)
		}
		return nil
	}
}

// annotation: the Deployment has the annotation.
func annotation(key, want string) condition {
	return func(_ *view, d *appsv1.Deployment) error {
		if got := d.Annotations[key]; got != want {
			return fmt.Errorf("annotation %s is %q, not %q", key, got, want)
		}
		return nil
	}
}

// collisions: so many names were found to be taken.
func collisions(want int32) condition {
	return func(_ *view, d *appsv1.Deployment) error {
		if got := d.Status.CollisionCount; got == nil || *got != want {
			return fmt.Errorf("there were not %d collisions", want)
		}
		return nil
	}
}

// orphaned: the Deployment is gone, and this many ReplicaSets have no owner.
func orphaned(count int) func(*view) error {
	return func(v *view) error {
		if len(v.deployments) > 0 {
			return errors.New("there is a Deployment")
		}
		if len(v.replicaSets) != count {
			return fmt.Errorf("there are %d ReplicaSets, not %d", len(v.replicaSets), count)
		}
		for _, rs := range v.replicaSets {
			if len(rs.OwnerReferences) > 0 {
				return fmt.Errorf("%s has an owner", rs.Name)
			}
		}
		return nil
	}
}

// nothingLeft: there are no Deployments, ReplicaSets and pods.
func nothingLeft(v *view) error {
	if left := len(v.deployments) + len(v.replicaSets) + len(v.pods); left > 0 {
		return fmt.Errorf("%d objects are left", left)
	}
	return nil
}
