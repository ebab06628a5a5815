package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
)

// option is a part of a Deployment that a scenario is about.
type option func(*appsv1.Deployment)

// deployment describes the Deployment "web": 3 pods of image i:1 that are ready at
// once and gone at once. Its rollouts go one pod at a time (maxSurge 1,
// maxUnavailable 0), so that their Events are determined.
func deployment(options ...option) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers:                    []corev1.Container{{Name: "c", Image: "i:1"}},
				},
			},
		},
	}
	rolling(1, 0)(d)
	for _, apply := range options {
		apply(d)
	}
	return d
}

func named(name string) option {
	return func(d *appsv1.Deployment) {
		d.Name = name
		d.Spec.Selector.MatchLabels["app"], d.Spec.Template.Labels["app"] = name[:min(len(name), 63)], name[:min(len(name), 63)]
	}
}

func replicas(n int32) option { return func(d *appsv1.Deployment) { d.Spec.Replicas = new(n) } }

// rolling sets maxSurge and maxUnavailable, each a number or a string with a
// percentage.
func rolling(maxSurge, maxUnavailable any) option {
	return func(d *appsv1.Deployment) {
		surge, unavailable := intOrString(maxSurge), intOrString(maxUnavailable)
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
		}
	}
}

func intOrString(value any) intstr.IntOrString {
	if number, isNumber := value.(int); isNumber {
		return intstr.FromInt32(int32(number))
	}
	return intstr.FromString(value.(string))
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

func image(name string) option {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
}

// held keeps the template's pods from being scheduled until [workload.letGo].
func held(d *appsv1.Deployment) {
	d.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
}

func free(d *appsv1.Deployment) { d.Spec.Template.Spec.SchedulingGates = nil }

// lingering keeps the template's pods from going until [workload.letFinish].
func lingering(d *appsv1.Deployment) { d.Spec.Template.Finalizers = []string{finalizer} }

func paused(d *appsv1.Deployment) { d.Spec.Paused = true }

func deadline(seconds int32) option {
	return func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(seconds) }
}

func minReady(seconds int32) option {
	return func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = seconds }
}

func historyLimit(limit int32) option {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(limit) }
}

// annotated sets an annotation, or removes it if the value is empty.
func annotated(key, value string) option {
	return func(d *appsv1.Deployment) {
		if value == "" {
			delete(d.Annotations, key)
			return
		}
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, key, value)
	}
}

// workload is a Deployment of a scene.
type workload struct {
	*scene
	name string
	app  string // the label of its pods
}

// create makes a Deployment.
func (s *scene) create(options ...option) workload {
	s.Helper()
	d := deployment(options...)
	s.both("create Deployment "+d.Name, func(ctx context.Context, on *side) error {
		_, err := on.client.AppsV1().Deployments(s.namespace).Create(ctx, d.DeepCopy(), metav1.CreateOptions{})
		return err
	})
	return workload{s, d.Name, d.Spec.Template.Labels["app"]}
}

// change applies options to the Deployment as it is, in one write.
func (w workload) change(options ...option) {
	w.Helper()
	w.both("change the Deployment", func(ctx context.Context, on *side) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			d, err := on.client.AppsV1().Deployments(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, apply := range options {
				apply(d)
			}
			_, err = on.client.AppsV1().Deployments(w.namespace).Update(ctx, d, metav1.UpdateOptions{})
			return err
		})
	})
}

// roll changes the template, in a second in which no ReplicaSet was made yet.
func (w workload) roll(options ...option) {
	w.Helper()
	w.nextSecond()
	w.change(options...)
}

// nextSecond waits until the clock is past the creation of all ReplicaSets.
func (s *scene) nextSecond() {
	s.Helper()
	s.await("the clock goes on", func(v *view) error {
		for _, rs := range v.replicaSets {
			if time.Now().Unix() <= rs.CreationTimestamp.Unix() {
				return fmt.Errorf("%s was made in this second", rs.Name)
			}
		}
		return nil
	})
}

// scale writes the scale, as kubectl scale and the autoscaler do.
func (w workload) scale(replicas int32) {
	w.Helper()
	w.both("scale the Deployment", func(ctx context.Context, on *side) error {
		scale := &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: w.namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		}
		_, err := on.client.AppsV1().Deployments(w.namespace).UpdateScale(ctx, w.name, scale, metav1.UpdateOptions{})
		return err
	})
}

func (w workload) pause() { w.Helper(); w.change(paused) }
func (w workload) resume() {
	w.Helper()
	w.change(func(d *appsv1.Deployment) { d.Spec.Paused = false })
}

// delete deletes the Deployment and does not wait for its end.
func (w workload) delete(policy metav1.DeletionPropagation) {
	w.Helper()
	w.both("delete the Deployment", func(ctx context.Context, on *side) error {
		return on.client.AppsV1().Deployments(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{PropagationPolicy: &policy})
	})
}

// changeReplicaSet changes the ReplicaSet with the image as somebody else would.
func (w workload) changeReplicaSet(image string, change func(*appsv1.ReplicaSet)) {
	w.Helper()
	w.both("change the ReplicaSet of "+image, func(ctx context.Context, on *side) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			rs, err := on.replicaSet(ctx, w.namespace, image)
			if err != nil {
				return err
			}
			change(rs)
			_, err = on.client.AppsV1().ReplicaSets(w.namespace).Update(ctx, rs, metav1.UpdateOptions{})
			return err
		})
	})
}

// deleteReplicaSet deletes the ReplicaSet with the image.
func (w workload) deleteReplicaSet(image string) {
	w.Helper()
	w.both("delete the ReplicaSet of "+image, func(ctx context.Context, on *side) error {
		rs, err := on.replicaSet(ctx, w.namespace, image)
		if err != nil {
			return err
		}
		return on.client.AppsV1().ReplicaSets(w.namespace).
			Delete(ctx, rs.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(rs.UID))})
	})
}

// replicaSet asks the API server for the only ReplicaSet with the image.
func (s *side) replicaSet(ctx context.Context, namespace, image string) (*appsv1.ReplicaSet, error) {
	list, err := s.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found *appsv1.ReplicaSet
	for i := range list.Items {
		if rs := &list.Items[i]; imageOf(rs) == image {
			if found != nil {
				return nil, fmt.Errorf("%s and %s both have image %s", found.Name, rs.Name, image)
			}
			found = rs
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no ReplicaSet has image %s", image)
	}
	return found, nil
}

func imageOf(rs *appsv1.ReplicaSet) string { return rs.Spec.Template.Spec.Containers[0].Image }

// patchPod applies a merge patch to a pod, or to its status.
func (s *side) patchPod(ctx context.Context, pod *corev1.Pod, patch any, subresources ...string) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = s.client.CoreV1().Pods(pod.Namespace).
		Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}
