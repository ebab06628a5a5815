package deployment

import (
	"runtime"
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

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// These fixtures are copies of those in package rollout that the tests here need.

// What the planner writes, as clients know it.
const (
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"

	configChecksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"
	configBasisAnnotation     = "com.xing.deployment-restart.applied-config-basis"

	// statusSpacing is the least time between two writes of one Deployment's status.
	statusSpacing = 50 * time.Millisecond

	reasonAvailable  = "MinimumReplicasAvailable"
	reasonComplete   = "NewReplicaSetAvailable"
	reasonRolledBack = "DeploymentRollback"
)

// noon is when the Deployments of these tests were made.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// noonPlus is a time some seconds after noon.
func noonPlus(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// now is when the states of these tests are observed.
var now = noonPlus(3600)

// templateOf returns a small pod template. Its image distinguishes it from others.
func templateOf(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
}

// deploymentObject is a Deployment with the API's defaults: 25 % may surge and be
// unavailable.
func deploymentObject(replicas int32, image string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "uid-of-web", ResourceVersion: "100", Generation: 2,
			CreationTimestamp: metav1.Time{Time: noon},
			Annotations:       map[string]string{},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:                &replicas,
			Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template:                templateOf(image),
			Strategy:                rolling("25%", "25%"),
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

// web is that Deployment as plans see it.
func web(replicas int32, image string, changes ...func(*appsv1.Deployment)) *rollout.Deployment {
	return rollout.NewDeployment(deploymentObject(replicas, image, changes...))
}

// rolling is a rolling update. Its limits are numbers or percentages; an empty one
// is absent.
func rolling(surge, unavailable string) appsv1.DeploymentStrategy {
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: limit(surge), MaxUnavailable: limit(unavailable)},
	}
}

func limit(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	value := intstr.Parse(text)
	return &value
}

func withLimits(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Strategy = rolling(surge, unavailable) }
}

func recreated(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

func paused(d *appsv1.Deployment) { d.Spec.Paused = true }

func annotated(annotations map[string]string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations = annotations }
}

func withHistoryLimit(limit int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &limit }
}

// withStatus gives the status that was written last, and the revision that was
// written with it.
func withStatus(status appsv1.DeploymentStatus) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status = status
		d.Annotations[rollout.RevisionAnnotation] = strings.TrimPrefix(d.Spec.Template.Spec.Containers[0].Image, "v")
	}
}

// condition is one that was set some seconds after noon.
func condition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string, since float64) appsv1.DeploymentCondition {
	stamp := metav1.Time{Time: noonPlus(since)}
	return appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: stamp, LastTransitionTime: stamp}
}

// progressed is a condition Progressing of before, with a reason.
func progressed(status corev1.ConditionStatus, reason string) appsv1.DeploymentCondition {
	return condition(appsv1.DeploymentProgressing, status, reason, "as it was", 3000)
}

// conditionIn returns a condition of a status, or nil.
func conditionIn(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// hasCondition reports whether a condition is there for a reason.
func hasCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, reason string) bool {
	present := conditionIn(status, kind)
	return present != nil && present.Reason == reason
}

// set is a ReplicaSet of the Deployment web, with the template of an image "v1",
// "v2" and so on. The number is its revision and its age. All pods that it wants
// exist.
func set(image string, wanted, available int64, changes ...func(*rollout.ReplicaSet)) *rollout.ReplicaSet {
	number, err := strconv.Atoi(strings.TrimPrefix(image, "v"))
	if err != nil {
		panic(err)
	}
	object := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: templateOf(image)}}
	rs := &rollout.ReplicaSet{
		Meta: rollout.Meta{
			Namespace: "ns", Name: "web-" + image, UID: types.UID("uid-of-web-" + image),
			ResourceVersion: strconv.Itoa(10 + number),
		},
		Created:        noonPlus(float64(number)),
		Labels:         map[string]string{"app": "web", rollout.HashLabel: image},
		Annotations:    map[string]string{rollout.RevisionAnnotation: strconv.Itoa(number)},
		Controller:     "uid-of-web",
		ControllerName: "web",
		Sum:            rollout.NewReplicaSet(object).Sum,
		Replicas:       wanted,
		Observed:       true,
		Existing:       wanted,
		Ready:          available,
		Available:      available,
		Terminating:    new(int32(0)),
	}
	for _, change := range changes {
		change(rs)
	}
	return rs
}

// expect compares whole values.
func expect(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one has found to be free
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
