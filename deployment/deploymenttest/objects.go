// Package deploymenttest makes the API objects that the tests of the deployment engine's packages start from: the
// Deployment web and its ReplicaSets, each with the template of an image "v1", "v2" and so on.
package deploymenttest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	namespace          = "ns"
	name               = "web"
	uid                = "uid-of-web"
)

// Noon is when the Deployment was created.
var Noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// NoonPlus is a time some seconds after noon.
func NoonPlus(seconds float64) time.Time {
	return Noon.Add(time.Duration(seconds * float64(time.Second)))
}

// Now is when the objects are observed.
var Now = NoonPlus(3600)

// Template returns a small pod template. Its image distinguishes it from others.
func Template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
}

// Deployment returns the Deployment web with the API's defaults: 25% may surge and be
// unavailable.
func Deployment(replicas int32, image string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: uid, ResourceVersion: "100", Generation: 2,
			CreationTimestamp: metav1.Time{Time: Noon},
			Annotations:       map[string]string{},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:                &replicas,
			Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template:                Template(image),
			Strategy:                Rolling("25%", "25%"),
			RevisionHistoryLimit:    new(int32(10)),
			ProgressDeadlineSeconds: new(int32(600)),
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

// Rolling returns a rolling update. Its limits are numbers or percentages; an empty limit is
// absent.
func Rolling(surge, unavailable string) appsv1.DeploymentStrategy {
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: Limit(surge), MaxUnavailable: Limit(unavailable)},
	}
}

// Limit returns a limit of a rolling update, nil if the text is empty.
func Limit(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	value := intstr.Parse(text)
	return &value
}

// WithLimits changes the limits of the rolling update.
func WithLimits(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Strategy = Rolling(surge, unavailable) }
}

// Recreated changes the strategy to Recreate.
func Recreated(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// Paused pauses the Deployment.
func Paused(d *appsv1.Deployment) { d.Spec.Paused = true }

// Annotated replaces the annotations.
func Annotated(annotations map[string]string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations = annotations }
}

// WithHistoryLimit changes the revision history limit.
func WithHistoryLimit(limit int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &limit }
}

// WithStatus sets the status that was written last, and the revision that was written with it.
func WithStatus(status appsv1.DeploymentStatus) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status = status
		d.Annotations[revisionAnnotation] = strings.TrimPrefix(d.Spec.Template.Spec.Containers[0].Image, "v")
	}
}

// Condition returns a condition that was set some seconds after noon.
func Condition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string, since float64) appsv1.DeploymentCondition {
	stamp := metav1.Time{Time: NoonPlus(since)}
	return appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: stamp, LastTransitionTime: stamp}
}

// ReplicaSet returns a ReplicaSet of the Deployment web with the template of an image. The number
// of the image is its revision and its age. All pods that it wants exist.
func ReplicaSet(image string, wanted, available int32) *appsv1.ReplicaSet {
	number, err := strconv.Atoi(strings.TrimPrefix(image, "v"))
	if err != nil {
		panic(err)
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name + "-" + image, UID: types.UID(uid + "-" + image),
			ResourceVersion:   strconv.Itoa(10 + number),
			CreationTimestamp: metav1.Time{Time: NoonPlus(float64(number))},
			Labels:            map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: image},
			Annotations:       map[string]string{revisionAnnotation: strconv.Itoa(number)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: name, UID: uid, Controller: new(true),
			}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &wanted, Template: Template(image)},
		Status: appsv1.ReplicaSetStatus{
			Replicas: wanted, ReadyReplicas: available, AvailableReplicas: available, TerminatingReplicas: new(int32(0)),
		},
	}
}

// StatusBy returns an entry of the managed fields for a write of the status some seconds after
// noon.
func StatusBy(manager string, second float64) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &metav1.Time{Time: NoonPlus(second)},
	}
}

// Expect fails the test unless two values are equal. It compares whole values.
func Expect(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
